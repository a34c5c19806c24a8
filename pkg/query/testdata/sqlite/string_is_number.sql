-- [{"field":"metadata.n","operator":"is","value":"5"}]
CASE json_type(e.metadata, ?3) WHEN 'text' THEN (e.metadata ->> ?3) = ?1 WHEN 'integer' THEN CAST(e.metadata ->> ?3 AS REAL) = ?2 WHEN 'real' THEN (e.metadata ->> ?3) = ?2 ELSE FALSE END
-- candidates
(CASE json_type(e.metadata, ?3) WHEN 'text' THEN (e.metadata ->> ?3) = ?1 WHEN 'integer' THEN CAST(e.metadata ->> ?3 AS REAL) = ?2 WHEN 'real' THEN (e.metadata ->> ?3) = ?2 ELSE FALSE END OR (e.spill & 1) <> 0)
-- 1: string 5
-- 2: float64 5
-- 3: string $."n"
-- reads 1
