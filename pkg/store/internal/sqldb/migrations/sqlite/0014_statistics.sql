-- +goose Up
-- How selective each index of events and sessions is, as in a store of ten million events in a few projects. SQLite chooses indexes by it. Without it, it takes
-- each index for as good as any other, and walks through the events of a project in order of their starts to find those of one session. The
-- figures are the same in all stores, so that a statement has the same plan in each: rows, then rows for each prefix of the index's columns.
ANALYZE setting; -- makes the table
DELETE FROM sqlite_stat1;
INSERT INTO sqlite_stat1(tbl, idx, stat) VALUES
  ('event', 'event_key', '10000000 1000000 30000 1'),
  ('event', 'event_session', '10000000 12'),
  ('event', 'event_start', '10000000 1000000 1 1'),
  ('event', 'event_session_start', '800000 80000 1'),
  ('event', 'event_error', '200000 20000 1'),
  ('event', 'event_user', '10000000 1000000 500 1'),
  ('event', 'event_run', '1000000 100000 200'),
  ('event', 'event_spill', '100000 10000'),
  ('event', 'event_target', '100000 10000 2'),
  ('session', 'session_key', '800000 8000 1'),
  ('session', 'session_run', '100000 1000 100');
ANALYZE sqlite_schema; -- reads it
