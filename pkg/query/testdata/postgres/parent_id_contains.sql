-- [{"field":"parent_id","operator":"contains","value":"4f89"}]
strpos((coalesce(e.parent_id, nullif(e.session_id, e.event_id)))::text, $1) > 0
-- 1: string 4f89
