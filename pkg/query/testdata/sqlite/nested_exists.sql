-- [{"field":"metadata.a.b","operator":"exists"}]
((e.metadata ->> ?1) IS NOT NULL OR (e.metadata ->> ?2) IS NOT NULL)
-- candidates
(((e.metadata ->> ?1) IS NOT NULL OR (e.metadata ->> ?2) IS NOT NULL) OR (e.spill & 1) <> 0)
-- 1: string $."a"."b"
-- 2: string $."a.b"
-- reads 1
