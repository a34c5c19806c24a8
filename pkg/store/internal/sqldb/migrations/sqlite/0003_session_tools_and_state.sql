-- +goose Up
-- A session's tool events, and those of its events of which only the begin is known (flag 256 of spill). Older sessions are counted
-- here, each by the index of its events, so that no sum of all is in memory.
ALTER TABLE session ADD COLUMN num_tool_events INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN num_unfinished INTEGER NOT NULL DEFAULT 0;
UPDATE session SET (num_tool_events, num_unfinished) = (
  SELECT coalesce(sum(type = 2), 0), coalesce(sum((spill & 256) <> 0), 0)
  FROM event
  WHERE event.session_rowid = session.session_rowid);
