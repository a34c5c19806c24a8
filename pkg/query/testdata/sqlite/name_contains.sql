-- [{"field":"event_name","operator":"contains","value":"50%"}]
instr(e.name, ?1) > 0
-- 1: string 50%
