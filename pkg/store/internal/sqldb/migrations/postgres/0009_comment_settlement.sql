-- +goose Up

-- What people say of an event. A comment is deleted with its event.
CREATE TABLE event_comment (
  project_id bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  doc        json NOT NULL,
  event_id   uuid NOT NULL,
  PRIMARY KEY (project_id, id)
);
CREATE INDEX event_comment_event ON event_comment(project_id, event_id, created_ms, id);

-- What a person decided where the annotators of an item differ: an object of who, scores, comment and time.
ALTER TABLE queue_item ADD COLUMN settled json;
