-- [{"field":"metadata.run_id","operator":"is any of","value":["run-1","3F2504E0-4F89-41D3-9A0C-0305E82C3301"]}]
e.run_id IN (?1, ?2) AND (e.metadata ->> ?5) IN (?3, ?4)
-- candidates
e.run_id IN (?1, ?2) AND ((e.metadata ->> ?5) IN (?3, ?4) OR (e.spill & 1) <> 0)
-- 1: string run-1
-- 2: string 3f2504e0-4f89-41d3-9a0c-0305e82c3301
-- 3: string run-1
-- 4: string 3F2504E0-4F89-41D3-9A0C-0305E82C3301
-- 5: string $."run_id"
-- reads 1
