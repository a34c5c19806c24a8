-- +goose Up

-- What the store remembers of itself, such as the first day that is not in the archive partitions.
CREATE TABLE setting (
  name  text PRIMARY KEY,
  value text NOT NULL
);

-- A project. limits is JSON; empty means the server's defaults. A deleted project keeps its row, so
-- that its id is never reused: it has a name that no project can have, deleted_ms set, and
-- purged_ms set once its data is gone.
CREATE TABLE project (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  public_id   text NOT NULL UNIQUE,
  name        text NOT NULL UNIQUE,
  created_ms  bigint NOT NULL,
  description text NOT NULL DEFAULT '',
  type        text NOT NULL DEFAULT '',
  updated_ms  bigint NOT NULL DEFAULT 0,
  deleted_ms  bigint NOT NULL DEFAULT 0,
  purged_ms   bigint NOT NULL DEFAULT 0,
  limits      text NOT NULL DEFAULT ''
);

-- A key of the API. hash is that of its secret, prefix the part of the secret that lists show.
-- origin is api, configured or generated. expires_ms and revoked_ms are 0 if unset.
CREATE TABLE api_key (
  id          text PRIMARY KEY,
  project_id  bigint NOT NULL REFERENCES project(id),
  name        text NOT NULL,
  prefix      text NOT NULL,
  hash        bytea NOT NULL UNIQUE,
  scope       text NOT NULL,
  created_ms  bigint NOT NULL,
  expires_ms  bigint NOT NULL,
  revoked_ms  bigint NOT NULL,
  description text NOT NULL DEFAULT '',
  origin      text NOT NULL DEFAULT 'api'
);
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
  project_id        bigint NOT NULL,
  session_id        uuid NOT NULL,
  implicit          smallint NOT NULL,
  name_rank         smallint NOT NULL,
  version           bigint NOT NULL,
  event_day         integer NOT NULL,
  first_ms          double precision NOT NULL,
  last_ms           double precision NOT NULL,
  num_events        bigint NOT NULL,
  num_model_events  bigint NOT NULL,
  num_errors        bigint NOT NULL,
  num_feedback      bigint NOT NULL,
  prompt_tokens     double precision NOT NULL,
  completion_tokens double precision NOT NULL,
  total_tokens      double precision NOT NULL,
  cost              double precision NOT NULL,
  num_costs         bigint NOT NULL,
  run_id            text COLLATE "C",
  root_ms           double precision,
  root_id           uuid,
  root_day          integer,
  last_root_ms      double precision,
  last_root_id      uuid,
  last_root_day     integer,
  user_ms           double precision,
  num_calls         bigint NOT NULL DEFAULT 0,
  error_ms          double precision,
  PRIMARY KEY (project_id, session_id)
);
CREATE INDEX session_run ON session(project_id, run_id) WHERE run_id IS NOT NULL;

-- The head row of an event: all that filters may name except the payload. parent_id NULL is the
-- session; a JSON column NULL is absent. spill has bits that say which fields are in the payload,
-- and flags. chunk and chunk_offset say where the payload is. version counts changes. trace_hash is
-- 8 bytes of the id of a span's trace. duplicate_key is the same for all events that report one
-- model call: a hash of the provider's response id and the instrumentor, or of what identifies a
-- failed call. span_id is the id by which the children of a span name it, where its event has
-- another one. target_id is the event that an event of an evaluator's session is about. Four weeks
-- share a partition, which is made when needed. The type json, unlike jsonb, keeps the text as it
-- came.
CREATE TABLE event (
  project_id      bigint NOT NULL,
  day             integer NOT NULL,
  event_id        uuid NOT NULL,
  session_id      uuid NOT NULL,
  parent_id       uuid,
  type            smallint NOT NULL,
  name            text COLLATE "C" NOT NULL,
  source          text COLLATE "C" NOT NULL,
  error           text COLLATE "C",
  start_ms        double precision NOT NULL,
  end_ms          double precision NOT NULL,
  duration        double precision NOT NULL,
  metadata        json,
  metrics         json,
  feedback        json,
  user_properties json,
  children_ids    json,
  run_id          text COLLATE "C",
  user_id         text COLLATE "C",
  spill           integer NOT NULL,
  chunk           bigint,
  chunk_offset    integer,
  version         integer NOT NULL,
  trace_hash      bigint,
  duplicate_key   bytea,
  span_id         uuid,
  target_id       text
) PARTITION BY RANGE (day);
CREATE UNIQUE INDEX event_key ON event(event_id, project_id, day);
CREATE INDEX event_session ON event(session_id, project_id);
CREATE INDEX event_start ON event(project_id, start_ms, type);
CREATE INDEX event_session_start ON event(project_id, start_ms) WHERE type = 4;
CREATE INDEX event_user ON event(project_id, user_id, start_ms) WHERE user_id IS NOT NULL;
CREATE INDEX event_run ON event(project_id, run_id) WHERE run_id IS NOT NULL;
CREATE INDEX event_spill ON event(project_id) WHERE (spill & 63) <> 0;
CREATE INDEX event_target ON event(project_id, target_id) WHERE target_id IS NOT NULL;

-- The number of events of a type in a project, as each writer counted them, so that writers do not
-- wait for one another. The sum is the answer to a search that only counts.
CREATE TABLE event_count (
  project_id bigint NOT NULL,
  type       smallint NOT NULL,
  writer     smallint NOT NULL,
  count      bigint NOT NULL,
  PRIMARY KEY (project_id, type, writer)
) WITH (fillfactor = 50);

-- Bytes that a project has stored, as each writer added them; writer -1 has the difference that the
-- last count of the rows themselves found. The sum is the number.
CREATE TABLE stored_bytes (
  project_id bigint NOT NULL,
  writer     smallint NOT NULL,
  bytes      bigint NOT NULL,
  PRIMARY KEY (project_id, writer)
) WITH (fillfactor = 50);

-- Payloads of events of one session, one day and one commit, compressed together. PostgreSQL need
-- not try to compress them again.
CREATE SEQUENCE chunk_id INCREMENT BY 1000;
CREATE TABLE chunk (
  day  integer NOT NULL,
  id   bigint NOT NULL,
  data bytea NOT NULL
) PARTITION BY RANGE (day);
ALTER TABLE chunk ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX chunk_key ON chunk(id, day);

-- The session that a trace belongs to; provisional until a span names one. Of several sessions
-- named by its spans, the one with the smallest rank counts. former_session_id is the one from
-- which the last change took events.
CREATE TABLE trace (
  project_id        bigint NOT NULL,
  trace_id          uuid NOT NULL,
  session_id        uuid NOT NULL,
  provisional       boolean NOT NULL,
  rank              bytea NOT NULL DEFAULT '',
  former_session_id uuid,
  PRIMARY KEY (project_id, trace_id)
);
CREATE INDEX trace_session ON trace(session_id);

-- An id under which a session was known before its events moved to another session, target.
CREATE TABLE alias (
  project_id bigint NOT NULL,
  session_id uuid NOT NULL,
  target     uuid NOT NULL,
  PRIMARY KEY (project_id, session_id)
);

-- An update that came before its event.
CREATE TABLE pending (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id bigint NOT NULL,
  event_id   uuid NOT NULL,
  body       text NOT NULL,
  created_ms bigint NOT NULL
);
CREATE INDEX pending_event ON pending(project_id, event_id);
CREATE INDEX pending_age ON pending(created_ms);

-- What one request with log records added to the event of one span, or one result of an evaluation
-- that names a provider's response (response_id). span_id is the event's id as it follows from the
-- trace and the span, event_id the event that was made of the span; NULL: it is waited for. data is
-- empty in a row that only says that the event has another id than span_id. hash keeps a repeated
-- request from being stored twice.
CREATE TABLE log_part (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id  bigint NOT NULL,
  span_id     uuid NOT NULL,
  hash        uuid NOT NULL,
  trace_id    uuid NOT NULL,
  event_id    uuid,
  response_id text COLLATE "C",
  created_ms  bigint NOT NULL,
  data        bytea NOT NULL
);
ALTER TABLE log_part ALTER COLUMN data SET STORAGE EXTERNAL;
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
  project_id bigint NOT NULL,
  scope      text COLLATE "C" NOT NULL,
  type       smallint NOT NULL,
  name       text COLLATE "C" NOT NULL,
  path       text COLLATE "C" NOT NULL,
  first_day  integer NOT NULL,
  last_day   integer NOT NULL,
  PRIMARY KEY (project_id, scope, type, name, path)
);

-- Resources. Each is one JSON document, next to which are the columns that it is searched or sorted
-- by.

CREATE TABLE dataset (
  project_id bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  name       text COLLATE "C" NOT NULL,
  type       text COLLATE "C" NOT NULL,
  doc        json NOT NULL,
  PRIMARY KEY (project_id, id)
);
CREATE INDEX dataset_name ON dataset(project_id, name);
CREATE TABLE datapoint (
  project_id bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  doc        json NOT NULL,
  PRIMARY KEY (project_id, id)
);
CREATE INDEX datapoint_created ON datapoint(project_id, created_ms, id);
CREATE INDEX datapoint_event ON datapoint(project_id, lower(doc ->> 'linked_event')) WHERE doc ->> 'linked_event' IS NOT NULL;

-- A datapoint of a dataset: from version from_version of the dataset up to but without to_version
-- (NULL: it still does), datapoint_version of the datapoint stands at pos.
CREATE TABLE dataset_row (
  project_id        bigint NOT NULL,
  dataset_id        text COLLATE "C" NOT NULL,
  pos               bigint NOT NULL,
  from_version      bigint NOT NULL,
  to_version        bigint,
  datapoint_id      text COLLATE "C" NOT NULL,
  datapoint_version bigint NOT NULL,
  PRIMARY KEY (project_id, dataset_id, pos, from_version)
);
CREATE INDEX dataset_row_now ON dataset_row(project_id, dataset_id, pos) WHERE to_version IS NULL;
CREATE UNIQUE INDEX dataset_row_link ON dataset_row(project_id, dataset_id, datapoint_id) WHERE to_version IS NULL;
CREATE INDEX dataset_row_datapoint ON dataset_row(project_id, datapoint_id, datapoint_version);

CREATE TABLE configuration (
  project_id bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  name       text COLLATE "C" NOT NULL,
  labels     text COLLATE "C" NOT NULL,
  doc        json NOT NULL,
  PRIMARY KEY (project_id, id)
);
CREATE INDEX configuration_name ON configuration(project_id, name);

CREATE TABLE tool (
  project_id bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  doc        json NOT NULL,
  PRIMARY KEY (project_id, id)
);

-- A metric with its current definition. online says that it runs over new events.
CREATE TABLE metric (
  project_id bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  type       text NOT NULL,
  doc        text NOT NULL,
  online     smallint NOT NULL DEFAULT 0,
  PRIMARY KEY (project_id, id)
);

-- A definition that a metric has, had or may be given.
CREATE TABLE metric_version (
  project_id bigint NOT NULL,
  metric_id  text COLLATE "C" NOT NULL,
  number     bigint NOT NULL,
  sha        text NOT NULL,
  message    text NOT NULL,
  created_ms bigint NOT NULL,
  doc        text NOT NULL,
  PRIMARY KEY (project_id, metric_id, number)
);

-- An experiment run. Its sessions are those that its document lists and those whose events carry
-- its id.
CREATE TABLE run (
  project_id bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  name       text COLLATE "C" NOT NULL,
  status     text COLLATE "C" NOT NULL,
  dataset_id text COLLATE "C" NOT NULL,
  doc        json NOT NULL,
  PRIMARY KEY (project_id, id)
);
CREATE INDEX run_created ON run(project_id, created_ms, id);
CREATE INDEX run_dataset ON run(project_id, dataset_id, created_ms);

-- A saved chart of events.
CREATE TABLE chart (
  project_id bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  doc        json NOT NULL,
  PRIMARY KEY (project_id, id)
);

-- A model provider that a project set up itself. Its key is sealed.
CREATE TABLE provider (
  project_id bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  doc        json NOT NULL,
  PRIMARY KEY (project_id, id)
);

-- What calls of a provider cost on a UTC day (days since 1970). Project 0 has the providers that
-- projects share.
CREATE TABLE spending (
  project_id bigint NOT NULL,
  provider   text COLLATE "C" NOT NULL,
  day        bigint NOT NULL,
  usd        double precision NOT NULL,
  calls      bigint NOT NULL,
  PRIMARY KEY (project_id, provider, day)
);

-- An old version of a document; kind is the document's table. doc NULL is that of the next version.
CREATE TABLE document_version (
  project_id bigint NOT NULL,
  kind       text COLLATE "C" NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  doc        json,
  PRIMARY KEY (project_id, kind, id, version)
);

-- A document that is gone for callers while its many rows are still being deleted in slices; or, by
-- kind, other work of that sort that goes on in the background.
CREATE TABLE deletion (
  project_id bigint NOT NULL,
  kind       text COLLATE "C" NOT NULL,
  id         text COLLATE "C" NOT NULL,
  PRIMARY KEY (project_id, kind, id)
);

-- An annotation queue. cursors says up to which start time each search for new events has come; it
-- is empty before the first.
CREATE TABLE queue (
  project_id bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  enabled    integer NOT NULL,
  cursors    text NOT NULL DEFAULT '',
  doc        json NOT NULL,
  PRIMARY KEY (project_id, id)
);
CREATE INDEX queue_created ON queue(project_id, created_ms, id);

-- An event in a queue; pos is the order in which events entered. needed is how many annotations it
-- needs, slots how many annotators may have a turn. scores is what was written on the event.
-- Whoever changes items or their turns holds a lock on the queue.
CREATE TABLE queue_item (
  project_id bigint NOT NULL,
  queue_id   text COLLATE "C" NOT NULL,
  event_id   uuid NOT NULL,
  pos        bigint NOT NULL,
  state      text COLLATE "C" NOT NULL,
  needed     integer NOT NULL,
  slots      integer NOT NULL,
  scores     json,
  added_ms   bigint NOT NULL,
  updated_ms bigint NOT NULL,
  PRIMARY KEY (project_id, queue_id, event_id)
);
CREATE INDEX queue_item_pos ON queue_item(project_id, queue_id, pos);
CREATE INDEX queue_item_state ON queue_item(project_id, queue_id, state, pos);
CREATE INDEX queue_item_scored ON queue_item(project_id, event_id) WHERE scores IS NOT NULL;

-- An annotator's turn at an item: claimed until expires_ms, skipped, or annotated.
CREATE TABLE queue_turn (
  project_id bigint NOT NULL,
  queue_id   text COLLATE "C" NOT NULL,
  event_id   uuid NOT NULL,
  annotator  text COLLATE "C" NOT NULL,
  state      text COLLATE "C" NOT NULL,
  expires_ms bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  doc        json,
  PRIMARY KEY (project_id, queue_id, event_id, annotator)
);
CREATE INDEX queue_turn_claim ON queue_turn(project_id, queue_id, annotator) WHERE state = 'claimed';

-- An evaluation of an event by a version of a metric, waiting or with its result. state: 0 waiting,
-- 1 paused, 2 done, 3 failed, 4 dead. due_ms is when it may start or, while it is being worked on,
-- when its lease ends. attempts identifies the claim. name is that under which the score stands in
-- the event; it may be empty.
CREATE TABLE evaluation (
  project_id  bigint NOT NULL,
  id          text COLLATE "C" NOT NULL,
  metric_id   text COLLATE "C" NOT NULL,
  version     bigint NOT NULL,
  event_id    uuid NOT NULL,
  backfill_id text COLLATE "C" NOT NULL,
  state       smallint NOT NULL,
  attempts    bigint NOT NULL,
  due_ms      bigint NOT NULL,
  created_ms  bigint NOT NULL,
  finished_ms bigint NOT NULL,
  failure     text NOT NULL,
  passed      smallint,
  cost        double precision NOT NULL,
  latency_ms  double precision NOT NULL,
  score       text,
  explanation text NOT NULL,
  name        text NOT NULL DEFAULT '',
  PRIMARY KEY (project_id, id)
);
CREATE UNIQUE INDEX evaluation_once ON evaluation(project_id, event_id, metric_id, version);
CREATE INDEX evaluation_queue ON evaluation(project_id, metric_id, version, backfill_id, due_ms) WHERE state = 0;
CREATE INDEX evaluation_metric ON evaluation(project_id, metric_id, id);
CREATE INDEX evaluation_bad ON evaluation(project_id, state, id) WHERE state >= 3;
CREATE INDEX evaluation_backfill ON evaluation(project_id, backfill_id, state, id) WHERE backfill_id <> '';

-- What a commit stored or changed, for online evaluation: ids of event and session, 32 bytes for
-- each event. due_ms is when whoever claimed the row must be done with it.
CREATE TABLE outbox (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id bigint NOT NULL,
  created_ms bigint NOT NULL,
  due_ms     bigint NOT NULL,
  ids        bytea NOT NULL
);

-- An event of the outbox to be looked at when it is due: it has not ended, or is a session that may
-- go on.
CREATE TABLE outbox_delayed (
  project_id bigint NOT NULL,
  event_id   uuid NOT NULL,
  due_ms     bigint NOT NULL,
  PRIMARY KEY (project_id, event_id)
);
CREATE INDEX outbox_delayed_due ON outbox_delayed(due_ms);

-- An evaluation of past events by a metric, requested as one.
CREATE TABLE backfill (
  project_id bigint NOT NULL,
  id         text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL,
  metric_id  text COLLATE "C" NOT NULL,
  state      text COLLATE "C" NOT NULL,
  doc        text NOT NULL,
  PRIMARY KEY (project_id, id)
);
CREATE INDEX backfill_running ON backfill(state) WHERE state = 'running';

-- Who did what that an operator may have to account for, count times. Rows are added, and deleted
-- by age only. at_us is in microseconds, so that a failure that is written after a success within
-- the same millisecond is also listed after it. project is the public id, since entries outlast
-- their project.
CREATE TABLE audit (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at_us   bigint NOT NULL,
  project text COLLATE "C" NOT NULL,
  key_id  text COLLATE "C" NOT NULL,
  address text COLLATE "C" NOT NULL,
  action  text COLLATE "C" NOT NULL,
  target  text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  count   bigint NOT NULL
);
CREATE INDEX audit_at ON audit(at_us, id);

-- Times more than a year before now share one partition, so that nobody makes many of them by the
-- times that he sends: partitions of four weeks are for later times only.
-- +goose StatementBegin
DO $$
DECLARE
  days  CONSTANT integer := 28;
  first CONSTANT integer := (floor(extract(epoch FROM now()) / 86400 / days)::integer - 13) * days;
BEGIN
  INSERT INTO setting(name, value) VALUES ('archive_before', first::text);
  EXECUTE format('CREATE TABLE chunk_archive PARTITION OF chunk FOR VALUES FROM (MINVALUE) TO (%s)', first);
  EXECUTE format('CREATE TABLE event_archive PARTITION OF event FOR VALUES FROM (MINVALUE) TO (%s)', first);
END
$$;
-- +goose StatementEnd
