-- [{"field":"event_type","operator":"is not","value":"session"},{"field":"metadata.total_tokens","operator":"greater than","value":100,"type":"number"}]
e.type IN (1, 2, 3, 5) AND (CASE json_typeof(e.metadata #> $2) WHEN 'number' THEN (e.metadata #>> $2)::float8 > $1 ELSE FALSE END OR ((e.spill & 128) <> 0 AND coalesce((e.metadata #> $2)::text, 'null') ~ '^\s*(null|""|\{\s*\}|\[\s*\])\s*$' AND (SELECT s.total_tokens FROM session s WHERE s.project_id = e.project_id AND s.session_id = e.session_id) > $3))
-- candidates
e.type IN (1, 2, 3, 5) AND ((CASE json_typeof(e.metadata #> $2) WHEN 'number' THEN (e.metadata #>> $2)::float8 > $1 ELSE FALSE END OR ((e.spill & 128) <> 0 AND coalesce((e.metadata #> $2)::text, 'null') ~ '^\s*(null|""|\{\s*\}|\[\s*\])\s*$' AND (SELECT s.total_tokens FROM session s WHERE s.project_id = e.project_id AND s.session_id = e.session_id) > $3)) OR (e.spill & 1) <> 0)
-- 1: float64 100
-- 2: []string [total_tokens]
-- 3: float64 100
-- reads 1
