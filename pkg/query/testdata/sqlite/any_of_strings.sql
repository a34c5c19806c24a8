-- [{"field":"metadata.a.b","operator":"is any of","value":["x",5,true]}]
CASE WHEN (e.metadata ->> ?5) IS NOT NULL THEN CASE json_type(e.metadata, ?5) WHEN 'text' THEN (e.metadata ->> ?5) IN (?1, ?2, ?3) WHEN 'integer' THEN CAST(e.metadata ->> ?5 AS REAL) = ?4 WHEN 'real' THEN (e.metadata ->> ?5) = ?4 WHEN 'true' THEN TRUE ELSE FALSE END ELSE CASE json_type(e.metadata, ?6) WHEN 'text' THEN (e.metadata ->> ?6) IN (?1, ?2, ?3) WHEN 'integer' THEN CAST(e.metadata ->> ?6 AS REAL) = ?4 WHEN 'real' THEN (e.metadata ->> ?6) = ?4 WHEN 'true' THEN TRUE ELSE FALSE END END
-- candidates
(CASE WHEN (e.metadata ->> ?5) IS NOT NULL THEN CASE json_type(e.metadata, ?5) WHEN 'text' THEN (e.metadata ->> ?5) IN (?1, ?2, ?3) WHEN 'integer' THEN CAST(e.metadata ->> ?5 AS REAL) = ?4 WHEN 'real' THEN (e.metadata ->> ?5) = ?4 WHEN 'true' THEN TRUE ELSE FALSE END ELSE CASE json_type(e.metadata, ?6) WHEN 'text' THEN (e.metadata ->> ?6) IN (?1, ?2, ?3) WHEN 'integer' THEN CAST(e.metadata ->> ?6 AS REAL) = ?4 WHEN 'real' THEN (e.metadata ->> ?6) = ?4 WHEN 'true' THEN TRUE ELSE FALSE END END OR (e.spill & 1) <> 0)
-- 1: string x
-- 2: string 5
-- 3: string true
-- 4: float64 5
-- 5: string $."a"."b"
-- 6: string $."a.b"
-- reads 1
