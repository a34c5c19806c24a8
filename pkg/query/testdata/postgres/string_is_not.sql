-- [{"field":"metadata.model","operator":"is not","value":"m-large"}]
((e.metadata #>> $2) = $1) IS NOT TRUE
-- candidates
(((e.metadata #>> $2) = $1) IS NOT TRUE OR (e.spill & 1) <> 0)
-- 1: string m-large
-- 2: []string [model]
-- reads 1
