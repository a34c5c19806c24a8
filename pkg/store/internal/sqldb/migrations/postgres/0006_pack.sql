-- +goose Up
-- A chunk whose session is at rest moves into a pack, a row of this table of its own, which holds the texts of many chunks
-- compressed together: pack is its id, and data the place in its text.
ALTER TABLE chunk ADD COLUMN pack bigint;

-- The sessions of which chunks wait to be packed, with the time of the last commit that stored one.
CREATE TABLE unpacked (
  session    uuid NOT NULL,
  project_id bigint NOT NULL,
  written_ms bigint NOT NULL,
  PRIMARY KEY (project_id, session)
) WITH (fillfactor = 70);
INSERT INTO unpacked(session, project_id, written_ms) SELECT session_id, project_id, 0 FROM session;
