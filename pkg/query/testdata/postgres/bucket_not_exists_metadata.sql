-- [{"field":"metadata","operator":"not exists"}]
(e.metadata IS NOT NULL OR (e.spill & 193) <> 0) IS NOT TRUE
