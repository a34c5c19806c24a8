-- +goose Up
-- Where an event is found by its id: on a day of its project that has a filter in memory, all of
-- which id_day lists, or else in id_far, which tells the day. Neither is more than a hint: the row
-- itself decides.
-- +goose StatementBegin
CREATE TABLE id_day (
  project_id INTEGER NOT NULL,
  day        INTEGER NOT NULL,
  PRIMARY KEY (project_id, day)
) STRICT, WITHOUT ROWID;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TABLE id_far (
  project_id INTEGER NOT NULL,
  event_id   BLOB NOT NULL,
  day        INTEGER NOT NULL,
  PRIMARY KEY (project_id, event_id, day)
) STRICT, WITHOUT ROWID;
-- +goose StatementEnd
INSERT INTO id_day(project_id, day)
  SELECT DISTINCT project_id, day FROM ev WHERE day BETWEEN unixepoch() / 86400 - 31 AND unixepoch() / 86400 + 1;
INSERT INTO id_far(project_id, event_id, day)
  SELECT project_id, event_id, day FROM ev WHERE day NOT BETWEEN unixepoch() / 86400 - 31 AND unixepoch() / 86400 + 1
  ORDER BY project_id, event_id;
