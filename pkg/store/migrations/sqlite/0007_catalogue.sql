-- +goose Up
-- Which keys events have: by scope ('' all events, 'runs' those of any run, 'run:' and an id
-- those of one), type and name of event ('' where names are not told apart), with the first and
-- last day on which they had them. Type 0 lists ids of datasets that events name.
-- +goose StatementBegin
CREATE TABLE catalogue (
  project_id INTEGER NOT NULL,
  scope      TEXT NOT NULL,
  type       INTEGER NOT NULL,
  name       TEXT NOT NULL,
  path       TEXT NOT NULL,
  first_day  INTEGER NOT NULL,
  last_day   INTEGER NOT NULL,
  PRIMARY KEY (project_id, scope, type, name, path)
) STRICT, WITHOUT ROWID;
-- +goose StatementEnd
