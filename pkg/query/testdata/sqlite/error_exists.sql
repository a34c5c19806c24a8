-- [{"field":"error","operator":"exists"}]
(nullif(e.error, '') IS NOT NULL OR (e.spill & 32) <> 0)
