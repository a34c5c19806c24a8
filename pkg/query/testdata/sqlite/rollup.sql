-- [{"field":"metadata.total_tokens","operator":"greater than","value":100,"type":"number"}]
(json_type(e.metadata, ?2) IN ('integer', 'real') AND CAST(e.metadata ->> ?2 AS REAL) > ?1)
-- candidates
((json_type(e.metadata, ?2) IN ('integer', 'real') AND CAST(e.metadata ->> ?2 AS REAL) > ?1) OR (e.spill & 129) <> 0)
-- 1: float64 100
-- 2: string $."total_tokens"
-- reads 10000001
