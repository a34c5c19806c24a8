-- +goose Up

-- Whether table segment_column has the index of the words in inputs and outputs, which is built later than the columns.
ALTER TABLE segment ADD COLUMN words boolean NOT NULL DEFAULT false;

-- The event of a session shows inputs and outputs of its events, and an index of words has them by it as well.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION event_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO segment_stale AS s (project_id, seq, day, event_id, gone)
  SELECT n.project_id, n.seq, n.day, n.event_id, false
  FROM before AS b
  JOIN segment_progress AS p ON b.seq <= p.marked_seq
  JOIN after AS n ON n.seq = b.seq
  WHERE n.version <> b.version OR n.session_id <> b.session_id
  UNION
  SELECT e.project_id, e.seq, e.day, e.event_id, false
  FROM before AS b
  CROSS JOIN segment_progress AS p
  JOIN after AS n ON n.seq = b.seq
  JOIN session AS x ON x.project_id = n.project_id AND x.session_id = n.session_id
  JOIN event AS e ON e.event_id = x.session_id AND e.project_id = x.project_id AND e.day = x.event_day AND e.seq <= p.marked_seq
  WHERE n.version <> b.version OR n.session_id <> b.session_id
  ORDER BY 1, 2
  ON CONFLICT (project_id, seq) DO UPDATE SET changes = s.changes + 1, day = excluded.day;
  RETURN NULL;
END $$;
-- +goose StatementEnd
