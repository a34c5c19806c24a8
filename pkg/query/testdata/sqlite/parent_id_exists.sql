-- [{"field":"parent_id","operator":"exists"}]
coalesce(e.parent_id, nullif((SELECT session_id FROM session WHERE sid = e.sid), e.event_id)) IS NOT NULL
