-- +goose Up

-- Whether table segment_column has the index of the words in inputs and outputs, which is built later than the columns.
ALTER TABLE segment ADD COLUMN words INTEGER NOT NULL DEFAULT 0;

-- The event of a session shows inputs and outputs of its events, and an index of words has them by it as well.
-- +goose StatementBegin
CREATE TRIGGER event_changed_in_session AFTER UPDATE OF version, session_rowid ON event
BEGIN
  INSERT INTO segment_stale(project_id, seq, day, event_id, gone)
  SELECT e.project_id, e.seq, e.day, e.event_id, 0
  FROM session AS s
  JOIN event AS e ON e.project_id = s.project_id AND e.day = s.event_day AND e.event_id = s.session_id
  WHERE s.session_rowid = NEW.session_rowid AND e.seq <= (SELECT marked_seq FROM segment_progress)
  ON CONFLICT DO UPDATE SET changes = changes + 1;
END;
-- +goose StatementEnd
