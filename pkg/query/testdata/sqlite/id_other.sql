-- [{"field":"metadata.customer","operator":"is","value":"c-7","type":"id"}]
(e.metadata ->> ?2) = ?1
-- candidates
((e.metadata ->> ?2) = ?1 OR (e.spill & 1) <> 0)
-- 1: string c-7
-- 2: string $."customer"
-- reads 1
