-- +goose Up
-- Model providers that projects set up themselves, with their keys sealed; and what calls of all
-- providers cost by UTC day (days since 1970), of those that projects share under project 0.
-- +goose StatementBegin
CREATE TABLE provider (
  project_id INTEGER NOT NULL,
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  doc        TEXT NOT NULL,
  PRIMARY KEY (project_id, id)
) STRICT;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TABLE spending (
  project_id INTEGER NOT NULL,
  provider   TEXT NOT NULL,
  day        INTEGER NOT NULL,
  usd        REAL NOT NULL,
  calls      INTEGER NOT NULL,
  PRIMARY KEY (project_id, provider, day)
) STRICT, WITHOUT ROWID;
-- +goose StatementEnd
