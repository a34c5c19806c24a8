-- +goose Up

-- What people say of an event. A comment is deleted with its event.
CREATE TABLE event_comment (
  project_id INTEGER NOT NULL,
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  doc        TEXT NOT NULL,
  event_id   BLOB NOT NULL,
  PRIMARY KEY (project_id, id)
) STRICT;
CREATE INDEX event_comment_event ON event_comment(project_id, event_id, created_ms, id);

-- What a person decided where the annotators of an item differ: an object of who, scores, comment and time.
ALTER TABLE queue_item ADD COLUMN settled TEXT;
