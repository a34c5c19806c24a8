-- [{"field":"error","operator":"exists"}]
(e.error IS NOT NULL OR (e.spill & 32) <> 0)
