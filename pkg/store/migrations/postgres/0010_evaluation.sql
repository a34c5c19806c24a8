-- +goose Up
-- Metrics that run over new events.
ALTER TABLE metric ADD COLUMN online smallint NOT NULL DEFAULT 0;
UPDATE metric SET online = 1 WHERE doc::json->>'enabled_in_prod' = 'true';
-- Evaluations: what waits, and what came of it. state: 0 waiting, 1 paused, 2 done, 3 failed, 4 dead.
-- due_ms: not before; while one is worked on, when its lease ends. attempts names the claim.
CREATE TABLE evaluation (
  project_id  bigint NOT NULL,
  id          text COLLATE "C" NOT NULL,
  metric_id   text COLLATE "C" NOT NULL,
  version     bigint NOT NULL,
  event_id    uuid NOT NULL,
  backfill_id text COLLATE "C" NOT NULL,
  state       smallint NOT NULL,
  attempts    bigint NOT NULL,
  due_ms      bigint NOT NULL,
  created_ms  bigint NOT NULL,
  finished_ms bigint NOT NULL,
  failure     text NOT NULL,
  passed      smallint,
  cost        double precision NOT NULL,
  latency_ms  double precision NOT NULL,
  score       text,
  explanation text NOT NULL,
  PRIMARY KEY (project_id, id)
);
CREATE UNIQUE INDEX evaluation_once ON evaluation(project_id, event_id, metric_id, version);
CREATE INDEX evaluation_queue ON evaluation(project_id, metric_id, version, backfill_id, due_ms) WHERE state = 0;
CREATE INDEX evaluation_metric ON evaluation(project_id, metric_id, id);
CREATE INDEX evaluation_bad ON evaluation(project_id, state, id) WHERE state >= 3;
CREATE INDEX evaluation_backfill ON evaluation(project_id, backfill_id, state, id) WHERE backfill_id <> '';
-- Events that were stored or changed: ids of event and session, 32 bytes each. due_ms is when
-- whoever took a row must be done with it.
CREATE TABLE arrival (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id bigint NOT NULL,
  created_ms bigint NOT NULL,
  due_ms     bigint NOT NULL,
  ids        bytea NOT NULL
);
-- Events to be looked at when they are due: they have not ended, or are sessions that may go on.
CREATE TABLE arrival_later (
  project_id bigint NOT NULL,
  event_id   uuid NOT NULL,
  due_ms     bigint NOT NULL,
  PRIMARY KEY (project_id, event_id)
);
CREATE INDEX arrival_later_due ON arrival_later(due_ms);
-- Evaluations of past events, asked for together.
CREATE TABLE backfill (
  project_id bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  metric_id  text COLLATE "C" NOT NULL,
  state      text COLLATE "C" NOT NULL,
  doc        text NOT NULL,
  PRIMARY KEY (project_id, id)
);
CREATE INDEX backfill_running ON backfill(state) WHERE state = 'running';
