-- [{"field":"feedback","operator":"exists"}]
(e.feedback IS NOT NULL OR (e.spill & 4) <> 0)
