-- [{"field":"metadata.t","operator":"is","value":"true"}]
CASE json_type(e.metadata, ?2) WHEN 'text' THEN (e.metadata ->> ?2) = ?1 WHEN 'true' THEN TRUE ELSE FALSE END
-- candidates
(CASE json_type(e.metadata, ?2) WHEN 'text' THEN (e.metadata ->> ?2) = ?1 WHEN 'true' THEN TRUE ELSE FALSE END OR (e.spill & 1) <> 0)
-- 1: string true
-- 2: string $."t"
-- reads 1
