package store

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb/sqldbtest"
)

// serversTest is two servers on one database; each lets 4 updates wait, and 4 log parts.
type serversTest struct {
	*testing.T
	first, second *Store
	dsn           string
	project       int64
}

func newServersTest(t *testing.T) *serversTest {
	t.Helper()
	dsn := sqldbtest.PostgresDSN(t)
	open := func() *Store {
		s, err := OpenPostgres(t.Context(), dsn, Options{MaxPending: 4})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close(context.Background()) })
		return s
	}
	s := &serversTest{T: t, first: open(), second: open(), dsn: dsn}
	p, err := s.first.EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	s.project = p.ID
	return s
}

// put stores a span with an id at a server.
func (s *serversTest) put(at *Store, id, trace uuid.UUID) {
	s.Helper()
	e := event.Incoming{TraceID: trace, Event: event.Event{ID: id, SessionID: trace, Type: event.TypeModel, Name: "call", Start: 1767355200000}}
	e.Complete(time.UnixMilli(1767355200000))
	if err := at.Put(s.Context(), s.project, event.Batch{Events: []event.Incoming{e}}); err != nil {
		s.Fatal(err)
	}
}

// An update that waited at one server counts there no more once another server has stored its event and applied it.
func TestPostgresUpdatesThatOthersApply(t *testing.T) {
	t.Parallel()
	s := newServersTest(t)
	early := func(id uuid.UUID) error {
		_, err := s.first.Update(t.Context(), s.project, event.Update{EventID: id, Metrics: json.RawMessage(`{"n":1}`), Telemetry: true})
		return err
	}
	for range 3 { // as many as one project may have
		id := uuid.New()
		if err := early(id); err != nil {
			t.Fatal(err)
		}
		s.put(s.second, id, uuid.New())
	}
	s.first.Tidy(t.Context())
	if err := early(uuid.New()); err != nil {
		t.Errorf("nothing waits, and an update may not: %v", err)
	}
}

// What log records say is not dropped for others that another server has brought to their events.
func TestPostgresLogPartsThatOthersTake(t *testing.T) {
	t.Parallel()
	s := newServersTest(t)
	said := func(id, trace uuid.UUID) {
		t.Helper()
		part := event.LogPart{Kind: event.LogInput, SpanID: id, TraceID: trace, Nanos: 1767355200000e6, Content: json.RawMessage(`[{"role":"user","content":"hi"}]`)}
		if err := s.first.Put(t.Context(), s.project, event.Batch{LogParts: []event.LogPart{part}}); err != nil {
			t.Fatal(err)
		}
	}
	waits, trace := uuid.New(), uuid.New()
	said(waits, trace)
	for range 8 {
		id, trace := uuid.New(), uuid.New()
		said(id, trace)
		s.put(s.second, id, trace)
	}
	s.put(s.second, waits, trace)
	if e, err := s.first.Event(t.Context(), s.project, waits); err != nil || rawjson.Get(e.Inputs, "chat_history") == nil {
		t.Errorf("the prompt that waited is lost: %s (%v)", e.Inputs, err)
	}
}

// What another server has stored is read by one statement, in the order that was asked for.
func TestPostgresEventsThatOthersStored(t *testing.T) {
	t.Parallel()
	s := newServersTest(t)
	var asked queryCount
	reader, err := OpenPostgres(sqldb.Traced(t.Context(), &asked), s.dsn, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close(context.Background()) }()
	ids := make([]uuid.UUID, 100)
	for i := range ids {
		ids[i] = uuid.New()
		s.put(s.first, ids[i], uuid.New())
	}
	asked.begin()
	set, err := reader.EventsByID(t.Context(), s.project, append([]uuid.UUID{uuid.New()}, ids...))
	if err != nil {
		t.Fatal(err)
	}
	asked.check(t, len(ids))
	if len(set.Events) != len(ids) {
		t.Fatalf("%d events of %d", len(set.Events), len(ids))
	}
	for i := range ids {
		if set.Events[i].ID != ids[i] {
			t.Errorf("event %d is %s, want %s", i, set.Events[i].ID, ids[i])
		}
	}
}

// A request takes no statement for each of its sessions, and neither does one that comes again.
func TestPostgresBatchStatements(t *testing.T) {
	t.Parallel()
	var asked queryCount
	s, err := OpenPostgres(sqldb.Traced(t.Context(), &asked), sqldbtest.PostgresDSN(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(context.Background()) }()
	p, err := s.EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	const sessions = 100
	for _, fromSpans := range []bool{false, true} {
		var b event.Batch
		for range sessions {
			e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeModel, Name: "call", Inputs: []byte(`{"a":1}`)}}
			if fromSpans {
				e.TraceID = e.SessionID
			}
			e.Complete(time.Now())
			b.Events = append(b.Events, e)
		}
		for range 2 {
			asked.begin()
			if err := s.Put(t.Context(), p.ID, b); err != nil {
				t.Fatal(err)
			}
			asked.check(t, sessions)
		}
	}
}

// queryCount counts statements by their texts.
type queryCount struct {
	mu     sync.Mutex
	byText map[string]int
}

func (c *queryCount) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byText = map[string]int{}
}

// check fails if any statement has run for each of n things since begin. The background asks other questions, and none of them so often.
func (c *queryCount) check(t *testing.T, n int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for text, times := range c.byText {
		if times >= n {
			t.Errorf("%d times: %s", times, text)
		}
	}
}

// TraceQueryStart implements pgx.QueryTracer.
func (c *queryCount) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byText != nil {
		c.byText[q.SQL]++
	}
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (c *queryCount) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
