-- +goose Up
-- An alert on a figure of a project's events. It is due at due_ms (0: never), and whoever evaluates it has it until lease_ms; status is
-- where it stands. A change of its definition is a version, one of its status is not.
CREATE TABLE alert (
  project_id bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  doc        json NOT NULL,
  due_ms     bigint NOT NULL,
  lease_ms   bigint NOT NULL DEFAULT 0,
  status     text NOT NULL DEFAULT '{}',
  PRIMARY KEY (project_id, id)
) WITH (fillfactor = 70);
CREATE INDEX alert_due ON alert(due_ms) WHERE due_ms > 0;

-- The changes of an alert's state.
CREATE TABLE alert_change (
  project_id bigint NOT NULL,
  alert_id   text COLLATE "C" NOT NULL,
  id         text COLLATE "C" NOT NULL,
  at_ms      bigint NOT NULL,
  record     text NOT NULL,
  PRIMARY KEY (project_id, alert_id, id)
);

-- What the receivers of alerts are told: state 0 waits to be sent at due_ms, 1 was taken, 2 was given up.
CREATE TABLE alert_notice (
  project_id bigint NOT NULL,
  alert_id   text COLLATE "C" NOT NULL,
  id         text COLLATE "C" NOT NULL,
  created_ms bigint NOT NULL,
  state      integer NOT NULL,
  attempts   integer NOT NULL,
  due_ms     bigint NOT NULL,
  record     text NOT NULL,
  PRIMARY KEY (project_id, alert_id, id)
);
CREATE INDEX alert_notice_due ON alert_notice(due_ms) WHERE state = 0;
