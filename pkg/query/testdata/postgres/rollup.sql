-- [{"field":"metadata.total_tokens","operator":"greater than","value":100,"type":"number"}]
CASE json_typeof(e.metadata #> $2) WHEN 'number' THEN (e.metadata #>> $2)::float8 > $1 ELSE FALSE END
-- candidates
(CASE json_typeof(e.metadata #> $2) WHEN 'number' THEN (e.metadata #>> $2)::float8 > $1 ELSE FALSE END OR (e.spill & 129) <> 0)
-- 1: float64 100
-- 2: []string [total_tokens]
-- reads 10000001
