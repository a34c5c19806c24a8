-- [{"field":"metadata.t","operator":"is not","value":"false","type":"boolean"}]
(CASE json_typeof(e.metadata #> $1) WHEN 'boolean' THEN (e.metadata #>> $1) = 'false' ELSE FALSE END) IS NOT TRUE
-- candidates
((CASE json_typeof(e.metadata #> $1) WHEN 'boolean' THEN (e.metadata #>> $1) = 'false' ELSE FALSE END) IS NOT TRUE OR (e.spill & 1) <> 0)
-- 1: []string [t]
-- reads 1
