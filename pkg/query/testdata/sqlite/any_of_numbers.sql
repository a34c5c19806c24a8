-- [{"field":"metadata.n","operator":"is any of","value":[1,2.5],"type":"number"}]
(json_type(e.metadata, ?3) IN ('integer', 'real') AND CAST(e.metadata ->> ?3 AS REAL) IN (?1, ?2))
-- candidates
((json_type(e.metadata, ?3) IN ('integer', 'real') AND CAST(e.metadata ->> ?3 AS REAL) IN (?1, ?2)) OR (e.spill & 1) <> 0)
-- 1: float64 1
-- 2: float64 2.5
-- 3: string $."n"
-- reads 1
