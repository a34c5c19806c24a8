-- [{"field":"feedback","operator":"exists"}]
((e.feedback::text ~ '^\s*(\{\s*\}|\[\s*\])\s*$') = FALSE OR (e.spill & 4) <> 0)
