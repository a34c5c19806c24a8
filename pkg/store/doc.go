// Package store keeps sessions and events in SQLite or PostgreSQL, with one behaviour over both.
//
// An event is a narrow head row (ids, type, name, times, the small JSON fields: all that can be
// filtered) and a payload (inputs, outputs, config). The payloads of one session in one commit
// are compressed together as a chunk, because the steps of a conversation repeat each other.
// A session row holds totals counted only from rows really inserted.
//
// Writes go through writers: each takes what waits, stores it in one transaction and answers all
// of it after the commit is on disk. SQLite has one writer, PostgreSQL several. A write is
// idempotent by (project, event id); merges are made in Go (package event), since the two
// databases' own merge functions disagree.
//
// The unique key of events is local in time, (project, day, event id), so that random ids do
// not touch a random page each. That the same id does not come again on another day is held by
// a Bloom filter of ids for each day and a probe of the days it names (id_filter.go).
//
// Files with sqlite or postgres in their names hold all that differs between the databases.
package store
