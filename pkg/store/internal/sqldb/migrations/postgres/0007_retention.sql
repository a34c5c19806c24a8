-- +goose Up
-- A project's own rule of how long its events are kept, as JSON; empty means the server's default.
ALTER TABLE project ADD COLUMN retention text NOT NULL DEFAULT '';
