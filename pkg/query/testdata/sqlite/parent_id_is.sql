-- [{"field":"parent_id","operator":"is","value":"3f2504e0-4f89-41d3-9a0c-0305e82c3301"}]
(e.parent_id = ?1 OR (e.parent_id IS NULL AND e.event_id <> ?1 AND e.session_rowid = (SELECT session_rowid FROM session WHERE project_id = ?2 AND session_id = ?3)))
-- 1: []uint8 [63 37 4 224 79 137 65 211 154 12 3 5 232 44 51 1]
-- 2: int64 7
-- 3: []uint8 [63 37 4 224 79 137 65 211 154 12 3 5 232 44 51 1]
