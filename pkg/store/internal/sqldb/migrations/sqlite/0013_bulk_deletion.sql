-- +goose Up
-- A deletion of all events or sessions that a search found.
CREATE TABLE bulk_deletion (
  project_id INTEGER NOT NULL,
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  state      TEXT NOT NULL,
  doc        TEXT NOT NULL,
  PRIMARY KEY (project_id, id)
) STRICT;

-- What a deletion has still to delete, a transaction's share in each row, which goes with it.
CREATE TABLE bulk_deletion_part (
  project_id  INTEGER NOT NULL,
  deletion_id TEXT NOT NULL,
  number      INTEGER NOT NULL,
  targets     BLOB NOT NULL,
  PRIMARY KEY (project_id, deletion_id, number)
) STRICT;
