-- [{"field":"metadata","operator":"not exists"}]
((e.metadata::text ~ '^\s*(\{\s*\}|\[\s*\])\s*$') = FALSE OR (e.spill & 193) <> 0) IS NOT TRUE
