-- [{"field":"error","operator":"not contains","value":"timeout"}]
(strpos(nullif(e.error, ''), $1) > 0) IS NOT TRUE
-- candidates
((strpos(nullif(e.error, ''), $1) > 0) IS NOT TRUE OR (e.spill & 32) <> 0)
-- 1: string timeout
-- reads 100000
