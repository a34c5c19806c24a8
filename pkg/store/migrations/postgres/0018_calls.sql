-- +goose Up
-- How many events of a session were told as model calls, those included that only repeat another
-- one's call. What has been marked as a duplicate is no longer counted as a model event.
ALTER TABLE session ADD COLUMN n_call bigint NOT NULL DEFAULT 0;
UPDATE session SET n_call = n_model WHERE n_model > 0;
UPDATE session SET n_model = n_model - d.n
	FROM (SELECT project_id, session_id, count(*) AS n FROM ev WHERE (spill & 2048) <> 0 GROUP BY project_id, session_id) AS d
	WHERE d.project_id = session.project_id AND d.session_id = session.session_id;
-- The start of the root event whose error the session event has. NULL: none.
ALTER TABLE session ADD COLUMN error_ms double precision;
