-- [{"field":"metadata","operator":"not exists"}]
(EXISTS (SELECT 1 FROM json_each(e.metadata)) OR (e.spill & 193) <> 0) IS NOT TRUE
