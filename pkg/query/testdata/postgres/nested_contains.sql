-- [{"field":"metadata.a.b","operator":"not contains","value":"x"}]
(CASE WHEN (e.metadata #>> $2) IS NOT NULL THEN CASE json_typeof(e.metadata #> $2) WHEN 'string' THEN strpos(e.metadata #>> $2, $1) > 0 WHEN 'number' THEN FALSE WHEN 'boolean' THEN FALSE WHEN 'null' THEN FALSE ELSE EXISTS (SELECT 1 FROM jsonb_path_query((e.metadata #> $2)::jsonb, 'strict $.** ? (@.type() == "string")') AS j WHERE strpos(j #>> '{}', $1) > 0) END ELSE CASE json_typeof(e.metadata #> $3) WHEN 'string' THEN strpos(e.metadata #>> $3, $1) > 0 WHEN 'number' THEN FALSE WHEN 'boolean' THEN FALSE WHEN 'null' THEN FALSE ELSE EXISTS (SELECT 1 FROM jsonb_path_query((e.metadata #> $3)::jsonb, 'strict $.** ? (@.type() == "string")') AS j WHERE strpos(j #>> '{}', $1) > 0) END END) IS NOT TRUE
-- candidates
((CASE WHEN (e.metadata #>> $2) IS NOT NULL THEN CASE json_typeof(e.metadata #> $2) WHEN 'string' THEN strpos(e.metadata #>> $2, $1) > 0 WHEN 'number' THEN FALSE WHEN 'boolean' THEN FALSE WHEN 'null' THEN FALSE ELSE EXISTS (SELECT 1 FROM jsonb_path_query((e.metadata #> $2)::jsonb, 'strict $.** ? (@.type() == "string")') AS j WHERE strpos(j #>> '{}', $1) > 0) END ELSE CASE json_typeof(e.metadata #> $3) WHEN 'string' THEN strpos(e.metadata #>> $3, $1) > 0 WHEN 'number' THEN FALSE WHEN 'boolean' THEN FALSE WHEN 'null' THEN FALSE ELSE EXISTS (SELECT 1 FROM jsonb_path_query((e.metadata #> $3)::jsonb, 'strict $.** ? (@.type() == "string")') AS j WHERE strpos(j #>> '{}', $1) > 0) END END) IS NOT TRUE OR (e.spill & 1) <> 0)
-- 1: string x
-- 2: []string [a b]
-- 3: []string [a.b]
-- reads 1
