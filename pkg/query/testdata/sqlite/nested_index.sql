-- [{"field":"metadata.list.0.name","operator":"is","value":"x"}]
((e.metadata ->> ?2) = ?1 OR (e.metadata ->> ?3) = ?1 OR ((e.metadata ->> ?2) IS NULL AND (e.metadata ->> ?3) IS NULL AND (e.metadata ->> ?4) = ?1))
-- candidates
(((e.metadata ->> ?2) = ?1 OR (e.metadata ->> ?3) = ?1 OR ((e.metadata ->> ?2) IS NULL AND (e.metadata ->> ?3) IS NULL AND (e.metadata ->> ?4) = ?1)) OR (e.spill & 1) <> 0)
-- 1: string x
-- 2: string $."list"."0"."name"
-- 3: string $."list"[0]."name"
-- 4: string $."list.0.name"
-- reads 1
