-- [{"field":"parent_id","operator":"exists"}]
coalesce(e.parent_id, nullif((SELECT session_id FROM session WHERE session_rowid = e.session_rowid), e.event_id)) IS NOT NULL
