-- [{"field":"event_type","operator":"is","value":"model"},{"field":"metadata.cost","operator":"greater than","value":0.5,"type":"number"},{"field":"error","operator":"is","value":"x"},{"field":"inputs.q","operator":"contains","value":"refund"}]
e.type = 1 AND (json_type(e.metadata, ?2) IN ('integer', 'real') AND CAST(e.metadata ->> ?2 AS REAL) > ?1 OR ((e.spill & 128) <> 0 AND coalesce((e.metadata -> ?2), 'null') IN ('null', '""', '{}', '[]') AND (SELECT CASE WHEN s.num_costs > 0 THEN round(s.cost, 12) END FROM session s WHERE s.session_rowid = e.session_rowid) > ?3)) AND nullif(e.error, '') = ?4
-- candidates
e.type = 1 AND ((json_type(e.metadata, ?2) IN ('integer', 'real') AND CAST(e.metadata ->> ?2 AS REAL) > ?1 OR ((e.spill & 128) <> 0 AND coalesce((e.metadata -> ?2), 'null') IN ('null', '""', '{}', '[]') AND (SELECT CASE WHEN s.num_costs > 0 THEN round(s.cost, 12) END FROM session s WHERE s.session_rowid = e.session_rowid) > ?3)) AND nullif(e.error, '') = ?4 OR (e.spill & 33) <> 0)
-- 1: float64 0.5
-- 2: string $."cost"
-- 3: float64 0.5
-- 4: string x
-- left to Go: inputs.q contains
-- reads 100001
