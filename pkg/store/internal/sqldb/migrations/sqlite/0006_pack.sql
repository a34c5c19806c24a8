-- +goose Up
-- A chunk whose session is at rest moves into a pack, a row of this table of its own, which holds the texts of many chunks
-- compressed together: pack is its id, and data the place in its text.
ALTER TABLE chunk ADD COLUMN pack INTEGER;

-- The sessions (session_rowid) of which chunks wait to be packed, with the time of the last commit that stored one.
CREATE TABLE unpacked (
  session    INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL,
  written_ms INTEGER NOT NULL
) STRICT;
INSERT INTO unpacked(session, project_id, written_ms) SELECT session_rowid, project_id, 0 FROM session;
