-- +goose Up

-- The order in which events came, which no change of an event alters: seq.
CREATE SEQUENCE event_seq CACHE 1;
ALTER TABLE event ADD COLUMN seq bigint NOT NULL DEFAULT nextval('event_seq');
CREATE INDEX event_seq_range ON event USING brin (seq) WITH (pages_per_range = 32, autosummarize = on);

-- How far events are sealed, one row. Segments hold the events up to sealed_seq. Changes of those up to marked_seq are recorded in
-- segment_stale: it is set before the rows of a segment are read, so that no change is missed between the two.
CREATE TABLE segment_progress (
  sealed_seq bigint NOT NULL,
  marked_seq bigint NOT NULL
);
INSERT INTO segment_progress VALUES (0, 0);

-- A segment: the events of a project with seq from first_seq to last_seq, as columns. All of it follows from table event. An id is
-- not used again. header lists the columns; a segment without one has none, and its events are read from their rows.
CREATE TABLE segment (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id bigint NOT NULL,
  first_seq  bigint NOT NULL,
  last_seq   bigint NOT NULL,
  num_events bigint NOT NULL,
  first_ms   double precision NOT NULL,
  last_ms    double precision NOT NULL,
  header     bytea
);
CREATE UNIQUE INDEX segment_order ON segment(project_id, first_seq);

CREATE TABLE segment_column (
  segment_id bigint NOT NULL,
  number     integer NOT NULL,
  data       bytea NOT NULL,
  PRIMARY KEY (segment_id, number)
);
ALTER TABLE segment_column ALTER COLUMN data SET STORAGE EXTERNAL;

-- Events of segments that have changed since, or are gone, by their seq and by their key as it was. changes tells those who read the
-- events again whether there was a change since.
CREATE TABLE segment_stale (
  project_id bigint NOT NULL,
  seq        bigint NOT NULL,
  day        integer NOT NULL,
  event_id   uuid NOT NULL,
  gone       boolean NOT NULL,
  changes    bigint NOT NULL DEFAULT 1,
  PRIMARY KEY (project_id, seq)
);

-- One call a statement, whatever it changes: its rows are seen together. A change of what an event says raises its version; one of chunk
-- alone says only where the payload stands. The rows are taken in one order by all writers.
-- +goose StatementBegin
CREATE FUNCTION event_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO segment_stale AS s (project_id, seq, day, event_id, gone)
  SELECT n.project_id, n.seq, n.day, n.event_id, false
  FROM before AS b
  JOIN segment_progress AS p ON b.seq <= p.marked_seq
  JOIN after AS n ON n.seq = b.seq
  WHERE n.version <> b.version OR n.session_id <> b.session_id
  ORDER BY n.project_id, n.seq
  ON CONFLICT (project_id, seq) DO UPDATE SET changes = s.changes + 1, day = excluded.day;
  RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION event_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO segment_stale AS s (project_id, seq, day, event_id, gone)
  SELECT b.project_id, b.seq, b.day, b.event_id, true
  FROM before AS b
  JOIN segment_progress AS p ON b.seq <= p.marked_seq
  ORDER BY b.project_id, b.seq
  ON CONFLICT (project_id, seq) DO UPDATE SET changes = s.changes + 1, gone = true;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER event_changed AFTER UPDATE ON event
  REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION event_changed();
CREATE TRIGGER event_deleted AFTER DELETE ON event
  REFERENCING OLD TABLE AS before FOR EACH STATEMENT EXECUTE FUNCTION event_deleted();

-- The event of a session shows what its events add up to.
-- +goose StatementBegin
CREATE FUNCTION session_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO segment_stale AS s (project_id, seq, day, event_id, gone)
  SELECT e.project_id, e.seq, e.day, e.event_id, false
  FROM changed AS c
  CROSS JOIN segment_progress AS p
  JOIN event AS e ON e.event_id = c.session_id AND e.project_id = c.project_id AND e.day = c.event_day AND e.seq <= p.marked_seq
  ORDER BY e.project_id, e.seq
  ON CONFLICT (project_id, seq) DO UPDATE SET changes = s.changes + 1;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER session_changed AFTER UPDATE ON session
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION session_changed();
