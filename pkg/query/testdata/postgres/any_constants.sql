-- [{"any":[[{"field":"event_type","operator":"is","value":"none"},{"field":"metadata.a","operator":"is","value":"x"}],[{"field":"event_type","operator":"is not","value":"none"},{"field":"source","operator":"is","value":"y"}]]}]
e.source = $1
-- 1: string y
