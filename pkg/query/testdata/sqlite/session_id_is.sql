-- [{"field":"session_id","operator":"is","value":"3f2504e0-4f89-41d3-9a0c-0305e82c3301"}]
(e.session_rowid = (SELECT session_rowid FROM session WHERE project_id = ?1 AND session_id = ?2))
-- 1: int64 7
-- 2: []uint8 [63 37 4 224 79 137 65 211 154 12 3 5 232 44 51 1]
