-- [{"field":"metadata.t","operator":"is not","value":"false","type":"boolean"}]
(json_type(e.metadata, ?1) = 'false') IS NOT TRUE
-- candidates
((json_type(e.metadata, ?1) = 'false') IS NOT TRUE OR (e.spill & 1) <> 0)
-- 1: string $."t"
-- reads 1
