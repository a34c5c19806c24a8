-- [{"field":"start_time","operator":"after","value":"2026-01-02","type":"datetime"}]
e.start_ms > ?1
-- 1: float64 1.767312e+12
