// Package storetest is what it means to be a store: one suite that every database behind
// package store must pass. It pins what databases disagree on and what the order of arrival
// must not change.
package storetest

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/store"
)

// Place is where one store lives. It is empty at first and keeps what was stored from one Open
// to the next.
type Place interface {
	// Open opens the store; what is open at the end of the test is closed then. A store opened
	// before must have been closed.
	Open(t *testing.T, o store.Options) *store.Store
	// Shared reports whether stores may be open here beside each other.
	Shared() bool
	// Exec runs a statement without arguments on the database, past the store.
	Exec(t *testing.T, sql string)
	// OfSession returns the condition that an event is one of a session's, and not the session's own, by the names of both in
	// the statement.
	OfSession(event, session string) string
	// Bytes spells bytes, given in hexadecimal, as a literal of the database's SQL.
	Bytes(hex string) string
	// Doctor examines the place, and may mend it. A store may be open there, unless the place is to be mended and not Shared.
	Doctor(t *testing.T, o store.DoctorOptions) (*diagnosis.Report, error)
	// Fresh returns another place of the same kind, with nothing in it.
	Fresh(t *testing.T) Place
	// Copy copies what is stored to a place of the same kind, which must have nothing, whether a store is open here or not.
	Copy(ctx context.Context, to Place, progress func(done, total int64)) error
	// Backup stores a backup of what is stored in a directory, whether a store is open here or not.
	Backup(ctx context.Context, dir string, o store.BackupOptions) (*store.BackupReport, error)
	// Restore makes a store of a backup; the place must have nothing.
	Restore(ctx context.Context, dir, name string, progress diagnosis.Progress) (*store.Backup, error)
	// Other returns a place of the other database, which has nothing.
	Other(t *testing.T) Place
	// Move moves the store to an Other place.
	Move(ctx context.Context, to Place, o store.MoveOptions) (*store.MoveReport, error)
	// AbandonMove ends a move of the store, and reports whether there was one.
	AbandonMove(ctx context.Context) (bool, error)
	// TryOpen opens and closes the store.
	TryOpen(ctx context.Context) error
	// Count returns the single number that a query answers, past the store.
	Count(t *testing.T, sql string) int
}

// test is one case of the suite, on a store of its own.
type test struct {
	name string
	fn   func(e *env)
}

// Run holds a store to the suite. fresh gives an empty place for each case; the cases run side
// by side.
func Run(t *testing.T, fresh func(t *testing.T) Place) {
	for _, list := range [][]test{fieldTests, repeatTests, sessionTests, traceTests, updateTests, deleteTests, searchTests, sessionSearchTests, sessionTotalTests, watchTests, writerTests, openTests, modelTests, resourceTests, logTests, projectTests, treeTests, metricTests, runTests, fieldIndexTests, queueTests, evaluationTests, backfillTests, providerTests, windowTests, chartTests, valueTests, auditTests, segmentTests, retentionTests, bulkDeletionTests, packTests, statusTests, doctorTests, copyTests, backupTests, moveTests} {
		for _, tt := range list {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				place := fresh(t)
				tt.fn(newEnv(t, place, store.Options{}))
				checkEventCounts(t, place)
				checkHealth(t, place, tt.name)
			})
		}
	}
}

// RunReads holds a store with other options of reading to the cases that read what was stored, changed or deleted before.
func RunReads(t *testing.T, fresh func(t *testing.T) Place, o store.Options) {
	for _, list := range [][]test{fieldTests, searchTests, chartTests, sessionTotalTests, updateTests, deleteTests, windowTests, runTests} {
		for _, tt := range list {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				place := withOptions{fresh(t), o}
				tt.fn(newEnv(t, place, store.Options{}))
				checkEventCounts(t, place)
			})
		}
	}
}

// withOptions opens stores with options of segments, whatever else a case asks for.
type withOptions struct {
	Place
	o store.Options
}

func (p withOptions) Open(t *testing.T, o store.Options) *store.Store {
	o.SealBeforeReads = p.o.SealBeforeReads
	return p.Place.Open(t, o)
}

// env is one open store with a project, and short ways to use it. Its methods end the test
// where the store gives an error.
type env struct {
	*testing.T
	ctx     context.Context
	place   Place
	s       *store.Store
	project int64
	watched bool // somebody subscribed to changes
}

func newEnv(t *testing.T, place Place, o store.Options) *env {
	e := &env{T: t, ctx: t.Context(), place: place}
	e.open(o)
	return e
}

func (e *env) open(o store.Options) {
	e.Helper()
	e.s = e.place.Open(e.T, o)
	p, err := e.s.EnsureProject(e.ctx, "default")
	e.ok(err)
	e.project = p.ID
}

// reopen closes the store and opens it again, as a new process would.
func (e *env) reopen(o store.Options) {
	e.Helper()
	e.ok(e.s.Close(e.ctx))
	e.open(o)
}

func (e *env) ok(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// put stores events as one batch.
func (e *env) put(events ...event.Incoming) {
	e.Helper()
	e.ok(e.s.Put(e.ctx, e.project, event.Batch{Events: events}))
}

// putEach stores events as batches of one.
func (e *env) putEach(events ...event.Incoming) {
	e.Helper()
	for _, x := range events {
		e.put(x)
	}
}

func (e *env) update(u event.Update) {
	e.Helper()
	pending, err := e.s.Update(e.ctx, e.project, u)
	e.ok(err)
	if pending {
		e.Fatalf("update of %s waits, want it applied", u.EventID)
	}
}

func (e *env) event(id uuid.UUID) event.Event {
	e.Helper()
	x, err := e.s.Event(e.ctx, e.project, id)
	e.ok(err)
	return x
}

// session reads all events of a session, whole, by start time.
func (e *env) session(id uuid.UUID) []event.Event {
	e.Helper()
	set, err := e.s.Session(e.ctx, e.project, id)
	e.ok(err)
	return e.load(set)
}

func (e *env) load(set *event.Set) []event.Event {
	e.Helper()
	list := make([]event.Event, len(set.Events))
	for i := range set.Events {
		var err error
		list[i], err = set.Load(e.ctx, i)
		e.ok(err)
	}
	return list
}

// checkEventCounts holds, after every case, that the kept counts are those of the rows.
func checkEventCounts(t *testing.T, place Place) {
	t.Helper()
	if wrong := place.Count(t, `SELECT count(*) FROM (SELECT project_id, type, count(*) AS n FROM event GROUP BY project_id, type) AS e
		LEFT JOIN (SELECT project_id, type, sum(count) AS n FROM event_count GROUP BY project_id, type) AS k
		ON k.project_id = e.project_id AND k.type = e.type WHERE coalesce(k.n, 0) <> e.n`); wrong != 0 {
		t.Errorf("%d kept counts differ from the rows", wrong)
	}
	if rows, kept := place.Count(t, `SELECT count(*) FROM event`), place.Count(t, `SELECT CAST(coalesce(sum(count), 0) AS bigint) FROM event_count`); rows != kept {
		t.Errorf("%d rows, %d counted", rows, kept)
	}
	// Of projects that are being deleted the counts are not kept.
	if wrong := place.Count(t, `SELECT count(*) FROM session AS s JOIN project AS p ON p.id = s.project_id AND p.deleted_ms = 0
		WHERE (s.num_tool_events, s.num_unfinished) <> (
			SELECT count(CASE WHEN e.type = 2 THEN 1 END), count(CASE WHEN (e.spill & 256) <> 0 THEN 1 END)
			FROM event AS e WHERE `+place.OfSession("e", "s")+`)`); wrong != 0 {
		t.Errorf("%d sessions have wrong counts of tool events or of unfinished ones", wrong)
	}
}
