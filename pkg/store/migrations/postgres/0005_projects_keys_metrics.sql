-- +goose Up
-- A project that is deleted keeps its row, so that its id is never another's: under a name that
-- no project can have, deleted_ms set, and purged_ms once its data is gone.
ALTER TABLE project ADD COLUMN description text NOT NULL DEFAULT '';
ALTER TABLE project ADD COLUMN type text NOT NULL DEFAULT '';
ALTER TABLE project ADD COLUMN updated_ms bigint NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN deleted_ms bigint NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN purged_ms bigint NOT NULL DEFAULT 0;
UPDATE project SET updated_ms = created_ms;
-- Keys made before this could only come from the configuration or the first start.
ALTER TABLE api_key ADD COLUMN description text NOT NULL DEFAULT '';
ALTER TABLE api_key ADD COLUMN origin text NOT NULL DEFAULT 'api';
UPDATE api_key SET origin = name, scope = 'admin' WHERE name IN ('configured', 'generated');
CREATE INDEX api_key_project ON api_key(project_id, created_ms, id);
-- Metrics, with the definition in force, and all definitions they have, had or may be given.
CREATE TABLE metric (
  project_id bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  type       text NOT NULL,
  doc        text NOT NULL,
  PRIMARY KEY (project_id, id)
);
CREATE TABLE metric_version (
  project_id bigint NOT NULL,
  metric_id  text COLLATE "C" NOT NULL,
  number     bigint NOT NULL,
  sha        text NOT NULL,
  message    text NOT NULL,
  created_ms bigint NOT NULL,
  doc        text NOT NULL,
  PRIMARY KEY (project_id, metric_id, number)
);
