-- +goose Up
-- Which keys events have: by scope ('' all events, 'runs' those of any run, 'run:' and an id
-- those of one), type and name of event ('' where names are not told apart), with the first and
-- last day on which they had them. Type 0 lists ids of datasets that events name.
CREATE TABLE catalogue (
  project_id bigint NOT NULL,
  scope      text COLLATE "C" NOT NULL,
  type       smallint NOT NULL,
  name       text COLLATE "C" NOT NULL,
  path       text COLLATE "C" NOT NULL,
  first_day  integer NOT NULL,
  last_day   integer NOT NULL,
  PRIMARY KEY (project_id, scope, type, name, path)
);
