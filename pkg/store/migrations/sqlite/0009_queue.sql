-- +goose Up
-- Annotation queues. marks is up to which start time each look for new events has come, empty
-- before the first.
-- +goose StatementBegin
CREATE TABLE queue (
  project_id INTEGER NOT NULL,
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  enabled    INTEGER NOT NULL,
  marks      TEXT NOT NULL DEFAULT '',
  doc        TEXT NOT NULL,
  PRIMARY KEY (project_id, id)
) STRICT;
-- +goose StatementEnd
CREATE INDEX queue_created ON queue(project_id, created_ms, id);
-- The events of a queue, in the order in which they entered. scores is what was written on the
-- event. Whoever changes them or their turns holds the queue.
-- +goose StatementBegin
CREATE TABLE queue_item (
  project_id INTEGER NOT NULL,
  queue_id   TEXT NOT NULL,
  event_id   BLOB NOT NULL,
  pos        INTEGER NOT NULL,
  state      TEXT NOT NULL,
  needed     INTEGER NOT NULL,
  slots      INTEGER NOT NULL,
  scores     TEXT,
  added_ms   INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  PRIMARY KEY (project_id, queue_id, event_id)
) STRICT, WITHOUT ROWID;
-- +goose StatementEnd
CREATE INDEX queue_item_pos ON queue_item(project_id, queue_id, pos);
CREATE INDEX queue_item_state ON queue_item(project_id, queue_id, state, pos);
-- Annotators' turns at items: claimed until expires_ms, skipped, or annotated.
-- +goose StatementBegin
CREATE TABLE queue_turn (
  project_id INTEGER NOT NULL,
  queue_id   TEXT NOT NULL,
  event_id   BLOB NOT NULL,
  annotator  TEXT NOT NULL,
  state      TEXT NOT NULL,
  expires_ms INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  doc        TEXT,
  PRIMARY KEY (project_id, queue_id, event_id, annotator)
) STRICT, WITHOUT ROWID;
-- +goose StatementEnd
CREATE INDEX queue_turn_claim ON queue_turn(project_id, queue_id, annotator) WHERE state = 'claimed';
