-- [{"field":"metadata.run_id","operator":"is","value":"3f2504e0-4f89-41d3-9a0c-0305e82c3301"}]
e.run_id = $1 AND (e.metadata #>> $3) = $2
-- candidates
e.run_id = $1 AND ((e.metadata #>> $3) = $2 OR (e.spill & 1) <> 0)
-- 1: string 3f2504e0-4f89-41d3-9a0c-0305e82c3301
-- 2: string 3f2504e0-4f89-41d3-9a0c-0305e82c3301
-- 3: []string [run_id]
-- reads 1
