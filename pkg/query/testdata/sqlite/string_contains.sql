-- [{"field":"metadata.note","operator":"contains","value":"x"}]
(CASE WHEN json_type(e.metadata, ?2) = 'text' THEN instr(e.metadata ->> ?2, ?1) > 0 WHEN json_type(e.metadata, ?2) IN ('object', 'array') THEN EXISTS (SELECT 1 FROM json_tree(e.metadata, ?2) AS j WHERE j.type = 'text' AND instr(j.atom, ?1) > 0) ELSE FALSE END)
-- candidates
((CASE WHEN json_type(e.metadata, ?2) = 'text' THEN instr(e.metadata ->> ?2, ?1) > 0 WHEN json_type(e.metadata, ?2) IN ('object', 'array') THEN EXISTS (SELECT 1 FROM json_tree(e.metadata, ?2) AS j WHERE j.type = 'text' AND instr(j.atom, ?1) > 0) ELSE FALSE END) OR (e.spill & 1) <> 0)
-- 1: string x
-- 2: string $."note"
-- reads 1
