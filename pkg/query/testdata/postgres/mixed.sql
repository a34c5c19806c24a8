-- [{"field":"event_type","operator":"is","value":"model"},{"field":"metadata.cost","operator":"greater than","value":0.5,"type":"number"},{"field":"error","operator":"is","value":"x"},{"field":"inputs.q","operator":"contains","value":"refund"}]
e.type = 1 AND CASE json_typeof(e.metadata #> $2) WHEN 'number' THEN (e.metadata #>> $2)::float8 > $1 ELSE FALSE END AND e.error = $3
-- candidates
e.type = 1 AND (CASE json_typeof(e.metadata #> $2) WHEN 'number' THEN (e.metadata #>> $2)::float8 > $1 ELSE FALSE END AND e.error = $3 OR (e.spill & 33) <> 0)
-- 1: float64 0.5
-- 2: []string [cost]
-- 3: string x
-- left to Go: inputs.q contains
-- reads 100001
