-- [{"field":"user_properties.user_id","operator":"is not","value":"u-1"}]
(e.user_id = ?1) IS NOT TRUE
-- 1: string u-1
