-- +goose Up

-- The order in which events came, which no change of an event alters: seq. It was the row's number before, and is one that a
-- rewrite of the file (VACUUM) keeps.
ALTER TABLE event RENAME TO event_before;
CREATE TABLE event (
  seq             INTEGER PRIMARY KEY,
  project_id      INTEGER NOT NULL,
  day             INTEGER NOT NULL,
  event_id        BLOB NOT NULL,
  session_rowid   INTEGER NOT NULL,
  parent_id       BLOB,
  type            INTEGER NOT NULL,
  name            TEXT NOT NULL,
  source          TEXT NOT NULL,
  error           TEXT,
  start_ms        REAL NOT NULL,
  end_ms          REAL NOT NULL,
  duration        REAL NOT NULL,
  metadata        TEXT,
  metrics         TEXT,
  feedback        TEXT,
  user_properties TEXT,
  children_ids    TEXT,
  run_id          TEXT,
  user_id         TEXT,
  spill           INTEGER NOT NULL,
  chunk           INTEGER,
  chunk_offset    INTEGER,
  version         INTEGER NOT NULL,
  trace_hash      INTEGER,
  duplicate_key   BLOB,
  span_id         BLOB,
  target_id       TEXT
) STRICT;
INSERT INTO event SELECT rowid, event_before.* FROM event_before ORDER BY rowid;
DROP TABLE event_before;
CREATE UNIQUE INDEX event_key ON event(project_id, day, event_id);
CREATE INDEX event_session ON event(session_rowid);
CREATE INDEX event_start ON event(project_id, start_ms, type);
CREATE INDEX event_session_start ON event(project_id, start_ms) WHERE type = 4;
CREATE INDEX event_user ON event(project_id, user_id, start_ms) WHERE user_id IS NOT NULL;
CREATE INDEX event_run ON event(project_id, run_id) WHERE run_id IS NOT NULL;
CREATE INDEX event_spill ON event(project_id) WHERE (spill & 63) <> 0;
CREATE INDEX event_target ON event(project_id, target_id) WHERE target_id IS NOT NULL;
CREATE INDEX event_error ON event(project_id, start_ms) WHERE nullif(error, '') IS NOT NULL OR (spill & 32) <> 0;

-- How far events are sealed, one row. Segments hold the events up to sealed_seq. Changes of those up to marked_seq are recorded in
-- segment_stale: it is set before the rows of a segment are read, so that no change is missed between the two.
CREATE TABLE segment_progress (
  sealed_seq INTEGER NOT NULL,
  marked_seq INTEGER NOT NULL
) STRICT;
INSERT INTO segment_progress VALUES (0, 0);

-- A segment: the events of a project with seq from first_seq to last_seq, as columns. All of it follows from table event. An id is
-- not used again. header lists the columns; a segment without one has none, and its events are read from their rows.
CREATE TABLE segment (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL,
  first_seq  INTEGER NOT NULL,
  last_seq   INTEGER NOT NULL,
  num_events INTEGER NOT NULL,
  first_ms   REAL NOT NULL,
  last_ms    REAL NOT NULL,
  header     BLOB
) STRICT;
CREATE UNIQUE INDEX segment_order ON segment(project_id, first_seq);

CREATE TABLE segment_column (
  segment_id INTEGER NOT NULL,
  number     INTEGER NOT NULL,
  data       BLOB NOT NULL,
  PRIMARY KEY (segment_id, number)
) STRICT;

-- Events of segments that have changed since, or are gone, by their seq and by their key as it was. changes tells those who read the
-- events again whether there was a change since.
CREATE TABLE segment_stale (
  project_id INTEGER NOT NULL,
  seq        INTEGER NOT NULL,
  day        INTEGER NOT NULL,
  event_id   BLOB NOT NULL,
  gone       INTEGER NOT NULL,
  changes    INTEGER NOT NULL DEFAULT 1,
  PRIMARY KEY (project_id, seq)
) STRICT, WITHOUT ROWID;

-- A change of what an event says raises its version. One of chunk alone says only where the payload stands.
-- +goose StatementBegin
CREATE TRIGGER event_changed AFTER UPDATE OF version, session_rowid ON event
WHEN OLD.seq <= (SELECT marked_seq FROM segment_progress)
BEGIN
  INSERT INTO segment_stale(project_id, seq, day, event_id, gone) VALUES (NEW.project_id, NEW.seq, NEW.day, NEW.event_id, 0)
  ON CONFLICT DO UPDATE SET changes = changes + 1, day = NEW.day;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER event_deleted AFTER DELETE ON event
WHEN OLD.seq <= (SELECT marked_seq FROM segment_progress)
BEGIN
  INSERT INTO segment_stale(project_id, seq, day, event_id, gone) VALUES (OLD.project_id, OLD.seq, OLD.day, OLD.event_id, 1)
  ON CONFLICT DO UPDATE SET changes = changes + 1, gone = 1;
END;
-- +goose StatementEnd

-- The event of a session shows what its events add up to.
-- +goose StatementBegin
CREATE TRIGGER session_changed AFTER UPDATE ON session
BEGIN
  INSERT INTO segment_stale(project_id, seq, day, event_id, gone)
  SELECT e.project_id, e.seq, e.day, e.event_id, 0
  FROM event AS e
  WHERE e.project_id = NEW.project_id AND e.day = NEW.event_day AND e.event_id = NEW.session_id
    AND e.seq <= (SELECT marked_seq FROM segment_progress)
  ON CONFLICT DO UPDATE SET changes = changes + 1;
END;
-- +goose StatementEnd
