-- [{"field":"metadata.t","operator":"is","value":true,"type":"boolean"}]
json_type(e.metadata, ?1) = 'true'
-- candidates
(json_type(e.metadata, ?1) = 'true' OR (e.spill & 1) <> 0)
-- 1: string $."t"
-- reads 1
