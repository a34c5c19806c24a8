-- +goose Up
-- How many events of a session were told as model calls, those included that only repeat another
-- one's call. What has been marked as a duplicate is no longer counted as a model event.
ALTER TABLE session ADD COLUMN n_call INTEGER NOT NULL DEFAULT 0;
UPDATE session SET n_call = n_model WHERE n_model > 0;
UPDATE session SET n_model = n_model - d.n
	FROM (SELECT sid, count(*) AS n FROM ev WHERE (spill & 2048) <> 0 GROUP BY sid) AS d
	WHERE d.sid = session.sid;
-- The start of the root event whose error the session event has. NULL: none.
ALTER TABLE session ADD COLUMN error_ms REAL;
