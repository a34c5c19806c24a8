-- [{"field":"parent_id","operator":"contains","value":"4f89"}]
instr((SELECT lower(substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-' || substr(h, 13, 4) || '-' || substr(h, 17, 4) || '-' || substr(h, 21)) FROM (SELECT hex(coalesce(e.parent_id, nullif((SELECT session_id FROM session WHERE session_rowid = e.session_rowid), e.event_id))) AS h) WHERE h <> ''), ?1) > 0
-- 1: string 4f89
