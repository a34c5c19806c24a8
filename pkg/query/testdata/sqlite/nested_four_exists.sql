-- [{"field":"metadata.a.b.c.d","operator":"exists"}]
((e.metadata ->> ?1) IS NOT NULL OR (e.metadata ->> ?2) IS NOT NULL OR (e.metadata ->> ?3) IS NOT NULL OR (e.metadata ->> ?4) IS NOT NULL OR (e.metadata ->> ?5) IS NOT NULL OR (e.metadata ->> ?6) IS NOT NULL OR (e.metadata ->> ?7) IS NOT NULL OR (e.metadata ->> ?8) IS NOT NULL)
-- candidates
(((e.metadata ->> ?1) IS NOT NULL OR (e.metadata ->> ?2) IS NOT NULL OR (e.metadata ->> ?3) IS NOT NULL OR (e.metadata ->> ?4) IS NOT NULL OR (e.metadata ->> ?5) IS NOT NULL OR (e.metadata ->> ?6) IS NOT NULL OR (e.metadata ->> ?7) IS NOT NULL OR (e.metadata ->> ?8) IS NOT NULL) OR (e.spill & 1) <> 0)
-- 1: string $."a"."b"."c"."d"
-- 2: string $."a"."b"."c.d"
-- 3: string $."a"."b.c.d"
-- 4: string $."a"."b.c"."d"
-- 5: string $."a.b.c.d"
-- 6: string $."a.b"."c"."d"
-- 7: string $."a.b"."c.d"
-- 8: string $."a.b.c"."d"
-- reads 1
