-- [{"field":"metadata.n","operator":"is any of","value":[1,2.5],"type":"number"}]
CASE json_typeof(e.metadata #> $3) WHEN 'number' THEN (e.metadata #>> $3)::float8 IN ($1, $2) ELSE FALSE END
-- candidates
(CASE json_typeof(e.metadata #> $3) WHEN 'number' THEN (e.metadata #>> $3)::float8 IN ($1, $2) ELSE FALSE END OR (e.spill & 1) <> 0)
-- 1: float64 1
-- 2: float64 2.5
-- 3: []string [n]
-- reads 1
