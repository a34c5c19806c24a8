// Package store keeps sessions and events in SQLite or PostgreSQL, with one behaviour over both.
//
// An event is a narrow head row (ids, type, name, times, the small JSON fields: all that can be
// filtered) and a payload (inputs, outputs, config). The payloads of one session in one commit
// are compressed together as a chunk, because the steps of a conversation repeat each other.
// A session row holds totals counted only from rows really inserted.
//
// Each writer has a queue: it takes what waits, stores it in one transaction and answers all
// requests after the commit is on disk. SQLite has one writer, PostgreSQL several. A write is
// idempotent by (project, event id); merges are made in Go (package event), since the two
// databases' own merge functions disagree.
//
// The unique key of events is local in time, (project, day, event id), so that random ids do
// not touch a random page each. A Bloom filter of ids for each day, and a look-up on the days that
// it names, make sure that the same id is not stored again on another day (id_filter.go).
//
// The family of a file stands first in its name:
//
//   - writer: the queue, the commit, ids in flight
//   - event: preparing, inserting, repeating, rewriting, updating, deleting and reading events
//   - session, trace: rows of sessions and traces, implicit sessions, moves between sessions
//   - tree: the trees of sessions, and their correction before a commit
//   - log: parts of events that log records bring
//   - field_index: which keys events have
//   - search, chart: reads that grow with the data; read_gate shares connections among them
//   - document, dataset, datapoint, configuration, metric, queue, run, tool, provider: resources
//   - evaluation, outbox: evaluations, and the events that wait to be evaluated
//   - sqlite, postgres: all that differs between the databases
package store
