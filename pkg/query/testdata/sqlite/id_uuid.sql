-- [{"field":"metadata.customer","operator":"is","value":"3F2504E0-4F89-41D3-9A0C-0305E82C3301","type":"id"}]
lower(e.metadata ->> ?2) = ?1
-- candidates
(lower(e.metadata ->> ?2) = ?1 OR (e.spill & 1) <> 0)
-- 1: string 3f2504e0-4f89-41d3-9a0c-0305e82c3301
-- 2: string $."customer"
-- reads 1
