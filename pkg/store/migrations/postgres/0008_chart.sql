-- +goose Up
-- Saved charts: which chart of events somebody wants to see again.
CREATE TABLE chart (
  project_id bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  doc        json NOT NULL,
  PRIMARY KEY (project_id, id)
);
