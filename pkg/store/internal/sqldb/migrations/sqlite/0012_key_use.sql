-- +goose Up
-- When a key was last used, in Unix milliseconds, and the address of the connection; 0 and empty: never. Written once a minute.
ALTER TABLE api_key ADD COLUMN last_used_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE api_key ADD COLUMN last_used_from TEXT NOT NULL DEFAULT '';
