-- [{"field":"metadata.note","operator":"greater than","value":"m"}]
CASE json_type(e.metadata, ?2) WHEN 'text' THEN e.metadata ->> ?2 END > ?1
-- candidates
(CASE json_type(e.metadata, ?2) WHEN 'text' THEN e.metadata ->> ?2 END > ?1 OR (e.spill & 1) <> 0)
-- 1: string m
-- 2: string $."note"
-- reads 1
