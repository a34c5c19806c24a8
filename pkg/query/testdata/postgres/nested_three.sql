-- [{"field":"metadata.a.b.c","operator":"is","value":"x"}]
CASE WHEN (e.metadata #>> $2) IS NOT NULL THEN (e.metadata #>> $2) = $1 WHEN (e.metadata #>> $3) IS NOT NULL THEN (e.metadata #>> $3) = $1 WHEN (e.metadata #>> $4) IS NOT NULL THEN (e.metadata #>> $4) = $1 ELSE (e.metadata #>> $5) = $1 END
-- candidates
(CASE WHEN (e.metadata #>> $2) IS NOT NULL THEN (e.metadata #>> $2) = $1 WHEN (e.metadata #>> $3) IS NOT NULL THEN (e.metadata #>> $3) = $1 WHEN (e.metadata #>> $4) IS NOT NULL THEN (e.metadata #>> $4) = $1 ELSE (e.metadata #>> $5) = $1 END OR (e.spill & 1) <> 0)
-- 1: string x
-- 2: []string [a b c]
-- 3: []string [a b.c]
-- 4: []string [a.b.c]
-- 5: []string [a.b c]
-- reads 1
