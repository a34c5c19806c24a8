-- [{"field":"metadata.n","operator":"is","value":5,"type":"number"}]
CASE json_typeof(e.metadata #> $2) WHEN 'number' THEN (e.metadata #>> $2)::float8 = $1 ELSE FALSE END
-- candidates
(CASE json_typeof(e.metadata #> $2) WHEN 'number' THEN (e.metadata #>> $2)::float8 = $1 ELSE FALSE END OR (e.spill & 1) <> 0)
-- 1: float64 5
-- 2: []string [n]
-- reads 1
