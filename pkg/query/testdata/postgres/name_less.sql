-- [{"field":"event_name","operator":"less than","value":"m"}]
e.name COLLATE "C" < $1
-- 1: string m
