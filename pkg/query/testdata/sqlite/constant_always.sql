-- [{"field":"event_type","operator":"is not","value":"none"}]
TRUE
