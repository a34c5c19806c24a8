-- [{"field":"parent_id","operator":"is any of","value":["3f2504e0-4f89-41d3-9a0c-0305e82c3301","7d444840-9dc0-41d1-b245-5ffdce74fad2"]}]
(e.parent_id IN ($1, $2) OR (e.parent_id IS NULL AND e.event_id <> e.session_id AND e.session_id = ANY($3::uuid[])))
-- 1: [16]uint8 [63 37 4 224 79 137 65 211 154 12 3 5 232 44 51 1]
-- 2: [16]uint8 [125 68 72 64 157 192 65 209 178 69 95 253 206 116 250 210]
-- 3: [][16]uint8 [[63 37 4 224 79 137 65 211 154 12 3 5 232 44 51 1] [125 68 72 64 157 192 65 209 178 69 95 253 206 116 250 210]]
