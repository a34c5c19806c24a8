-- +goose Up
-- The name under which a result's score stands in its event; empty in rows of before, and where there is none.
ALTER TABLE evaluation ADD COLUMN name text NOT NULL DEFAULT '';
-- Which scores of people an event has.
CREATE INDEX queue_item_scored ON queue_item(project_id, event_id) WHERE scores IS NOT NULL;
