-- [{"field":"metadata.a.b","operator":"not contains","value":"x"}]
(CASE WHEN (e.metadata ->> ?2) IS NOT NULL THEN CASE WHEN json_type(e.metadata, ?2) = 'text' THEN instr(e.metadata ->> ?2, ?1) > 0 WHEN json_type(e.metadata, ?2) IN ('object', 'array') THEN EXISTS (SELECT 1 FROM json_tree(e.metadata, ?2) AS j WHERE j.type = 'text' AND instr(j.atom, ?1) > 0) ELSE FALSE END ELSE CASE WHEN json_type(e.metadata, ?3) = 'text' THEN instr(e.metadata ->> ?3, ?1) > 0 WHEN json_type(e.metadata, ?3) IN ('object', 'array') THEN EXISTS (SELECT 1 FROM json_tree(e.metadata, ?3) AS j WHERE j.type = 'text' AND instr(j.atom, ?1) > 0) ELSE FALSE END END) IS NOT TRUE
-- candidates
((CASE WHEN (e.metadata ->> ?2) IS NOT NULL THEN CASE WHEN json_type(e.metadata, ?2) = 'text' THEN instr(e.metadata ->> ?2, ?1) > 0 WHEN json_type(e.metadata, ?2) IN ('object', 'array') THEN EXISTS (SELECT 1 FROM json_tree(e.metadata, ?2) AS j WHERE j.type = 'text' AND instr(j.atom, ?1) > 0) ELSE FALSE END ELSE CASE WHEN json_type(e.metadata, ?3) = 'text' THEN instr(e.metadata ->> ?3, ?1) > 0 WHEN json_type(e.metadata, ?3) IN ('object', 'array') THEN EXISTS (SELECT 1 FROM json_tree(e.metadata, ?3) AS j WHERE j.type = 'text' AND instr(j.atom, ?1) > 0) ELSE FALSE END END) IS NOT TRUE OR (e.spill & 1) <> 0)
-- 1: string x
-- 2: string $."a"."b"
-- 3: string $."a.b"
-- reads 1
