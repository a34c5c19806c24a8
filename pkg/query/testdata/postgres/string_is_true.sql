-- [{"field":"metadata.t","operator":"is","value":"true"}]
CASE json_typeof(e.metadata #> $2) WHEN 'string' THEN (e.metadata #>> $2) = $1 WHEN 'boolean' THEN (e.metadata #>> $2) = 'true' ELSE FALSE END
-- candidates
(CASE json_typeof(e.metadata #> $2) WHEN 'string' THEN (e.metadata #>> $2) = $1 WHEN 'boolean' THEN (e.metadata #>> $2) = 'true' ELSE FALSE END OR (e.spill & 1) <> 0)
-- 1: string true
-- 2: []string [t]
-- reads 1
