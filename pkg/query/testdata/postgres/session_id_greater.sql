-- [{"field":"session_id","operator":"greater than","value":"8"}]
(e.session_id)::text COLLATE "C" > $1
-- 1: string 8
