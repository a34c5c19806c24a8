-- +goose Up
-- What the corrections of a session's tree go by: the trace of a span's event, as 8 bytes of its
-- id; of a model call the hash of the provider's response id and of the instrumentor; and the id
-- by which the children of a span name it, where its event has another one. NULL: none.
ALTER TABLE ev ADD COLUMN trace INTEGER;
ALTER TABLE ev ADD COLUMN twin BLOB;
ALTER TABLE ev ADD COLUMN span BLOB;
-- What gives a trace its session: the smallest rank among the spans that named one. Rows from
-- before keep their session. former is the session that the last change of it took events from.
ALTER TABLE trace ADD COLUMN rank BLOB NOT NULL DEFAULT x'';
ALTER TABLE trace ADD COLUMN former BLOB;
UPDATE trace SET rank = x'02' WHERE provisional;
-- The start of the event whose user a session that nobody started has.
ALTER TABLE session ADD COLUMN user_ms REAL;
