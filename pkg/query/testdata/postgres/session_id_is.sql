-- [{"field":"session_id","operator":"is","value":"3f2504e0-4f89-41d3-9a0c-0305e82c3301"}]
e.session_id = $1
-- 1: [16]uint8 [63 37 4 224 79 137 65 211 154 12 3 5 232 44 51 1]
