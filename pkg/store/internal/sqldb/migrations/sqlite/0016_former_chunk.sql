-- +goose Up
-- The first chunk that the payload of an event has left since it was changed, NULL if none. The other events of that chunk keep it, and with
-- it what the event had there, which goes with the event.
ALTER TABLE event ADD COLUMN former_chunk INTEGER;
