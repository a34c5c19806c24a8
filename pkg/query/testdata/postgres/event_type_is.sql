-- [{"field":"event_type","operator":"is","value":"model"}]
e.type = 1
