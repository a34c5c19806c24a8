-- +goose Up
-- How many bytes a project has stored: what each lane added, and in lane -1 what the last count of
-- the rows themselves found besides. Their sum is the number.
-- +goose StatementBegin
CREATE TABLE stored (
  project_id INTEGER NOT NULL,
  lane       INTEGER NOT NULL,
  n          INTEGER NOT NULL,
  PRIMARY KEY (project_id, lane)
) STRICT, WITHOUT ROWID;
-- +goose StatementEnd
-- Who did what that an operator may have to account for. Rows are added, and deleted by age only.
-- project is the public id, since entries outlast their project; n is how many times it happened.
-- +goose StatementBegin
CREATE TABLE audit (
  id      INTEGER PRIMARY KEY,
  at_ms   INTEGER NOT NULL,
  project TEXT NOT NULL,
  key_id  TEXT NOT NULL,
  address TEXT NOT NULL,
  action  TEXT NOT NULL,
  target  TEXT NOT NULL,
  outcome TEXT NOT NULL,
  n       INTEGER NOT NULL
) STRICT;
-- +goose StatementEnd
CREATE INDEX audit_at ON audit(at_ms, id);
