-- [{"field":"parent_id","operator":"is any of","value":["3f2504e0-4f89-41d3-9a0c-0305e82c3301","7d444840-9dc0-41d1-b245-5ffdce74fad2"]}]
(e.parent_id IN (?1, ?2) OR (e.parent_id IS NULL AND e.event_id <> (SELECT session_id FROM session WHERE session_rowid = e.session_rowid) AND e.session_rowid IN (SELECT session_rowid FROM session WHERE project_id = ?3 AND session_id IN (SELECT unhex(value) FROM json_each(?4)))))
-- 1: []uint8 [63 37 4 224 79 137 65 211 154 12 3 5 232 44 51 1]
-- 2: []uint8 [125 68 72 64 157 192 65 209 178 69 95 253 206 116 250 210]
-- 3: int64 7
-- 4: string ["3f2504e04f8941d39a0c0305e82c3301","7d4448409dc041d1b2455ffdce74fad2"]
