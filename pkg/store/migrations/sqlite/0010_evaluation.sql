-- +goose Up
-- Metrics that run over new events.
ALTER TABLE metric ADD COLUMN online INTEGER NOT NULL DEFAULT 0;
UPDATE metric SET online = 1 WHERE json_extract(doc, '$.enabled_in_prod') = 1;
-- Evaluations: what waits, and what came of it. state: 0 waiting, 1 paused, 2 done, 3 failed, 4 dead.
-- due_ms: not before; while one is worked on, when its lease ends. attempts names the claim.
-- +goose StatementBegin
CREATE TABLE evaluation (
  project_id  INTEGER NOT NULL,
  id          TEXT NOT NULL,
  metric_id   TEXT NOT NULL,
  version     INTEGER NOT NULL,
  event_id    BLOB NOT NULL,
  backfill_id TEXT NOT NULL,
  state       INTEGER NOT NULL,
  attempts    INTEGER NOT NULL,
  due_ms      INTEGER NOT NULL,
  created_ms  INTEGER NOT NULL,
  finished_ms INTEGER NOT NULL,
  failure     TEXT NOT NULL,
  passed      INTEGER,
  cost        REAL NOT NULL,
  latency_ms  REAL NOT NULL,
  score       TEXT,
  explanation TEXT NOT NULL,
  PRIMARY KEY (project_id, id)
) STRICT;
-- +goose StatementEnd
CREATE UNIQUE INDEX evaluation_once ON evaluation(project_id, event_id, metric_id, version);
CREATE INDEX evaluation_queue ON evaluation(project_id, metric_id, version, backfill_id, due_ms) WHERE state = 0;
CREATE INDEX evaluation_metric ON evaluation(project_id, metric_id, id);
CREATE INDEX evaluation_bad ON evaluation(project_id, state, id) WHERE state >= 3;
CREATE INDEX evaluation_backfill ON evaluation(project_id, backfill_id, state, id) WHERE backfill_id <> '';
-- Events that were stored or changed: ids of event and session, 32 bytes each. due_ms is when
-- whoever took a row must be done with it.
-- +goose StatementBegin
CREATE TABLE arrival (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  due_ms     INTEGER NOT NULL,
  ids        BLOB NOT NULL
) STRICT;
-- +goose StatementEnd
-- Events to be looked at when they are due: they have not ended, or are sessions that may go on.
-- +goose StatementBegin
CREATE TABLE arrival_later (
  project_id INTEGER NOT NULL,
  event_id   BLOB NOT NULL,
  due_ms     INTEGER NOT NULL,
  PRIMARY KEY (project_id, event_id)
) STRICT;
-- +goose StatementEnd
CREATE INDEX arrival_later_due ON arrival_later(due_ms);
-- Evaluations of past events, asked for together.
-- +goose StatementBegin
CREATE TABLE backfill (
  project_id INTEGER NOT NULL,
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  metric_id  TEXT NOT NULL,
  state      TEXT NOT NULL,
  doc        TEXT NOT NULL,
  PRIMARY KEY (project_id, id)
) STRICT;
-- +goose StatementEnd
CREATE INDEX backfill_running ON backfill(state) WHERE state = 'running';
