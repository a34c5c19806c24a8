-- +goose Up

-- Whether a segment may have text of an event that is not kept any more: the event is gone, a rule of retention has removed its payload (bit 21 of
-- event.spill), or it is the event of a session that showed such text. All that was on record before may be such.
ALTER TABLE segment_stale ADD COLUMN erased INTEGER NOT NULL DEFAULT 0;
UPDATE segment_stale SET erased = 1;

DROP TRIGGER event_changed;
-- +goose StatementBegin
CREATE TRIGGER event_changed AFTER UPDATE OF version, session_rowid ON event
WHEN OLD.seq <= (SELECT marked_seq FROM segment_progress)
BEGIN
  INSERT INTO segment_stale(project_id, seq, day, event_id, gone, erased)
  VALUES (NEW.project_id, NEW.seq, NEW.day, NEW.event_id, 0, (NEW.spill & 2097152) > (OLD.spill & 2097152))
  ON CONFLICT DO UPDATE SET changes = changes + 1, day = NEW.day, erased = max(erased, excluded.erased);
END;
-- +goose StatementEnd

DROP TRIGGER event_changed_in_session;
-- +goose StatementBegin
CREATE TRIGGER event_changed_in_session AFTER UPDATE OF version, session_rowid ON event
BEGIN
  INSERT INTO segment_stale(project_id, seq, day, event_id, gone, erased)
  SELECT e.project_id, e.seq, e.day, e.event_id, 0, (NEW.spill & 2097152) > (OLD.spill & 2097152)
  FROM session AS s
  JOIN event AS e ON e.project_id = s.project_id AND e.day = s.event_day AND e.event_id = s.session_id
  WHERE s.session_rowid = NEW.session_rowid AND e.seq <= (SELECT marked_seq FROM segment_progress)
  ON CONFLICT DO UPDATE SET changes = changes + 1, erased = max(erased, excluded.erased);
END;
-- +goose StatementEnd

DROP TRIGGER event_deleted;
-- +goose StatementBegin
CREATE TRIGGER event_deleted AFTER DELETE ON event
WHEN OLD.seq <= (SELECT marked_seq FROM segment_progress)
BEGIN
  INSERT INTO segment_stale(project_id, seq, day, event_id, gone, erased) VALUES (OLD.project_id, OLD.seq, OLD.day, OLD.event_id, 1, 1)
  ON CONFLICT DO UPDATE SET changes = changes + 1, gone = 1, erased = 1;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER event_deleted_in_session AFTER DELETE ON event
BEGIN
  INSERT INTO segment_stale(project_id, seq, day, event_id, gone, erased)
  SELECT e.project_id, e.seq, e.day, e.event_id, 0, 1
  FROM session AS s
  JOIN event AS e ON e.project_id = s.project_id AND e.day = s.event_day AND e.event_id = s.session_id
  WHERE s.session_rowid = OLD.session_rowid AND e.seq <= (SELECT marked_seq FROM segment_progress)
  ON CONFLICT DO UPDATE SET changes = changes + 1, erased = 1;
END;
-- +goose StatementEnd
