-- +goose Up
-- A deletion of all events or sessions that a search found.
CREATE TABLE bulk_deletion (
  project_id bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  state      text NOT NULL,
  doc        json NOT NULL,
  PRIMARY KEY (project_id, id)
);

-- What a deletion has still to delete, a transaction's share in each row, which goes with it.
CREATE TABLE bulk_deletion_part (
  project_id  bigint NOT NULL,
  deletion_id text COLLATE "C" NOT NULL,
  number      bigint NOT NULL,
  targets     bytea NOT NULL,
  PRIMARY KEY (project_id, deletion_id, number)
);
