-- [{"field":"event_type","operator":"is not","value":"model"}]
e.type IN (2, 3, 4, 5)
