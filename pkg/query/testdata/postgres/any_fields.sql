-- [{"field":"event_name","operator":"is","value":"x"},{"any":[[{"field":"metadata.run_id","operator":"is","value":"3f2504e0-4f89-41d3-9a0c-0305e82c3301"}],[{"field":"error","operator":"exists"},{"field":"metadata.b","operator":"is not","value":"y"}]]}]
e.name = $1 AND ((e.run_id = $2 AND (e.metadata #>> $4) = $3) OR ((nullif(e.error, '') IS NOT NULL OR (e.spill & 32) <> 0) AND ((e.metadata #>> $6) = $5) IS NOT TRUE))
-- candidates
e.name = $1 AND (((e.run_id = $2 AND (e.metadata #>> $4) = $3) OR ((nullif(e.error, '') IS NOT NULL OR (e.spill & 32) <> 0) AND ((e.metadata #>> $6) = $5) IS NOT TRUE)) OR (e.spill & 1) <> 0)
-- 1: string x
-- 2: string 3f2504e0-4f89-41d3-9a0c-0305e82c3301
-- 3: string 3f2504e0-4f89-41d3-9a0c-0305e82c3301
-- 4: []string [run_id]
-- 5: string y
-- 6: []string [b]
-- reads 1
