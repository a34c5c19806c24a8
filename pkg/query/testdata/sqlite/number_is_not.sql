-- [{"field":"metadata.n","operator":"is not","value":5,"type":"number"}]
(json_type(e.metadata, ?2) IN ('integer', 'real') AND CAST(e.metadata ->> ?2 AS REAL) = ?1) IS NOT TRUE
-- candidates
((json_type(e.metadata, ?2) IN ('integer', 'real') AND CAST(e.metadata ->> ?2 AS REAL) = ?1) IS NOT TRUE OR (e.spill & 1) <> 0)
-- 1: float64 5
-- 2: string $."n"
-- reads 1
