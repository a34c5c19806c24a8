-- [{"field":"event_type","operator":"is any of","value":["model","tool"]}]
e.type IN (1, 2)
