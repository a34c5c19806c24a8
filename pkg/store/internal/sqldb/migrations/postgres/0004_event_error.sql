-- +goose Up
-- Few events have failed, and they are asked for most. The condition is that of the filter "error exists", word for word, or the
-- index would not be used; an error too large for the row is in the payload (spill 32).
CREATE INDEX event_error ON event(project_id, start_ms) WHERE nullif(error, '') IS NOT NULL OR (spill & 32) <> 0;
