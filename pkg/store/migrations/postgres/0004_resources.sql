-- +goose Up
-- Documents: each is one JSON text with what is searched or sorted by beside it.
CREATE TABLE dataset (
  project_id bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  name       text COLLATE "C" NOT NULL,
  type       text COLLATE "C" NOT NULL,
  doc        json NOT NULL,
  PRIMARY KEY (project_id, id)
);
CREATE INDEX dataset_name ON dataset(project_id, name);
CREATE TABLE datapoint (
  project_id bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  doc        json NOT NULL,
  PRIMARY KEY (project_id, id)
);
CREATE INDEX datapoint_created ON datapoint(project_id, created_ms, id);
-- The datapoints of a dataset: a row says that datapoint_id in its version rev stood at pos from
-- version from_version of the dataset on, up to but without to_version; NULL: it still does.
CREATE TABLE dataset_row (
  project_id   bigint NOT NULL,
  dataset_id   text COLLATE "C" NOT NULL,
  pos          bigint NOT NULL,
  from_version bigint NOT NULL,
  to_version   bigint,
  datapoint_id text COLLATE "C" NOT NULL,
  rev          bigint NOT NULL,
  PRIMARY KEY (project_id, dataset_id, pos, from_version)
);
CREATE INDEX dataset_row_now ON dataset_row(project_id, dataset_id, pos) WHERE to_version IS NULL;
CREATE UNIQUE INDEX dataset_row_link ON dataset_row(project_id, dataset_id, datapoint_id) WHERE to_version IS NULL;
CREATE INDEX dataset_row_datapoint ON dataset_row(project_id, datapoint_id, rev);
CREATE TABLE configuration (
  project_id bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  name       text COLLATE "C" NOT NULL,
  labels     text COLLATE "C" NOT NULL,
  doc        json NOT NULL,
  PRIMARY KEY (project_id, id)
);
CREATE INDEX configuration_name ON configuration(project_id, name);
CREATE TABLE tool (
  project_id bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  doc        json NOT NULL,
  PRIMARY KEY (project_id, id)
);
-- Old versions of documents; kind is the document's table. A doc of NULL is that of the next
-- version.
CREATE TABLE revision (
  project_id bigint NOT NULL,
  kind       text COLLATE "C" NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  doc        json,
  PRIMARY KEY (project_id, kind, id, version)
);
-- Documents that are gone for callers, and whose many rows are still being deleted in slices.
CREATE TABLE deletion (
  project_id bigint NOT NULL,
  kind       text COLLATE "C" NOT NULL,
  id         text COLLATE "C" NOT NULL,
  PRIMARY KEY (project_id, kind, id)
);
