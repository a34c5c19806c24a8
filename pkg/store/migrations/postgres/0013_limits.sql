-- +goose Up
-- A project's own limits, as JSON; empty: the server's defaults hold.
ALTER TABLE project ADD COLUMN limits text NOT NULL DEFAULT '';
