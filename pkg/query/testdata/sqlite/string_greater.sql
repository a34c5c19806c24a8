-- [{"field":"metadata.note","operator":"greater than","value":"m"}]
(json_type(e.metadata, ?2) = 'text' AND (e.metadata ->> ?2) > ?1)
-- candidates
((json_type(e.metadata, ?2) = 'text' AND (e.metadata ->> ?2) > ?1) OR (e.spill & 1) <> 0)
-- 1: string m
-- 2: string $."note"
-- reads 1
