-- [{"field":"metadata.a.b","operator":"is","value":"x"}]
CASE WHEN (e.metadata ->> ?2) IS NOT NULL THEN (e.metadata ->> ?2) = ?1 ELSE (e.metadata ->> ?3) = ?1 END
-- candidates
(CASE WHEN (e.metadata ->> ?2) IS NOT NULL THEN (e.metadata ->> ?2) = ?1 ELSE (e.metadata ->> ?3) = ?1 END OR (e.spill & 1) <> 0)
-- 1: string x
-- 2: string $."a"."b"
-- 3: string $."a.b"
-- reads 1
