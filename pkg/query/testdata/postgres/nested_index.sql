-- [{"field":"metadata.list.0.name","operator":"is","value":"x"}]
CASE WHEN (e.metadata #>> $2) IS NOT NULL THEN (e.metadata #>> $2) = $1 WHEN (e.metadata #>> $3) IS NOT NULL THEN (e.metadata #>> $3) = $1 WHEN (e.metadata #>> $4) IS NOT NULL THEN (e.metadata #>> $4) = $1 ELSE (e.metadata #>> $5) = $1 END
-- candidates
(CASE WHEN (e.metadata #>> $2) IS NOT NULL THEN (e.metadata #>> $2) = $1 WHEN (e.metadata #>> $3) IS NOT NULL THEN (e.metadata #>> $3) = $1 WHEN (e.metadata #>> $4) IS NOT NULL THEN (e.metadata #>> $4) = $1 ELSE (e.metadata #>> $5) = $1 END OR (e.spill & 1) <> 0)
-- 1: string x
-- 2: []string [list 0 name]
-- 3: []string [list 0.name]
-- 4: []string [list.0.name]
-- 5: []string [list.0 name]
-- reads 1
