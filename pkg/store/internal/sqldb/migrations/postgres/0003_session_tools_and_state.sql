-- +goose Up
-- A session's tool events, and those of its events of which only the begin is known (flag 256 of spill). Older sessions that have such
-- events are counted here, by one scan of all events.
ALTER TABLE session ADD COLUMN num_tool_events bigint NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN num_unfinished bigint NOT NULL DEFAULT 0;
UPDATE session AS s SET num_tool_events = e.tools, num_unfinished = e.unfinished
FROM (
  SELECT project_id, session_id, count(*) FILTER (WHERE type = 2) AS tools, count(*) FILTER (WHERE (spill & 256) <> 0) AS unfinished
  FROM event
  WHERE type = 2 OR (spill & 256) <> 0
  GROUP BY project_id, session_id) AS e
WHERE s.project_id = e.project_id AND s.session_id = e.session_id;
