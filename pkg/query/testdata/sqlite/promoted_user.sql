-- [{"field":"user_properties.user_id","operator":"is","value":"u-1"}]
e.user_id = ?1
-- 1: string u-1
