-- [{"field":"metadata.note","operator":"contains","value":"x"}]
CASE json_typeof(e.metadata #> $2) WHEN 'string' THEN strpos(e.metadata #>> $2, $1) > 0 WHEN 'number' THEN FALSE WHEN 'boolean' THEN FALSE WHEN 'null' THEN FALSE ELSE EXISTS (SELECT 1 FROM jsonb_path_query((e.metadata #> $2)::jsonb, 'strict $.** ? (@.type() == "string")') AS j WHERE strpos(j #>> '{}', $1) > 0) END
-- candidates
(CASE json_typeof(e.metadata #> $2) WHEN 'string' THEN strpos(e.metadata #>> $2, $1) > 0 WHEN 'number' THEN FALSE WHEN 'boolean' THEN FALSE WHEN 'null' THEN FALSE ELSE EXISTS (SELECT 1 FROM jsonb_path_query((e.metadata #> $2)::jsonb, 'strict $.** ? (@.type() == "string")') AS j WHERE strpos(j #>> '{}', $1) > 0) END OR (e.spill & 1) <> 0)
-- 1: string x
-- 2: []string [note]
-- reads 1
