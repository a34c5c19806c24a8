package events

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// TestExpireLogs holds that notes go after their time, those that wait and those that are in
// their event, and that an event keeps what it has.
func TestExpireLogs(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1767355200000)
	s := openTest(t, Options{Now: func() time.Time { return now }, PendingTTL: time.Hour})
	span := event.Incoming{TraceID: uuid.New(), Event: event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeModel, Fixed: true}}
	span.Complete(now)
	put := func(b event.Batch) {
		t.Helper()
		if err := s.Put(t.Context(), testProject, b); err != nil {
			t.Fatal(err)
		}
	}
	say := func(id uuid.UUID, text string) event.LogPart {
		return event.LogPart{Kind: event.LogInput, SpanID: id, TraceID: span.TraceID, Nanos: 1, Content: json.RawMessage(`[{"role":"user","content":"` + text + `"}]`)}
	}
	put(event.Batch{Events: []event.Incoming{span}})
	put(event.Batch{LogParts: []event.LogPart{say(span.ID, "early"), say(uuid.New(), "nobody's")}})
	count := func() (n int) {
		t.Helper()
		if _, err := sqldb.One(t.Context(), s.db, `SELECT count(*) FROM log_part`, nil, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, tt := range []struct {
		after         time.Duration
		rows, waiting int
	}{{time.Hour, 2, 1}, {time.Hour + time.Millisecond, 0, 0}} {
		if err := s.expireLogs(t.Context(), now.Add(tt.after)); err != nil {
			t.Fatal(err)
		}
		if n := count(); n != tt.rows || s.logCounts.waiting.Load() != int64(tt.waiting) {
			t.Errorf("after %s %d rows, %d waiting, want %d, %d", tt.after, n, s.logCounts.waiting.Load(), tt.rows, tt.waiting)
		}
	}
	put(event.Batch{LogParts: []event.LogPart{say(span.ID, "late")}})
	e, err := s.Event(t.Context(), testProject, span.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(e.Inputs); got != `{"chat_history":[{"role":"user","content":"early"}]}` {
		t.Errorf("inputs %s", got)
	}
	if got := rawjson.Get(rawjson.Get(e.Metadata, "from_logs"), "count"); string(got) != "2" {
		t.Errorf("from_logs.count %s, want 2", got)
	}
}

// TestExpireLogsOfNoSpan: the row of a trace that only log records have named goes with the last of them, and a span that comes then
// makes it anew.
func TestExpireLogsOfNoSpan(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1767355200000)
	s := openTest(t, Options{Now: func() time.Time { return now }, PendingTTL: time.Hour})
	put := func(b event.Batch) {
		t.Helper()
		if err := s.Put(t.Context(), testProject, b); err != nil {
			t.Fatal(err)
		}
	}
	span := func(trace, session uuid.UUID, provisional bool) event.Incoming {
		e := event.Incoming{TraceID: trace, Provisional: provisional, Event: event.Event{ID: uuid.New(), SessionID: session, Type: event.TypeModel}}
		e.Complete(now)
		return e
	}
	say := func(trace, session uuid.UUID) event.LogPart {
		return event.LogPart{Kind: event.LogInput, SpanID: uuid.New(), TraceID: trace, Session: session, Nanos: 1, Content: json.RawMessage(`[]`)}
	}
	traces := func() (n int) {
		t.Helper()
		if _, err := sqldb.One(t.Context(), s.db, `SELECT count(*) FROM trace`, nil, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	lone, known, session := uuid.New(), uuid.New(), uuid.New()
	put(event.Batch{LogParts: []event.LogPart{say(lone, uuid.New()), say(known, session), say(uuid.New(), session)}})
	put(event.Batch{Events: []event.Incoming{span(known, session, false)}})
	if n := traces(); n != 3 {
		t.Fatalf("%d traces, want 3", n)
	}
	if err := s.expireLogs(t.Context(), now.Add(time.Hour+time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n := traces(); n != 2 {
		t.Errorf("%d traces once the log records have gone, want those of the session that is there", n)
	}
	late := span(lone, lone, true)
	put(event.Batch{Events: []event.Incoming{late}})
	e, err := s.Event(t.Context(), testProject, late.ID)
	if err != nil {
		t.Fatal(err)
	}
	if e.SessionID != lone {
		t.Errorf("a late span is in session %s, want that of its trace", e.SessionID)
	}
	if n := traces(); n != 3 {
		t.Errorf("%d traces with a late span, want 3", n)
	}
}

// TestLogsExpiredCounted: what is dropped in a transaction that is done again, since another request failed in it, counts once.
func TestLogsExpiredCounted(t *testing.T) {
	t.Parallel()
	reader := sdkmetric.NewManualReader()
	s := openTest(t, Options{Meter: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("test")})
	const over = 50
	parts := make([]event.LogPart, s.options.MaxPending+over)
	for i := range parts {
		parts[i] = event.LogPart{Kind: event.LogInput, SpanID: uuid.New(), TraceID: uuid.New(), Nanos: 1, Content: json.RawMessage(`[]`)}
	}
	x := newSharing(s)
	x.ask(func() {
		if err := s.Put(context.Background(), testProject, event.Batch{LogParts: parts}); err != nil {
			t.Error(err)
		}
	})
	failed := errors.New("no")
	x.ask(func() {
		if err := s.Change(context.Background(), 0, uuid.Nil, 0, func(context.Context, *Commit) error { return failed }); !errors.Is(err, failed) {
			t.Error(err)
		}
	})
	x.release()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	var told int64
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == "spangrove_store_log_parts_expired" {
				told += sum.DataPoints[0].Value
			}
		}
	}
	if told != over {
		t.Errorf("%d log parts expired, as is told, want %d", told, over)
	}
}
