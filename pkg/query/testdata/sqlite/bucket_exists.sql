-- [{"field":"feedback","operator":"exists"}]
(EXISTS (SELECT 1 FROM json_each(e.feedback)) OR (e.spill & 4) <> 0)
