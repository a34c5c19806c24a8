-- [{"field":"metadata.total_tokens","operator":"greater than","value":100,"type":"number"}]
(json_type(e.metadata, ?2) IN ('integer', 'real') AND CAST(e.metadata ->> ?2 AS REAL) > ?1 OR ((e.spill & 128) <> 0 AND coalesce((e.metadata -> ?2), 'null') IN ('null', '""', '{}', '[]') AND (SELECT s.total_tokens FROM session s WHERE s.session_rowid = e.session_rowid) > ?3))
-- candidates
((json_type(e.metadata, ?2) IN ('integer', 'real') AND CAST(e.metadata ->> ?2 AS REAL) > ?1 OR ((e.spill & 128) <> 0 AND coalesce((e.metadata -> ?2), 'null') IN ('null', '""', '{}', '[]') AND (SELECT s.total_tokens FROM session s WHERE s.session_rowid = e.session_rowid) > ?3)) OR (e.spill & 1) <> 0)
-- 1: float64 100
-- 2: string $."total_tokens"
-- 3: float64 100
-- reads 1
