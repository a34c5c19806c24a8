-- +goose Up
-- What the corrections of a session's tree go by: the trace of a span's event, as 8 bytes of its
-- id; of a model call the hash of the provider's response id and of the instrumentor; and the id
-- by which the children of a span name it, where its event has another one. NULL: none.
ALTER TABLE ev ADD COLUMN trace bigint;
ALTER TABLE ev ADD COLUMN twin bytea;
ALTER TABLE ev ADD COLUMN span uuid;
-- What gives a trace its session: the smallest rank among the spans that named one. Rows from
-- before keep their session. former is the session that the last change of it took events from.
ALTER TABLE trace ADD COLUMN rank bytea NOT NULL DEFAULT '';
ALTER TABLE trace ADD COLUMN former uuid;
UPDATE trace SET rank = '\x02' WHERE provisional;
-- The start of the event whose user a session that nobody started has.
ALTER TABLE session ADD COLUMN user_ms double precision;
