-- [{"field":"metadata.a.b","operator":"is","value":"x"}]
((e.metadata ->> ?2) = ?1 OR ((e.metadata ->> ?2) IS NULL AND (e.metadata ->> ?3) = ?1))
-- candidates
(((e.metadata ->> ?2) = ?1 OR ((e.metadata ->> ?2) IS NULL AND (e.metadata ->> ?3) = ?1)) OR (e.spill & 1) <> 0)
-- 1: string x
-- 2: string $."a"."b"
-- 3: string $."a.b"
-- reads 1
