-- +goose Up
CREATE TABLE setting (
  name  text PRIMARY KEY,
  value text NOT NULL
);
CREATE TABLE project (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  public_id  text NOT NULL UNIQUE,
  name       text NOT NULL UNIQUE,
  created_ms bigint NOT NULL
);
CREATE TABLE api_key (
  id         text PRIMARY KEY,
  project_id bigint NOT NULL REFERENCES project(id),
  name       text NOT NULL,
  prefix     text NOT NULL,
  hash       bytea NOT NULL UNIQUE,
  scope      text NOT NULL,
  created_ms bigint NOT NULL,
  expires_ms bigint NOT NULL,
  revoked_ms bigint NOT NULL
);
-- A session's totals, counted only from rows really inserted. made: 0 the session event is as
-- its sender gave it, 1 nobody started the session and its event follows its events, 2 it was
-- started without an end and only its end follows. name_rank tells where a made session's name
-- came from, touched counts the commits that changed the row.
CREATE TABLE session (
  project_id        bigint NOT NULL,
  session_id        uuid NOT NULL,
  made              smallint NOT NULL,
  name_rank         smallint NOT NULL,
  touched           bigint NOT NULL,
  event_day         integer NOT NULL,
  first_ms          double precision NOT NULL,
  last_ms           double precision NOT NULL,
  n                 bigint NOT NULL,
  n_model           bigint NOT NULL,
  n_error           bigint NOT NULL,
  n_feedback        bigint NOT NULL,
  prompt_tokens     double precision NOT NULL,
  completion_tokens double precision NOT NULL,
  total_tokens      double precision NOT NULL,
  cost              double precision NOT NULL,
  n_cost            bigint NOT NULL,
  run_id            text COLLATE "C",
  root_ms           double precision,
  root_id           uuid,
  root_day          integer,
  last_root_ms      double precision,
  last_root_id      uuid,
  last_root_day     integer,
  PRIMARY KEY (project_id, session_id)
);
CREATE INDEX session_run ON session(project_id, run_id) WHERE run_id IS NOT NULL;
-- One head row an event: all that can be filtered but the payload. NULL in parent_id is the
-- session; NULL in a JSON column is absent. spill tells which fields stand in the payload.
-- Four weeks share a partition, made on demand. The type json, not jsonb, keeps the text as it came.
CREATE TABLE ev (
  project_id      bigint NOT NULL,
  day             integer NOT NULL,
  event_id        uuid NOT NULL,
  session_id      uuid NOT NULL,
  parent_id       uuid,
  type            smallint NOT NULL,
  name            text COLLATE "C" NOT NULL,
  source          text COLLATE "C" NOT NULL,
  error           text COLLATE "C",
  start_ms        double precision NOT NULL,
  end_ms          double precision NOT NULL,
  duration        double precision NOT NULL,
  metadata        json,
  metrics         json,
  feedback        json,
  user_properties json,
  children_ids    json,
  run_id          text COLLATE "C",
  user_id         text COLLATE "C",
  spill           integer NOT NULL,
  chunk           bigint,
  off             integer,
  rev             integer NOT NULL
) PARTITION BY RANGE (day);
CREATE UNIQUE INDEX ev_key ON ev(event_id, project_id, day);
CREATE INDEX ev_session ON ev(session_id, project_id);
CREATE INDEX ev_start ON ev(project_id, start_ms, type);
CREATE INDEX ev_sessions ON ev(project_id, start_ms) WHERE type = 4;
CREATE INDEX ev_user ON ev(project_id, user_id, start_ms) WHERE user_id IS NOT NULL;
CREATE INDEX ev_run ON ev(project_id, run_id) WHERE run_id IS NOT NULL;
CREATE INDEX ev_spill ON ev(project_id) WHERE (spill & 63) <> 0;
-- How many events of a type a project has: their sum is the count of a search that asks for no
-- more. A row a lane, so that lanes do not wait for one another.
CREATE TABLE tally (
  project_id bigint NOT NULL,
  type       smallint NOT NULL,
  lane       smallint NOT NULL,
  n          bigint NOT NULL,
  PRIMARY KEY (project_id, type, lane)
) WITH (fillfactor = 50);
-- Payload of events of one session, one day and one commit, compressed together; already
-- compressed, so PostgreSQL shall not try again.
CREATE SEQUENCE chunk_id INCREMENT BY 1000;
CREATE TABLE chunk (
  day integer NOT NULL,
  id  bigint NOT NULL,
  z   bytea NOT NULL
) PARTITION BY RANGE (day);
ALTER TABLE chunk ALTER COLUMN z SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX chunk_key ON chunk(id, day);
-- Which session a trace belongs to; provisional while no span has told.
CREATE TABLE trace (
  project_id  bigint NOT NULL,
  trace_id    uuid NOT NULL,
  session_id  uuid NOT NULL,
  provisional boolean NOT NULL,
  PRIMARY KEY (project_id, trace_id)
);
CREATE INDEX trace_session ON trace(session_id);
-- Session ids that were given out before their events moved to another session.
CREATE TABLE alias (
  project_id bigint NOT NULL,
  session_id uuid NOT NULL,
  target     uuid NOT NULL,
  PRIMARY KEY (project_id, session_id)
);
-- Updates that came before their event.
CREATE TABLE pending (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id bigint NOT NULL,
  event_id   uuid NOT NULL,
  body       text NOT NULL,
  created_ms bigint NOT NULL
);
CREATE INDEX pending_event ON pending(project_id, event_id);
CREATE INDEX pending_age ON pending(created_ms);
