-- +goose Up
-- The id of the event that an event of a judge's session is about. NULL: not of a judge.
ALTER TABLE ev ADD COLUMN target_id text;
UPDATE ev SET target_id = metadata ->> 'target_event_id' WHERE source = 'evaluator' AND metadata ->> 'target_event_id' IS NOT NULL;
DROP INDEX ev_judged;
CREATE INDEX ev_target ON ev(project_id, target_id) WHERE target_id IS NOT NULL;
