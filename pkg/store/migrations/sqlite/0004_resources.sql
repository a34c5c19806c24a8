-- +goose Up
-- Documents: each is one JSON text with what is searched or sorted by beside it.
-- +goose StatementBegin
CREATE TABLE dataset (
  project_id INTEGER NOT NULL,
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  name       TEXT NOT NULL,
  type       TEXT NOT NULL,
  doc        TEXT NOT NULL,
  PRIMARY KEY (project_id, id)
) STRICT, WITHOUT ROWID;
-- +goose StatementEnd
CREATE INDEX dataset_name ON dataset(project_id, name);
-- +goose StatementBegin
CREATE TABLE datapoint (
  project_id INTEGER NOT NULL,
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  doc        TEXT NOT NULL,
  PRIMARY KEY (project_id, id)
) STRICT;
-- +goose StatementEnd
CREATE INDEX datapoint_created ON datapoint(project_id, created_ms, id);
-- The datapoints of a dataset: a row says that datapoint_id in its version rev stood at pos from
-- version from_version of the dataset on, up to but without to_version; NULL: it still does.
-- +goose StatementBegin
CREATE TABLE dataset_row (
  project_id   INTEGER NOT NULL,
  dataset_id   TEXT NOT NULL,
  pos          INTEGER NOT NULL,
  from_version INTEGER NOT NULL,
  to_version   INTEGER,
  datapoint_id TEXT NOT NULL,
  rev          INTEGER NOT NULL,
  PRIMARY KEY (project_id, dataset_id, pos, from_version)
) STRICT, WITHOUT ROWID;
-- +goose StatementEnd
CREATE INDEX dataset_row_now ON dataset_row(project_id, dataset_id, pos) WHERE to_version IS NULL;
CREATE UNIQUE INDEX dataset_row_link ON dataset_row(project_id, dataset_id, datapoint_id) WHERE to_version IS NULL;
CREATE INDEX dataset_row_datapoint ON dataset_row(project_id, datapoint_id, rev);
-- +goose StatementBegin
CREATE TABLE configuration (
  project_id INTEGER NOT NULL,
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  name       TEXT NOT NULL,
  labels     TEXT NOT NULL,
  doc        TEXT NOT NULL,
  PRIMARY KEY (project_id, id)
) STRICT;
-- +goose StatementEnd
CREATE INDEX configuration_name ON configuration(project_id, name);
-- +goose StatementBegin
CREATE TABLE tool (
  project_id INTEGER NOT NULL,
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  doc        TEXT NOT NULL,
  PRIMARY KEY (project_id, id)
) STRICT;
-- +goose StatementEnd
-- Old versions of documents; kind is the document's table. A doc of NULL is that of the next
-- version.
-- +goose StatementBegin
CREATE TABLE revision (
  project_id INTEGER NOT NULL,
  kind       TEXT NOT NULL,
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  doc        TEXT,
  PRIMARY KEY (project_id, kind, id, version)
) STRICT;
-- +goose StatementEnd
-- Documents that are gone for callers, and whose many rows are still being deleted in slices.
-- +goose StatementBegin
CREATE TABLE deletion (
  project_id INTEGER NOT NULL,
  kind       TEXT NOT NULL,
  id         TEXT NOT NULL,
  PRIMARY KEY (project_id, kind, id)
) STRICT, WITHOUT ROWID;
-- +goose StatementEnd
