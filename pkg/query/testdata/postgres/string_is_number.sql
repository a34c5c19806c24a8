-- [{"field":"metadata.n","operator":"is","value":"5"}]
CASE json_typeof(e.metadata #> $3) WHEN 'string' THEN (e.metadata #>> $3) = $1 WHEN 'number' THEN (e.metadata #>> $3)::float8 = $2 ELSE FALSE END
-- candidates
(CASE json_typeof(e.metadata #> $3) WHEN 'string' THEN (e.metadata #>> $3) = $1 WHEN 'number' THEN (e.metadata #>> $3)::float8 = $2 ELSE FALSE END OR (e.spill & 1) <> 0)
-- 1: string 5
-- 2: float64 5
-- 3: []string [n]
-- reads 1
