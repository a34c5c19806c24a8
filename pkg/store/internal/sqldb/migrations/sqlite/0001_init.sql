-- +goose Up

-- What the store remembers of itself, such as that deleted text is still to be erased.
CREATE TABLE setting (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- A project. limits is JSON; empty means the server's defaults. A deleted project keeps its row, so
-- that its id is never reused: it has a name that no project can have, deleted_ms set, and
-- purged_ms set once its data is gone.
CREATE TABLE project (
  id          INTEGER PRIMARY KEY,
  public_id   TEXT NOT NULL UNIQUE,
  name        TEXT NOT NULL UNIQUE,
  created_ms  INTEGER NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  type        TEXT NOT NULL DEFAULT '',
  updated_ms  INTEGER NOT NULL DEFAULT 0,
  deleted_ms  INTEGER NOT NULL DEFAULT 0,
  purged_ms   INTEGER NOT NULL DEFAULT 0,
  limits      TEXT NOT NULL DEFAULT ''
) STRICT;

-- A key of the API. hash is that of its secret, prefix the part of the secret that lists show.
-- origin is api, configured or generated. expires_ms and revoked_ms are 0 if unset.
CREATE TABLE api_key (
  id          TEXT PRIMARY KEY,
  project_id  INTEGER NOT NULL REFERENCES project(id),
  name        TEXT NOT NULL,
  prefix      TEXT NOT NULL,
  hash        BLOB NOT NULL UNIQUE,
  scope       TEXT NOT NULL,
  created_ms  INTEGER NOT NULL,
  expires_ms  INTEGER NOT NULL,
  revoked_ms  INTEGER NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  origin      TEXT NOT NULL DEFAULT 'api'
) STRICT, WITHOUT ROWID;
CREATE INDEX api_key_project ON api_key(project_id, created_ms, id);

-- A session with its totals, counted from rows that were really inserted. implicit: 0 the session
-- event is as its sender sent it, 1 no request started the session and its event follows the events
-- below it, 2 it was started without an end and only its end follows them. name_rank says where the
-- name of an implicit session came from; version counts the commits that changed the row.
-- num_feedback and num_costs are events with feedback and with a cost; num_model_events leaves out
-- duplicates, num_calls counts model calls as they were reported. The root columns are the earliest
-- and the last root event. user_ms and error_ms are the starts of the events whose user and whose
-- error an implicit session has.
CREATE TABLE session (
  session_rowid     INTEGER PRIMARY KEY,
  project_id        INTEGER NOT NULL,
  session_id        BLOB NOT NULL,
  implicit          INTEGER NOT NULL,
  name_rank         INTEGER NOT NULL,
  version           INTEGER NOT NULL,
  event_day         INTEGER NOT NULL,
  first_ms          REAL NOT NULL,
  last_ms           REAL NOT NULL,
  num_events        INTEGER NOT NULL,
  num_model_events  INTEGER NOT NULL,
  num_errors        INTEGER NOT NULL,
  num_feedback      INTEGER NOT NULL,
  prompt_tokens     REAL NOT NULL,
  completion_tokens REAL NOT NULL,
  total_tokens      REAL NOT NULL,
  cost              REAL NOT NULL,
  num_costs         INTEGER NOT NULL,
  run_id            TEXT,
  root_ms           REAL,
  root_id           BLOB,
  root_day          INTEGER,
  last_root_ms      REAL,
  last_root_id      BLOB,
  last_root_day     INTEGER,
  user_ms           REAL,
  num_calls         INTEGER NOT NULL DEFAULT 0,
  error_ms          REAL
) STRICT;
CREATE UNIQUE INDEX session_key ON session(project_id, session_id);
CREATE INDEX session_run ON session(project_id, run_id) WHERE run_id IS NOT NULL;

-- The head row of an event: all that filters may name except the payload. parent_id NULL is the
-- session; a JSON column NULL is absent. spill has bits that say which fields are in the payload,
-- and flags. chunk and chunk_offset say where the payload is. version counts changes. trace_hash is
-- 8 bytes of the id of a span's trace. duplicate_key is the same for all events that report one
-- model call: a hash of the provider's response id and the instrumentor, or of what identifies a
-- failed call. span_id is the id by which the children of a span name it, where its event has
-- another one. target_id is the event that an event of an evaluator's session is about. It has a
-- column of its own since an index over a part of metadata makes SQLite keep a statement journal
-- for each insertion.
CREATE TABLE event (
  project_id      INTEGER NOT NULL,
  day             INTEGER NOT NULL,
  event_id        BLOB NOT NULL,
  session_rowid   INTEGER NOT NULL,
  parent_id       BLOB,
  type            INTEGER NOT NULL,
  name            TEXT NOT NULL,
  source          TEXT NOT NULL,
  error           TEXT,
  start_ms        REAL NOT NULL,
  end_ms          REAL NOT NULL,
  duration        REAL NOT NULL,
  metadata        TEXT,
  metrics         TEXT,
  feedback        TEXT,
  user_properties TEXT,
  children_ids    TEXT,
  run_id          TEXT,
  user_id         TEXT,
  spill           INTEGER NOT NULL,
  chunk           INTEGER,
  chunk_offset    INTEGER,
  version         INTEGER NOT NULL,
  trace_hash      INTEGER,
  duplicate_key   BLOB,
  span_id         BLOB,
  target_id       TEXT
) STRICT;
CREATE UNIQUE INDEX event_key ON event(project_id, day, event_id);
CREATE INDEX event_session ON event(session_rowid);
CREATE INDEX event_start ON event(project_id, start_ms, type);
CREATE INDEX event_session_start ON event(project_id, start_ms) WHERE type = 4;
CREATE INDEX event_user ON event(project_id, user_id, start_ms) WHERE user_id IS NOT NULL;
CREATE INDEX event_run ON event(project_id, run_id) WHERE run_id IS NOT NULL;
CREATE INDEX event_spill ON event(project_id) WHERE (spill & 63) <> 0;
CREATE INDEX event_target ON event(project_id, target_id) WHERE target_id IS NOT NULL;

-- The number of events of a type in a project, as each writer counted them, so that writers do not
-- wait for one another. The sum is the answer to a search that only counts.
CREATE TABLE event_count (
  project_id INTEGER NOT NULL,
  type       INTEGER NOT NULL,
  writer     INTEGER NOT NULL,
  count      INTEGER NOT NULL,
  PRIMARY KEY (project_id, type, writer)
) STRICT, WITHOUT ROWID;

-- Bytes that a project has stored, as each writer added them; writer -1 has the difference that the
-- last count of the rows themselves found. The sum is the number.
CREATE TABLE stored_bytes (
  project_id INTEGER NOT NULL,
  writer     INTEGER NOT NULL,
  bytes      INTEGER NOT NULL,
  PRIMARY KEY (project_id, writer)
) STRICT, WITHOUT ROWID;

-- Payloads of events of one session, one day and one commit, compressed together.
CREATE TABLE chunk (
  id   INTEGER PRIMARY KEY,
  data BLOB NOT NULL
) STRICT;

-- Where an event is found by its id: on a day of its project for which a filter is in memory, all
-- of which are listed here, or else in far_event, which has the day. Both are hints: the row itself
-- decides.
CREATE TABLE id_filter_day (
  project_id INTEGER NOT NULL,
  day        INTEGER NOT NULL,
  PRIMARY KEY (project_id, day)
) STRICT, WITHOUT ROWID;
CREATE TABLE far_event (
  project_id INTEGER NOT NULL,
  event_id   BLOB NOT NULL,
  day        INTEGER NOT NULL,
  PRIMARY KEY (project_id, event_id, day)
) STRICT, WITHOUT ROWID;

-- The session that a trace belongs to; provisional until a span names one. Of several sessions
-- named by its spans, the one with the smallest rank counts. former_session_id is the one from
-- which the last change took events.
CREATE TABLE trace (
  project_id        INTEGER NOT NULL,
  trace_id          BLOB NOT NULL,
  session_id        BLOB NOT NULL,
  provisional       INTEGER NOT NULL,
  rank              BLOB NOT NULL DEFAULT x'',
  former_session_id BLOB,
  PRIMARY KEY (project_id, trace_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX trace_session ON trace(session_id);

-- An id under which a session was known before its events moved to another session, target.
CREATE TABLE alias (
  project_id INTEGER NOT NULL,
  session_id BLOB NOT NULL,
  target     BLOB NOT NULL,
  PRIMARY KEY (project_id, session_id)
) STRICT, WITHOUT ROWID;

-- An update that came before its event.
CREATE TABLE pending (
  id         INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL,
  event_id   BLOB NOT NULL,
  body       TEXT NOT NULL,
  created_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX pending_event ON pending(project_id, event_id);
CREATE INDEX pending_age ON pending(created_ms);

-- What one request with log records added to the event of one span, or one result of an evaluation
-- that names a provider's response (response_id). span_id is the event's id as it follows from the
-- trace and the span, event_id the event that was made of the span; NULL: it is waited for. data is
-- empty in a row that only says that the event has another id than span_id. hash keeps a repeated
-- request from being stored twice.
CREATE TABLE log_part (
  id          INTEGER PRIMARY KEY,
  project_id  INTEGER NOT NULL,
  span_id     BLOB NOT NULL,
  hash        BLOB NOT NULL,
  trace_id    BLOB NOT NULL,
  event_id    BLOB,
  response_id TEXT,
  created_ms  INTEGER NOT NULL,
  data        BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX log_part_key ON log_part(project_id, span_id, hash);
CREATE INDEX log_part_event ON log_part(project_id, event_id) WHERE event_id IS NOT NULL;
CREATE INDEX log_part_waiting ON log_part(created_ms) WHERE event_id IS NULL;
CREATE INDEX log_part_trace ON log_part(project_id, trace_id);
CREATE INDEX log_part_response ON log_part(project_id, response_id) WHERE response_id IS NOT NULL;
CREATE INDEX log_part_age ON log_part(created_ms);

-- A field that events have, by scope ('' all events, 'runs' those of any run, 'run:' and an id
-- those of one), type and name of the event ('' where names are not distinguished), with the first
-- and last day on which it occurred. Type 0 lists ids of datasets that events name.
CREATE TABLE field_index (
  project_id INTEGER NOT NULL,
  scope      TEXT NOT NULL,
  type       INTEGER NOT NULL,
  name       TEXT NOT NULL,
  path       TEXT NOT NULL,
  first_day  INTEGER NOT NULL,
  last_day   INTEGER NOT NULL,
  PRIMARY KEY (project_id, scope, type, name, path)
) STRICT, WITHOUT ROWID;

-- Resources. Each is one JSON document, next to which are the columns that it is searched or sorted
-- by.

CREATE TABLE dataset (
  project_id INTEGER NOT NULL,
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  name       TEXT NOT NULL,
  type       TEXT NOT NULL,
  doc        TEXT NOT NULL,
  PRIMARY KEY (project_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX dataset_name ON dataset(project_id, name);
CREATE TABLE datapoint (
  project_id INTEGER NOT NULL,
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  doc        TEXT NOT NULL,
  PRIMARY KEY (project_id, id)
) STRICT;
CREATE INDEX datapoint_created ON datapoint(project_id, created_ms, id);
CREATE INDEX datapoint_event ON datapoint(project_id, lower(doc ->> 'linked_event')) WHERE doc ->> 'linked_event' IS NOT NULL;

-- A datapoint of a dataset: from version from_version of the dataset up to but without to_version
-- (NULL: it still does), datapoint_version of the datapoint stands at pos.
CREATE TABLE dataset_row (
  project_id        INTEGER NOT NULL,
  dataset_id        TEXT NOT NULL,
  pos               INTEGER NOT NULL,
  from_version      INTEGER NOT NULL,
  to_version        INTEGER,
  datapoint_id      TEXT NOT NULL,
  datapoint_version INTEGER NOT NULL,
  PRIMARY KEY (project_id, dataset_id, pos, from_version)
) STRICT, WITHOUT ROWID;
CREATE INDEX dataset_row_now ON dataset_row(project_id, dataset_id, pos) WHERE to_version IS NULL;
CREATE UNIQUE INDEX dataset_row_link ON dataset_row(project_id, dataset_id, datapoint_id) WHERE to_version IS NULL;
CREATE INDEX dataset_row_datapoint ON dataset_row(project_id, datapoint_id, datapoint_version);

CREATE TABLE configuration (
  project_id INTEGER NOT NULL,
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  name       TEXT NOT NULL,
  labels     TEXT NOT NULL,
  doc        TEXT NOT NULL,
  PRIMARY KEY (project_id, id)
) STRICT;
CREATE INDEX configuration_name ON configuration(project_id, name);

CREATE TABLE tool (
  project_id INTEGER NOT NULL,
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  doc        TEXT NOT NULL,
  PRIMARY KEY (project_id, id)
) STRICT;

-- A metric with its current definition. online says that it runs over new events.
CREATE TABLE metric (
  project_id INTEGER NOT NULL,
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  type       TEXT NOT NULL,
  doc        TEXT NOT NULL,
  online     INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (project_id, id)
) STRICT;

-- A definition that a metric has, had or may be given.
CREATE TABLE metric_version (
  project_id INTEGER NOT NULL,
  metric_id  TEXT NOT NULL,
  number     INTEGER NOT NULL,
  sha        TEXT NOT NULL,
  message    TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  doc        TEXT NOT NULL,
  PRIMARY KEY (project_id, metric_id, number)
) STRICT;

-- An experiment run. Its sessions are those that its document lists and those whose events carry
-- its id.
CREATE TABLE run (
  project_id INTEGER NOT NULL,
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  name       TEXT NOT NULL,
  status     TEXT NOT NULL,
  dataset_id TEXT NOT NULL,
  doc        TEXT NOT NULL,
  PRIMARY KEY (project_id, id)
) STRICT;
CREATE INDEX run_created ON run(project_id, created_ms, id);
CREATE INDEX run_dataset ON run(project_id, dataset_id, created_ms);

-- A saved chart of events.
CREATE TABLE chart (
  project_id INTEGER NOT NULL,
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  doc        TEXT NOT NULL,
  PRIMARY KEY (project_id, id)
) STRICT;

-- A model provider that a project set up itself. Its key is sealed.
CREATE TABLE provider (
  project_id INTEGER NOT NULL,
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  doc        TEXT NOT NULL,
  PRIMARY KEY (project_id, id)
) STRICT;

-- What calls of a provider cost on a UTC day (days since 1970). Project 0 has the providers that
-- projects share.
CREATE TABLE spending (
  project_id INTEGER NOT NULL,
  provider   TEXT NOT NULL,
  day        INTEGER NOT NULL,
  usd        REAL NOT NULL,
  calls      INTEGER NOT NULL,
  PRIMARY KEY (project_id, provider, day)
) STRICT, WITHOUT ROWID;

-- An old version of a document; kind is the document's table. doc NULL is that of the next version.
CREATE TABLE document_version (
  project_id INTEGER NOT NULL,
  kind       TEXT NOT NULL,
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  doc        TEXT,
  PRIMARY KEY (project_id, kind, id, version)
) STRICT;

-- A document that is gone for callers while its many rows are still being deleted in slices; or, by
-- kind, other work of that sort that goes on in the background.
CREATE TABLE deletion (
  project_id INTEGER NOT NULL,
  kind       TEXT NOT NULL,
  id         TEXT NOT NULL,
  PRIMARY KEY (project_id, kind, id)
) STRICT, WITHOUT ROWID;

-- An annotation queue. cursors says up to which start time each search for new events has come; it
-- is empty before the first.
CREATE TABLE queue (
  project_id INTEGER NOT NULL,
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  enabled    INTEGER NOT NULL,
  cursors    TEXT NOT NULL DEFAULT '',
  doc        TEXT NOT NULL,
  PRIMARY KEY (project_id, id)
) STRICT;
CREATE INDEX queue_created ON queue(project_id, created_ms, id);

-- An event in a queue; pos is the order in which events entered. needed is how many annotations it
-- needs, slots how many annotators may have a turn. scores is what was written on the event.
-- Whoever changes items or their turns holds a lock on the queue.
CREATE TABLE queue_item (
  project_id INTEGER NOT NULL,
  queue_id   TEXT NOT NULL,
  event_id   BLOB NOT NULL,
  pos        INTEGER NOT NULL,
  state      TEXT NOT NULL,
  needed     INTEGER NOT NULL,
  slots      INTEGER NOT NULL,
  scores     TEXT,
  added_ms   INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  PRIMARY KEY (project_id, queue_id, event_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX queue_item_pos ON queue_item(project_id, queue_id, pos);
CREATE INDEX queue_item_state ON queue_item(project_id, queue_id, state, pos);
CREATE INDEX queue_item_scored ON queue_item(project_id, event_id) WHERE scores IS NOT NULL;

-- An annotator's turn at an item: claimed until expires_ms, skipped, or annotated.
CREATE TABLE queue_turn (
  project_id INTEGER NOT NULL,
  queue_id   TEXT NOT NULL,
  event_id   BLOB NOT NULL,
  annotator  TEXT NOT NULL,
  state      TEXT NOT NULL,
  expires_ms INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  doc        TEXT,
  PRIMARY KEY (project_id, queue_id, event_id, annotator)
) STRICT, WITHOUT ROWID;
CREATE INDEX queue_turn_claim ON queue_turn(project_id, queue_id, annotator) WHERE state = 'claimed';

-- An evaluation of an event by a version of a metric, waiting or with its result. state: 0 waiting,
-- 1 paused, 2 done, 3 failed, 4 dead. due_ms is when it may start or, while it is being worked on,
-- when its lease ends. attempts identifies the claim. name is that under which the score stands in
-- the event; it may be empty.
CREATE TABLE evaluation (
  project_id  INTEGER NOT NULL,
  id          TEXT NOT NULL,
  metric_id   TEXT NOT NULL,
  version     INTEGER NOT NULL,
  event_id    BLOB NOT NULL,
  backfill_id TEXT NOT NULL,
  state       INTEGER NOT NULL,
  attempts    INTEGER NOT NULL,
  due_ms      INTEGER NOT NULL,
  created_ms  INTEGER NOT NULL,
  finished_ms INTEGER NOT NULL,
  failure     TEXT NOT NULL,
  passed      INTEGER,
  cost        REAL NOT NULL,
  latency_ms  REAL NOT NULL,
  score       TEXT,
  explanation TEXT NOT NULL,
  name        TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (project_id, id)
) STRICT;
CREATE UNIQUE INDEX evaluation_once ON evaluation(project_id, event_id, metric_id, version);
CREATE INDEX evaluation_queue ON evaluation(project_id, metric_id, version, backfill_id, due_ms) WHERE state = 0;
CREATE INDEX evaluation_metric ON evaluation(project_id, metric_id, id);
CREATE INDEX evaluation_bad ON evaluation(project_id, state, id) WHERE state >= 3;
CREATE INDEX evaluation_backfill ON evaluation(project_id, backfill_id, state, id) WHERE backfill_id <> '';

-- What a commit stored or changed, for online evaluation: ids of event and session, 32 bytes for
-- each event. due_ms is when whoever claimed the row must be done with it.
CREATE TABLE outbox (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  due_ms     INTEGER NOT NULL,
  ids        BLOB NOT NULL
) STRICT;

-- An event of the outbox to be looked at when it is due: it has not ended, or is a session that may
-- go on.
CREATE TABLE outbox_delayed (
  project_id INTEGER NOT NULL,
  event_id   BLOB NOT NULL,
  due_ms     INTEGER NOT NULL,
  PRIMARY KEY (project_id, event_id)
) STRICT;
CREATE INDEX outbox_delayed_due ON outbox_delayed(due_ms);

-- An evaluation of past events by a metric, requested as one.
CREATE TABLE backfill (
  project_id INTEGER NOT NULL,
  id         TEXT NOT NULL,
  version    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  metric_id  TEXT NOT NULL,
  state      TEXT NOT NULL,
  doc        TEXT NOT NULL,
  PRIMARY KEY (project_id, id)
) STRICT;
CREATE INDEX backfill_running ON backfill(state) WHERE state = 'running';

-- Who did what that an operator may have to account for, count times. Rows are added, and deleted
-- by age only. at_us is in microseconds, so that a failure that is written after a success within
-- the same millisecond is also listed after it. project is the public id, since entries outlast
-- their project.
CREATE TABLE audit (
  id      INTEGER PRIMARY KEY,
  at_us   INTEGER NOT NULL,
  project TEXT NOT NULL,
  key_id  TEXT NOT NULL,
  address TEXT NOT NULL,
  action  TEXT NOT NULL,
  target  TEXT NOT NULL,
  outcome TEXT NOT NULL,
  count   INTEGER NOT NULL
) STRICT;
CREATE INDEX audit_at ON audit(at_us, id);
