-- [{"field":"metrics.judge.score","operator":"less than","value":"0.5","type":"number"}]
CASE WHEN (e.metrics #>> $2) IS NOT NULL THEN CASE json_typeof(e.metrics #> $2) WHEN 'number' THEN (e.metrics #>> $2)::float8 < $1 ELSE FALSE END ELSE CASE json_typeof(e.metrics #> $3) WHEN 'number' THEN (e.metrics #>> $3)::float8 < $1 ELSE FALSE END END
-- candidates
(CASE WHEN (e.metrics #>> $2) IS NOT NULL THEN CASE json_typeof(e.metrics #> $2) WHEN 'number' THEN (e.metrics #>> $2)::float8 < $1 ELSE FALSE END ELSE CASE json_typeof(e.metrics #> $3) WHEN 'number' THEN (e.metrics #>> $3)::float8 < $1 ELSE FALSE END END OR (e.spill & 2) <> 0)
-- 1: float64 0.5
-- 2: []string [judge score]
-- 3: []string [judge.score]
-- reads 10
