-- [{"field":"session_id","operator":"is any of","value":["3f2504e0-4f89-41d3-9a0c-0305e82c3301","7d444840-9dc0-41d1-b245-5ffdce74fad2"]}]
(e.session_rowid IN (SELECT session_rowid FROM session WHERE project_id = ?1 AND session_id IN (SELECT unhex(value) FROM json_each(?2))))
-- 1: int64 7
-- 2: string ["3f2504e04f8941d39a0c0305e82c3301","7d4448409dc041d1b2455ffdce74fad2"]
