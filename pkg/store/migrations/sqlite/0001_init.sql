-- +goose Up
-- +goose StatementBegin
CREATE TABLE setting (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TABLE project (
  id         INTEGER PRIMARY KEY,
  public_id  TEXT NOT NULL UNIQUE,
  name       TEXT NOT NULL UNIQUE,
  created_ms INTEGER NOT NULL
) STRICT;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TABLE api_key (
  id         TEXT PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES project(id),
  name       TEXT NOT NULL,
  prefix     TEXT NOT NULL,
  hash       BLOB NOT NULL UNIQUE,
  scope      TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  revoked_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- +goose StatementEnd
-- A session's totals, counted only from rows really inserted. made: 0 the session event is as
-- its sender gave it, 1 nobody started the session and its event follows its events, 2 it was
-- started without an end and only its end follows. name_rank tells where a made session's name
-- came from, touched counts the commits that changed the row.
-- +goose StatementBegin
CREATE TABLE session (
  sid               INTEGER PRIMARY KEY,
  project_id        INTEGER NOT NULL,
  session_id        BLOB NOT NULL,
  made              INTEGER NOT NULL,
  name_rank         INTEGER NOT NULL,
  touched           INTEGER NOT NULL,
  event_day         INTEGER NOT NULL,
  first_ms          REAL NOT NULL,
  last_ms           REAL NOT NULL,
  n                 INTEGER NOT NULL,
  n_model           INTEGER NOT NULL,
  n_error           INTEGER NOT NULL,
  n_feedback        INTEGER NOT NULL,
  prompt_tokens     REAL NOT NULL,
  completion_tokens REAL NOT NULL,
  total_tokens      REAL NOT NULL,
  cost              REAL NOT NULL,
  n_cost            INTEGER NOT NULL,
  run_id            TEXT,
  root_ms           REAL,
  root_id           BLOB,
  root_day          INTEGER,
  last_root_ms      REAL,
  last_root_id      BLOB,
  last_root_day     INTEGER
) STRICT;
-- +goose StatementEnd
CREATE UNIQUE INDEX session_key ON session(project_id, session_id);
CREATE INDEX session_run ON session(project_id, run_id) WHERE run_id IS NOT NULL;
-- One head row an event: all that can be filtered but the payload. NULL in parent_id is the
-- session; NULL in a JSON column is absent. spill tells which fields stand in the payload.
-- +goose StatementBegin
CREATE TABLE ev (
  project_id      INTEGER NOT NULL,
  day             INTEGER NOT NULL,
  event_id        BLOB NOT NULL,
  sid             INTEGER NOT NULL,
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
  off             INTEGER,
  rev             INTEGER NOT NULL
) STRICT;
-- +goose StatementEnd
CREATE UNIQUE INDEX ev_key ON ev(project_id, day, event_id);
CREATE INDEX ev_sid ON ev(sid);
CREATE INDEX ev_start ON ev(project_id, start_ms, type);
CREATE INDEX ev_sessions ON ev(project_id, start_ms) WHERE type = 4;
CREATE INDEX ev_user ON ev(project_id, user_id, start_ms) WHERE user_id IS NOT NULL;
CREATE INDEX ev_run ON ev(project_id, run_id) WHERE run_id IS NOT NULL;
CREATE INDEX ev_spill ON ev(project_id) WHERE (spill & 63) <> 0;
-- How many events of a type a project has: their sum is the count of a search that asks for no
-- more. A row a lane, so that lanes do not wait for one another.
-- +goose StatementBegin
CREATE TABLE tally (
  project_id INTEGER NOT NULL,
  type       INTEGER NOT NULL,
  lane       INTEGER NOT NULL,
  n          INTEGER NOT NULL,
  PRIMARY KEY (project_id, type, lane)
) STRICT, WITHOUT ROWID;
-- +goose StatementEnd
-- Payload of events of one session, one day and one commit, compressed together.
-- +goose StatementBegin
CREATE TABLE chunk (
  id  INTEGER PRIMARY KEY,
  z   BLOB NOT NULL
) STRICT;
-- +goose StatementEnd
-- Which session a trace belongs to; provisional while no span has told.
-- +goose StatementBegin
CREATE TABLE trace (
  project_id  INTEGER NOT NULL,
  trace_id    BLOB NOT NULL,
  session_id  BLOB NOT NULL,
  provisional INTEGER NOT NULL,
  PRIMARY KEY (project_id, trace_id)
) STRICT, WITHOUT ROWID;
-- +goose StatementEnd
CREATE INDEX trace_session ON trace(session_id);
-- Session ids that were given out before their events moved to another session.
-- +goose StatementBegin
CREATE TABLE alias (
  project_id INTEGER NOT NULL,
  session_id BLOB NOT NULL,
  target     BLOB NOT NULL,
  PRIMARY KEY (project_id, session_id)
) STRICT, WITHOUT ROWID;
-- +goose StatementEnd
-- Updates that came before their event.
-- +goose StatementBegin
CREATE TABLE pending (
  id         INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL,
  event_id   BLOB NOT NULL,
  body       TEXT NOT NULL,
  created_ms INTEGER NOT NULL
) STRICT;
-- +goose StatementEnd
CREATE INDEX pending_event ON pending(project_id, event_id);
CREATE INDEX pending_age ON pending(created_ms);
