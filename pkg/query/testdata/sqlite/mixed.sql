-- [{"field":"event_type","operator":"is","value":"model"},{"field":"metadata.cost","operator":"greater than","value":0.5,"type":"number"},{"field":"error","operator":"is","value":"x"},{"field":"inputs.q","operator":"contains","value":"refund"}]
e.type = 1 AND (json_type(e.metadata, ?2) IN ('integer', 'real') AND CAST(e.metadata ->> ?2 AS REAL) > ?1) AND e.error = ?3
-- candidates
e.type = 1 AND ((json_type(e.metadata, ?2) IN ('integer', 'real') AND CAST(e.metadata ->> ?2 AS REAL) > ?1) AND e.error = ?3 OR (e.spill & 33) <> 0)
-- 1: float64 0.5
-- 2: string $."cost"
-- 3: string x
-- left to Go: inputs.q contains
-- reads 100001
