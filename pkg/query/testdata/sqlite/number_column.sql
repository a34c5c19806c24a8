-- [{"field":"duration","operator":"greater than","value":100,"type":"number"}]
e.duration > ?1
-- 1: float64 100
