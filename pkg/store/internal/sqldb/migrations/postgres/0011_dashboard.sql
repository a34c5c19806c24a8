-- +goose Up
-- A dashboard: places of saved charts on a page.
CREATE TABLE dashboard (
  project_id bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  doc        json NOT NULL,
  PRIMARY KEY (project_id, id)
);
