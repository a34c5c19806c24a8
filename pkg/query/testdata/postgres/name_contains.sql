-- [{"field":"event_name","operator":"contains","value":"50%"}]
strpos(e.name, $1) > 0
-- 1: string 50%
