-- +goose Up
-- A project that is deleted keeps its row, so that its id is never another's: under a name that
-- no project can have, deleted_ms set, and purged_ms once its data is gone.
ALTER TABLE project ADD COLUMN description TEXT NOT NULL DEFAULT '';
ALTER TABLE project ADD COLUMN type TEXT NOT NULL DEFAULT '';
ALTER TABLE project ADD COLUMN updated_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN deleted_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN purged_ms INTEGER NOT NULL DEFAULT 0;
UPDATE project SET updated_ms = created_ms;
-- Keys made before this could only come from the configuration or the first start.
ALTER TABLE api_key ADD COLUMN description TEXT NOT NULL DEFAULT '';
ALTER TABLE api_key ADD COLUMN origin TEXT NOT NULL DEFAULT 'api';
UPDATE api_key SET origin = name, scope = 'admin' WHERE name IN ('configured', 'generated');
CREATE INDEX api_key_project ON api_key(project_id, created_ms, id);
-- Metrics, with the definition in force, and all definitions they have, had or may be given.
-- +goose StatementBegin
CREATE TABLE metric (
  project_id INTEGER NOT NULL,
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  type       TEXT NOT NULL,
  doc        TEXT NOT NULL,
  PRIMARY KEY (project_id, id)
) STRICT;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TABLE metric_version (
  project_id INTEGER NOT NULL,
  metric_id  TEXT NOT NULL,
  number     INTEGER NOT NULL,
  sha        TEXT NOT NULL,
  message    TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  doc        TEXT NOT NULL,
  PRIMARY KEY (project_id, metric_id, number)
) STRICT;
-- +goose StatementEnd
