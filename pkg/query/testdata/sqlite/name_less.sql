-- [{"field":"event_name","operator":"less than","value":"m"}]
e.name < ?1
-- 1: string m
