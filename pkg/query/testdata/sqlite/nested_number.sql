-- [{"field":"metrics.judge.score","operator":"less than","value":"0.5","type":"number"}]
(CASE WHEN (e.metrics ->> ?2) IS NOT NULL THEN json_type(e.metrics, ?2) IN ('integer', 'real') AND CAST(e.metrics ->> ?2 AS REAL) < ?1 ELSE json_type(e.metrics, ?3) IN ('integer', 'real') AND CAST(e.metrics ->> ?3 AS REAL) < ?1 END)
-- candidates
((CASE WHEN (e.metrics ->> ?2) IS NOT NULL THEN json_type(e.metrics, ?2) IN ('integer', 'real') AND CAST(e.metrics ->> ?2 AS REAL) < ?1 ELSE json_type(e.metrics, ?3) IN ('integer', 'real') AND CAST(e.metrics ->> ?3 AS REAL) < ?1 END) OR (e.spill & 2) <> 0)
-- 1: float64 0.5
-- 2: string $."judge"."score"
-- 3: string $."judge.score"
-- reads 10
