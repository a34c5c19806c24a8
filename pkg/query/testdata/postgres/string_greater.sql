-- [{"field":"metadata.note","operator":"greater than","value":"m"}]
(json_typeof(e.metadata #> $2) = 'string' AND (e.metadata #>> $2) COLLATE "C" > $1)
-- candidates
((json_typeof(e.metadata #> $2) = 'string' AND (e.metadata #>> $2) COLLATE "C" > $1) OR (e.spill & 1) <> 0)
-- 1: string m
-- 2: []string [note]
-- reads 1
