-- [{"field":"metadata.model","operator":"is","value":"{}"}]
CASE json_typeof(e.metadata #> $2) WHEN 'string' THEN (e.metadata #>> $2) = $1 ELSE FALSE END
-- candidates
(CASE json_typeof(e.metadata #> $2) WHEN 'string' THEN (e.metadata #>> $2) = $1 ELSE FALSE END OR (e.spill & 1) <> 0)
-- 1: string {}
-- 2: []string [model]
-- reads 1
