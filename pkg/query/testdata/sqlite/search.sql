-- a search of project 7, from 1000 to 2000.5, of run-1, with metadata.cost
e.project_id = ?1 AND e.start_ms >= ?2 AND e.start_ms <= ?3 AND (e.run_id = ?4 OR e.session_rowid IN (SELECT session_rowid FROM session WHERE project_id = ?1 AND run_id = ?4)) AND (e.metadata ->> ?5) IS NOT NULL
-- candidates
e.project_id = ?1 AND e.start_ms >= ?2 AND e.start_ms <= ?3 AND (e.run_id = ?4 OR e.session_rowid IN (SELECT session_rowid FROM session WHERE project_id = ?1 AND run_id = ?4)) AND ((e.metadata ->> ?5) IS NOT NULL OR (e.spill & 129) <> 0)
-- 1: int64 7
-- 2: float64 1000
-- 3: float64 2000.5
-- 4: string run-1
-- 5: string $."cost"
-- reads 10000001
