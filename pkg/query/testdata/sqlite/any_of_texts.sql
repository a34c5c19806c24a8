-- [{"field":"metadata.model","operator":"is any of","value":["m-large","m-small"]}]
(e.metadata ->> ?3) IN (?1, ?2)
-- candidates
((e.metadata ->> ?3) IN (?1, ?2) OR (e.spill & 1) <> 0)
-- 1: string m-large
-- 2: string m-small
-- 3: string $."model"
-- reads 1
