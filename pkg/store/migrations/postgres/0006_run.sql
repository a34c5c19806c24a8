-- +goose Up
-- Experiment runs. The sessions of a run are those its document lists, and those whose events
-- carry its id.
CREATE TABLE run (
  project_id bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  name       text COLLATE "C" NOT NULL,
  status     text COLLATE "C" NOT NULL,
  dataset_id text COLLATE "C" NOT NULL,
  doc        json NOT NULL,
  PRIMARY KEY (project_id, id)
);
CREATE INDEX run_created ON run(project_id, created_ms, id);
CREATE INDEX run_dataset ON run(project_id, dataset_id, created_ms);
