-- +goose Up
-- Annotation queues. marks is up to which start time each look for new events has come, empty
-- before the first.
CREATE TABLE queue (
  project_id bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  enabled    integer NOT NULL,
  marks      text NOT NULL DEFAULT '',
  doc        json NOT NULL,
  PRIMARY KEY (project_id, id)
);
CREATE INDEX queue_created ON queue(project_id, created_ms, id);
-- The events of a queue, in the order in which they entered. scores is what was written on the
-- event. Whoever changes them or their turns holds the queue.
CREATE TABLE queue_item (
  project_id bigint NOT NULL,
  queue_id   text COLLATE "C" NOT NULL,
  event_id   uuid NOT NULL,
  pos        bigint NOT NULL,
  state      text COLLATE "C" NOT NULL,
  needed     integer NOT NULL,
  slots      integer NOT NULL,
  scores     json,
  added_ms   bigint NOT NULL,
  updated_ms bigint NOT NULL,
  PRIMARY KEY (project_id, queue_id, event_id)
);
CREATE INDEX queue_item_pos ON queue_item(project_id, queue_id, pos);
CREATE INDEX queue_item_state ON queue_item(project_id, queue_id, state, pos);
-- Annotators' turns at items: claimed until expires_ms, skipped, or annotated.
CREATE TABLE queue_turn (
  project_id bigint NOT NULL,
  queue_id   text COLLATE "C" NOT NULL,
  event_id   uuid NOT NULL,
  annotator  text COLLATE "C" NOT NULL,
  state      text COLLATE "C" NOT NULL,
  expires_ms bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  doc        json,
  PRIMARY KEY (project_id, queue_id, event_id, annotator)
);
CREATE INDEX queue_turn_claim ON queue_turn(project_id, queue_id, annotator) WHERE state = 'claimed';
