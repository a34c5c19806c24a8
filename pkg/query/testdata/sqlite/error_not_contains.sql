-- [{"field":"error","operator":"not contains","value":"timeout"}]
(instr(nullif(e.error, ''), ?1) > 0) IS NOT TRUE
-- candidates
((instr(nullif(e.error, ''), ?1) > 0) IS NOT TRUE OR (e.spill & 32) <> 0)
-- 1: string timeout
-- reads 100000
