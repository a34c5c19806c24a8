-- +goose Up
-- An alert on a figure of a project's events. It is due at due_ms (0: never), and whoever evaluates it has it until lease_ms; status is
-- where it stands. A change of its definition is a version, one of its status is not.
CREATE TABLE alert (
  project_id INTEGER NOT NULL,
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  doc        TEXT NOT NULL,
  due_ms     INTEGER NOT NULL,
  lease_ms   INTEGER NOT NULL DEFAULT 0,
  status     TEXT NOT NULL DEFAULT '{}',
  PRIMARY KEY (project_id, id)
) STRICT;
CREATE INDEX alert_due ON alert(due_ms) WHERE due_ms > 0;

-- The changes of an alert's state.
CREATE TABLE alert_change (
  project_id INTEGER NOT NULL,
  alert_id   TEXT NOT NULL,
  id         TEXT NOT NULL,
  at_ms      INTEGER NOT NULL,
  record     TEXT NOT NULL,
  PRIMARY KEY (project_id, alert_id, id)
) STRICT;

-- What the receivers of alerts are told: state 0 waits to be sent at due_ms, 1 was taken, 2 was given up.
CREATE TABLE alert_notice (
  project_id INTEGER NOT NULL,
  alert_id   TEXT NOT NULL,
  id         TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  state      INTEGER NOT NULL,
  attempts   INTEGER NOT NULL,
  due_ms     INTEGER NOT NULL,
  record     TEXT NOT NULL,
  PRIMARY KEY (project_id, alert_id, id)
) STRICT;
CREATE INDEX alert_notice_due ON alert_notice(due_ms) WHERE state = 0;
