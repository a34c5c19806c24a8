-- [{"field":"metadata.model","operator":"is","value":"m-large"}]
(e.metadata #>> $2) = $1
-- candidates
((e.metadata #>> $2) = $1 OR (e.spill & 1) <> 0)
-- 1: string m-large
-- 2: []string [model]
-- reads 1
