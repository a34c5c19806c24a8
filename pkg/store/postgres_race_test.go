package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
)

// twoServers are two servers on one database, and a connection past them, whose locks hold them up at chosen statements.
type twoServers struct {
	t    *testing.T
	a, b *Store
	p    project.Project
	conn *pgx.Conn
}

func openTwoServers(t *testing.T) *twoServers {
	t.Helper()
	a, p, conn := openBeside(t)
	b, err := OpenPostgres(t.Context(), conn.Config().ConnString(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close(context.Background()) })
	return &twoServers{t, a, b, p, conn}
}

func (x *twoServers) exec(text string, args ...any) {
	x.t.Helper()
	if _, err := x.conn.Exec(x.t.Context(), text, args...); err != nil {
		x.t.Fatal(err)
	}
}

func (x *twoServers) count(text string, args ...any) (n int) {
	x.t.Helper()
	if err := x.conn.QueryRow(x.t.Context(), text, args...).Scan(&n); err != nil {
		x.t.Fatal(err)
	}
	return n
}

// wait waits until n transactions of the schema wait for others.
func (x *twoServers) wait(n int) {
	x.t.Helper()
	for range 2000 {
		if x.count(`SELECT count(DISTINCT l.pid) FROM pg_locks AS l WHERE NOT l.granted AND EXISTS (
			SELECT 1 FROM pg_locks AS r WHERE r.pid = l.pid AND r.granted AND r.relation = 'event'::regclass)`) >= n {
			return
		}
		time.Sleep(time.Millisecond)
	}
	x.t.Fatalf("not %d transactions wait", n)
}

// neighbours stores two events of one session, whose payloads share a chunk.
func (x *twoServers) neighbours() (session uuid.UUID, ids [2]uuid.UUID) {
	x.t.Helper()
	session = uuid.New()
	var b event.Batch
	for i := range ids {
		ids[i] = uuid.New()
		e := event.Incoming{Event: event.Event{ID: ids[i], SessionID: session, Type: event.TypeTool, Name: "step", Start: 1767355200000, Outputs: json.RawMessage(`{"text":"before"}`)}}
		e.Complete(time.UnixMilli(1767355200000))
		b.Events = append(b.Events, e)
	}
	if err := x.a.Put(x.t.Context(), x.p.ID, b); err != nil {
		x.t.Fatal(err)
	}
	return session, ids
}

func (x *twoServers) holdSession(id uuid.UUID) {
	x.t.Helper()
	x.exec(`BEGIN`)
	x.exec(`SELECT 1 FROM session WHERE session_id = $1 FOR UPDATE`, id)
}

// An update of an event's payload is not undone by the deletion of another event at the same time whose payload is in the same chunk.
func TestPostgresUpdateMeetsDeletionOfNeighbour(t *testing.T) {
	t.Parallel()
	x := openTwoServers(t)
	session, ids := x.neighbours()
	x.holdSession(session) // the update has changed its event by then
	updated, deleted := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := x.a.Update(t.Context(), x.p.ID, event.Update{EventID: ids[1], Outputs: json.RawMessage(`{"text":"after"}`)})
		updated <- err
	}()
	x.wait(1)
	go func() { deleted <- x.b.DeleteEvent(t.Context(), x.p.ID, ids[0]) }()
	x.wait(2)
	x.exec(`COMMIT`)
	if err := errors.Join(<-updated, <-deleted); err != nil {
		t.Fatal(err)
	}
	got, err := x.a.Event(t.Context(), x.p.ID, ids[1])
	if err != nil || string(got.Outputs) != `{"text":"after"}` {
		t.Errorf("outputs %s (%v)", got.Outputs, err)
	}
	if n := x.count(`SELECT count(*) FROM chunk WHERE id NOT IN (SELECT chunk FROM event WHERE chunk IS NOT NULL)`); n > 0 {
		t.Errorf("%d payloads are left that no event has", n)
	}
}

// The payload that two events share goes when both get another one at the same time.
func TestPostgresUpdatesOfNeighbours(t *testing.T) {
	t.Parallel()
	x := openTwoServers(t)
	session, ids := x.neighbours()
	x.holdSession(session)
	updated := make(chan error, 2)
	for i, s := range []*Store{x.a, x.b} {
		go func() {
			_, err := s.Update(t.Context(), x.p.ID, event.Update{EventID: ids[i], Outputs: json.RawMessage(`{"text":"after"}`)})
			updated <- err
		}()
	}
	x.wait(2)
	x.exec(`COMMIT`)
	if err := errors.Join(<-updated, <-updated); err != nil {
		t.Fatal(err)
	}
	if n := x.count(`SELECT count(*) FROM chunk WHERE id NOT IN (SELECT chunk FROM event WHERE chunk IS NOT NULL)`); n > 0 {
		t.Errorf("%d payloads are left that no event has", n)
	}
}

// An event that comes while its session is being deleted goes with it or begins it anew, but is never without one.
func TestPostgresEventMeetsDeletionOfSession(t *testing.T) {
	t.Parallel()
	x := openTwoServers(t)
	session, _ := x.neighbours()
	x.exec(`BEGIN`)
	x.exec(`LOCK TABLE log_part IN SHARE MODE`) // which the transaction of the event writes last, and the deletion after it has listed events
	e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: session, Type: event.TypeTool, Name: "late", Start: 1767355200000}}
	e.Complete(time.UnixMilli(1767355200000))
	note := event.LogPart{SpanID: uuid.New(), TraceID: uuid.New()}
	stored, deleted := make(chan error, 1), make(chan error, 1)
	go func() {
		stored <- x.a.Put(t.Context(), x.p.ID, event.Batch{Events: []event.Incoming{e}, LogParts: []event.LogPart{note}})
	}()
	x.wait(1)
	go func() { deleted <- x.b.DeleteSession(t.Context(), x.p.ID, session) }()
	x.wait(2)
	x.exec(`COMMIT`)
	if err := errors.Join(<-stored, <-deleted); err != nil {
		t.Fatal(err)
	}
	if n := x.count(`SELECT count(*) FROM event AS e WHERE NOT EXISTS (SELECT 1 FROM session AS s WHERE s.session_id = e.session_id)`); n > 0 {
		t.Errorf("%d events have no session", n)
	}
}

// What an update adds to the totals of a provisional session that is moving goes with it.
func TestPostgresUpdateMeetsMove(t *testing.T) {
	t.Parallel()
	x := openTwoServers(t)
	trace, session := uuid.New(), uuid.New()
	span := func(of uuid.UUID, provisional bool) event.Incoming {
		e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: of, ParentID: of, Type: event.TypeTool, Name: "step", Start: 1767355200000},
			TraceID: trace, Provisional: provisional}
		e.Complete(time.UnixMilli(1767355200000))
		return e
	}
	first := span(trace, true)
	if err := x.a.Put(t.Context(), x.p.ID, event.Batch{Events: []event.Incoming{first}}); err != nil {
		t.Fatal(err)
	}
	x.holdSession(trace)
	updated, moved := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := x.a.Update(t.Context(), x.p.ID, event.Update{EventID: first.ID, Feedback: json.RawMessage(`{"good":true}`)})
		updated <- err
	}()
	x.wait(1)
	go func() {
		moved <- x.b.Put(t.Context(), x.p.ID, event.Batch{Events: []event.Incoming{span(session, false)}})
	}()
	x.wait(2)
	x.exec(`COMMIT`)
	if err := errors.Join(<-updated, <-moved); err != nil {
		t.Fatal(err)
	}
	if n := x.count(`SELECT num_feedback FROM session WHERE session_id = $1`, session); n != 1 {
		t.Errorf("%d events of the session have feedback, want 1", n)
	}
}

// The deletion of an event in the session of an evaluation does not refuse what comes at the same time.
func TestPostgresEvaluationMeetsDeletion(t *testing.T) {
	t.Parallel()
	x := openTwoServers(t)
	trace, session := uuid.New(), uuid.New()
	e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: session, ParentID: session, Type: event.TypeModel, Name: "call", Start: 1767355200000,
		Metadata: json.RawMessage(fmt.Sprintf(`{"response_id":"r","large":%q}`, strings.Repeat("x", 10_000)))}, TraceID: trace}
	e.Complete(time.UnixMilli(1767355200000))
	if err := x.a.Put(t.Context(), x.p.ID, event.Batch{Events: []event.Incoming{e}}); err != nil {
		t.Fatal(err)
	}
	x.exec(`BEGIN`)
	x.exec(`DELETE FROM event WHERE event_id = $1`, e.ID)
	stored := make(chan error, 1)
	go func() {
		stored <- x.b.Put(t.Context(), x.p.ID, event.Batch{LogParts: []event.LogPart{{SpanID: uuid.New(), TraceID: trace, ResponseID: "r"}}})
	}()
	x.wait(1)
	x.exec(`COMMIT`)
	if err := <-stored; err != nil {
		t.Error(err)
	}
}

// A native event without a start that is sent again after midnight, to another server, is a repeat.
func TestPostgresRepeatAfterMidnight(t *testing.T) {
	t.Parallel()
	x := openTwoServers(t)
	id, session := uuid.New(), uuid.New()
	midnight := time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)
	for i, s := range []*Store{x.a, x.b, x.a} {
		e := event.Incoming{Event: event.Event{ID: id, SessionID: session, Type: event.TypeTool, Name: "step", Outputs: json.RawMessage(`{"text":"sent"}`)}}
		e.Complete(midnight.Add(time.Duration(i-1) * time.Second))
		if err := s.Put(t.Context(), x.p.ID, event.Batch{Events: []event.Incoming{e}}); err != nil {
			t.Fatal(err)
		}
	}
	if n := x.count(`SELECT count(*) FROM event WHERE event_id = $1`, id); n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
	if n := x.count(`SELECT num_events FROM session WHERE session_id = $1`, session); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
}
