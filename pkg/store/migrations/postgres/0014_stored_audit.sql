-- +goose Up
-- How many bytes a project has stored: what each lane added, and in lane -1 what the last count of
-- the rows themselves found besides. Their sum is the number.
CREATE TABLE stored (
  project_id bigint NOT NULL,
  lane       smallint NOT NULL,
  n          bigint NOT NULL,
  PRIMARY KEY (project_id, lane)
) WITH (fillfactor = 50);
-- Who did what that an operator may have to account for. Rows are added, and deleted by age only.
-- project is the public id, since entries outlast their project; n is how many times it happened.
CREATE TABLE audit (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at_ms   bigint NOT NULL,
  project text COLLATE "C" NOT NULL,
  key_id  text COLLATE "C" NOT NULL,
  address text COLLATE "C" NOT NULL,
  action  text COLLATE "C" NOT NULL,
  target  text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  n       bigint NOT NULL
);
CREATE INDEX audit_at ON audit(at_ms, id);
