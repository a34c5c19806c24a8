-- [{"field":"metadata.t","operator":"is","value":true,"type":"boolean"}]
CASE json_typeof(e.metadata #> $1) WHEN 'boolean' THEN (e.metadata #>> $1) = 'true' ELSE FALSE END
-- candidates
(CASE json_typeof(e.metadata #> $1) WHEN 'boolean' THEN (e.metadata #>> $1) = 'true' ELSE FALSE END OR (e.spill & 1) <> 0)
-- 1: []string [t]
-- reads 1
