-- [{"field":"parent_id","operator":"exists"}]
coalesce(e.parent_id, nullif(e.session_id, e.event_id)) IS NOT NULL
