-- +goose Up
-- Experiment runs. The sessions of a run are those its document lists, and those whose events
-- carry its id.
-- +goose StatementBegin
CREATE TABLE run (
  project_id INTEGER NOT NULL,
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  name       TEXT NOT NULL,
  status     TEXT NOT NULL,
  dataset_id TEXT NOT NULL,
  doc        TEXT NOT NULL,
  PRIMARY KEY (project_id, id)
) STRICT;
-- +goose StatementEnd
CREATE INDEX run_created ON run(project_id, created_ms, id);
CREATE INDEX run_dataset ON run(project_id, dataset_id, created_ms);
