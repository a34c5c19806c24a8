-- [{"field":"session_id","operator":"greater than","value":"8"}]
(SELECT lower(substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-' || substr(h, 13, 4) || '-' || substr(h, 17, 4) || '-' || substr(h, 21)) FROM (SELECT hex((SELECT session_id FROM session WHERE session_rowid = e.session_rowid)) AS h) WHERE h <> '') > ?1
-- 1: string 8
