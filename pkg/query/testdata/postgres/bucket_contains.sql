-- [{"field":"metrics","operator":"contains","value":"slow"}]
CASE json_typeof(e.metrics #> $2) WHEN 'string' THEN strpos(e.metrics #>> $2, $1) > 0 WHEN 'number' THEN FALSE WHEN 'boolean' THEN FALSE WHEN 'null' THEN FALSE ELSE EXISTS (SELECT 1 FROM jsonb_path_query((e.metrics #> $2)::jsonb, 'strict $.** ? (@.type() == "string")') AS j WHERE strpos(j #>> '{}', $1) > 0) END
-- candidates
(CASE json_typeof(e.metrics #> $2) WHEN 'string' THEN strpos(e.metrics #>> $2, $1) > 0 WHEN 'number' THEN FALSE WHEN 'boolean' THEN FALSE WHEN 'null' THEN FALSE ELSE EXISTS (SELECT 1 FROM jsonb_path_query((e.metrics #> $2)::jsonb, 'strict $.** ? (@.type() == "string")') AS j WHERE strpos(j #>> '{}', $1) > 0) END OR (e.spill & 2) <> 0)
-- 1: string slow
-- 2: []string []
-- reads 10
