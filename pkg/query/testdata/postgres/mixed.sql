-- [{"field":"event_type","operator":"is","value":"model"},{"field":"metadata.cost","operator":"greater than","value":0.5,"type":"number"},{"field":"error","operator":"is","value":"x"},{"field":"inputs.q","operator":"contains","value":"refund"}]
e.type = 1 AND (CASE json_typeof(e.metadata #> $2) WHEN 'number' THEN (e.metadata #>> $2)::float8 > $1 ELSE FALSE END OR ((e.spill & 128) <> 0 AND coalesce((e.metadata #> $2)::text, 'null') ~ '^\s*(null|""|\{\s*\}|\[\s*\])\s*$' AND (SELECT CASE WHEN s.num_costs > 0 THEN round((s.cost)::text::numeric, 12)::float8 END FROM session s WHERE s.project_id = e.project_id AND s.session_id = e.session_id) > $3)) AND nullif(e.error, '') = $4
-- candidates
e.type = 1 AND ((CASE json_typeof(e.metadata #> $2) WHEN 'number' THEN (e.metadata #>> $2)::float8 > $1 ELSE FALSE END OR ((e.spill & 128) <> 0 AND coalesce((e.metadata #> $2)::text, 'null') ~ '^\s*(null|""|\{\s*\}|\[\s*\])\s*$' AND (SELECT CASE WHEN s.num_costs > 0 THEN round((s.cost)::text::numeric, 12)::float8 END FROM session s WHERE s.project_id = e.project_id AND s.session_id = e.session_id) > $3)) AND nullif(e.error, '') = $4 OR (e.spill & 33) <> 0)
-- 1: float64 0.5
-- 2: []string [cost]
-- 3: float64 0.5
-- 4: string x
-- left to Go: inputs.q contains
-- reads 100001
