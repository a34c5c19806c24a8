-- +goose Up
-- What log records say of the events of spans. A row is what one request said of one span, or
-- one result of an evaluation that names an answer (response_id). event_id is the event that
-- was made of it; NULL: it waits. z is empty where the row only tells that the span's event has
-- another id than the one that follows from its trace and span id (span_id).
CREATE TABLE note (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id  bigint NOT NULL,
  span_id     uuid NOT NULL,
  hash        uuid NOT NULL,
  trace_id    uuid NOT NULL,
  event_id    uuid,
  response_id text COLLATE "C",
  created_ms  bigint NOT NULL,
  z           bytea NOT NULL
);
ALTER TABLE note ALTER COLUMN z SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX note_key ON note(project_id, span_id, hash);
CREATE INDEX note_event ON note(project_id, event_id) WHERE event_id IS NOT NULL;
CREATE INDEX note_waits ON note(created_ms) WHERE event_id IS NULL;
CREATE INDEX note_trace ON note(project_id, trace_id);
CREATE INDEX note_response ON note(project_id, response_id) WHERE response_id IS NOT NULL;
CREATE INDEX note_age ON note(created_ms);
