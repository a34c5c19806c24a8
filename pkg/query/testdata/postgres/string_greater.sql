-- [{"field":"metadata.note","operator":"greater than","value":"m"}]
CASE json_typeof(e.metadata #> $2) WHEN 'string' THEN (e.metadata #>> $2) COLLATE "C" END > $1
-- candidates
(CASE json_typeof(e.metadata #> $2) WHEN 'string' THEN (e.metadata #>> $2) COLLATE "C" END > $1 OR (e.spill & 1) <> 0)
-- 1: string m
-- 2: []string [note]
-- reads 1
