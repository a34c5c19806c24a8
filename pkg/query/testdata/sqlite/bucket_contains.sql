-- [{"field":"metrics","operator":"contains","value":"slow"}]
(CASE WHEN json_type(e.metrics, ?2) = 'text' THEN instr(e.metrics ->> ?2, ?1) > 0 WHEN json_type(e.metrics, ?2) IN ('object', 'array') THEN EXISTS (SELECT 1 FROM json_tree(e.metrics, ?2) AS j WHERE j.type = 'text' AND instr(j.atom, ?1) > 0) ELSE FALSE END)
-- candidates
((CASE WHEN json_type(e.metrics, ?2) = 'text' THEN instr(e.metrics ->> ?2, ?1) > 0 WHEN json_type(e.metrics, ?2) IN ('object', 'array') THEN EXISTS (SELECT 1 FROM json_tree(e.metrics, ?2) AS j WHERE j.type = 'text' AND instr(j.atom, ?1) > 0) ELSE FALSE END) OR (e.spill & 2) <> 0)
-- 1: string slow
-- 2: string $
-- reads 10
