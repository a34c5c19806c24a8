-- [{"field":"event_id","operator":"is","value":"3F2504E0-4F89-41D3-9A0C-0305E82C3301","type":"id"}]
e.event_id = $1
-- 1: [16]uint8 [63 37 4 224 79 137 65 211 154 12 3 5 232 44 51 1]
