-- [{"any":[[{"field":"event_name","operator":"is","value":"x"},{"field":"duration","operator":"less than","value":5,"type":"number"}],[{"field":"event_type","operator":"is not","value":"model"}]]}]
((e.name = ?1 AND e.duration < ?2) OR e.type IN (2, 3, 4, 5))
-- 1: string x
-- 2: float64 5
