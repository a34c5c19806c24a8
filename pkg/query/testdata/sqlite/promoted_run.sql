-- [{"field":"metadata.run_id","operator":"is","value":"run-1"}]
e.run_id = ?1
-- 1: string run-1
