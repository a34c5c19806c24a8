package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store"
	"github.com/spangrove/spangrove/pkg/store/storetest"
)

// Two processes share one database: they start at once, store overlapping batches, and see each
// other's events.
func TestPostgresTwoProcesses(t *testing.T) {
	t.Parallel()
	place := newPostgresPlace(t)
	stores := make([]*store.Store, 2)
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i := range stores {
		wg.Go(func() { stores[i], errs[i] = store.OpenPostgres(t.Context(), place.dsn, store.Options{}) })
	}
	wg.Wait()
	for i := range stores {
		closeAfter(t, stores[i], errs[i])
	}
	p, err := stores[0].EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	session := uuid.New()
	var batches []event.Batch
	for i := range 30 {
		var b event.Batch
		for j := range 4 {
			e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: session, Type: event.TypeModel, Name: fmt.Sprint("e", i, j),
				Start: 1767355200000 + float64(i%3)*86_400_000 + float64(j), Duration: 1, Inputs: json.RawMessage(`{"q":1}`),
				Metadata: json.RawMessage(`{"prompt_tokens":1,"cost":0.25}`)}}
			if j%2 == 1 {
				e.SessionID = uuid.New()
			}
			e.Complete(time.UnixMilli(1767355200000))
			b.Events = append(b.Events, e)
		}
		batches = append(batches, b)
	}
	for i := range batches {
		for _, s := range stores {
			wg.Go(func() {
				if err := s.Put(t.Context(), p.ID, batches[i]); err != nil {
					t.Error(err)
				}
				for _, e := range batches[i].Events {
					if _, err := s.Update(t.Context(), p.ID, event.Update{EventID: e.ID, Metadata: json.RawMessage(`{"cost":0.5}`)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	for i, s := range stores {
		got, err := s.Event(t.Context(), p.ID, session)
		if err != nil {
			t.Fatal(err)
		}
		for key, want := range map[string]string{"num_events": "60", "cost": "30", "prompt_tokens": "60"} {
			if v := string(rawjson.Get(got.Metadata, key)); v != want {
				t.Errorf("process %d: %s is %s, want %s", i, key, v, want)
			}
		}
		for _, b := range batches {
			for _, e := range b.Events {
				if x, err := s.Event(t.Context(), p.ID, e.ID); err != nil || string(x.Inputs) != `{"q":1}` {
					t.Errorf("process %d: %v, inputs %s", i, err, x.Inputs)
				}
			}
		}
	}
	if n := place.Count(t, `SELECT count(*) FROM event`); n != 120+61 {
		t.Errorf("%d rows, want 181", n)
	}
}

// Schemas of one database do not disturb each other.
func TestPostgresSchemas(t *testing.T) {
	t.Parallel()
	a, b := newPostgresPlace(t), newPostgresPlace(t)
	e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeTool, Name: "x"}}
	e.Complete(time.Now())
	for i, place := range []postgresPlace{a, b, a, b} {
		s, err := store.OpenPostgres(t.Context(), place.dsn, store.Options{})
		closeAfter(t, s, err)
		p, err := s.EnsureProject(t.Context(), "default")
		if err != nil {
			t.Fatal(err)
		}
		if i < 2 {
			if _, err := s.Event(t.Context(), p.ID, e.ID); err == nil {
				t.Error("event of another schema")
			}
			if n := place.Count(t, `SELECT count(*) FROM event`); n != 0 {
				t.Errorf("%d rows in a fresh schema", n)
			}
		}
		if err := s.Put(t.Context(), p.ID, event.Batch{Events: []event.Incoming{e}}); err != nil {
			t.Fatal(err)
		}
		if n := place.Count(t, `SELECT count(*) FROM event`); n != 2 {
			t.Errorf("%d rows, want 2", n)
		}
	}
}

// A partition for a new time is made while others read and write the table, and none of them waits.
func TestPostgresPartitionWaitsForNobody(t *testing.T) {
	t.Parallel()
	place := newPostgresPlace(t)
	s := place.Open(t, store.Options{})
	p, err := s.EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	conn := place.conn(t)
	defer func() { _ = conn.Close(context.Background()) }()
	for _, text := range []string{"BEGIN", "LOCK TABLE event, chunk IN ROW EXCLUSIVE MODE", "SELECT count(*) FROM event JOIN chunk USING (day)"} {
		if _, err := conn.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	e := event.Incoming{Event: event.Event{Type: event.TypeTool, Name: "x", Inputs: []byte(`{"q":1}`)}}
	e.Complete(time.Now().Add(-100 * 24 * time.Hour)) // days whose partition nobody has made ahead
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := s.Put(ctx, p.ID, event.Batch{Events: []event.Incoming{e}}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Event(t.Context(), p.ID, e.ID); err != nil || string(got.Inputs) != `{"q":1}` {
		t.Error(string(got.Inputs), err)
	}
	part := int(e.Start) / dayMillis / 28 * 28
	if n := place.Count(t, fmt.Sprintf(`SELECT count(*) FROM pg_index WHERE indrelid = 'event_d%d'::regclass`, part)); n != place.Count(t, `SELECT count(*) FROM pg_index WHERE indrelid = 'event'::regclass`) {
		t.Errorf("the partition has %d indexes, not those of its table", n)
	}
}

// The partition of the next four weeks is made a week before they begin, when the store is opened or in its background. No request waits
// for that, nor does the first event of these days, and that the partition is empty until then does not have it dropped.
func TestPostgresPartitionIsMadeAhead(t *testing.T) {
	t.Parallel()
	const day, week, four = 24 * time.Hour, 7 * 24 * time.Hour, 28 * 24 * time.Hour
	first := time.Now().Truncate(day)
	for first.Unix()/86400%28 != 0 {
		first = first.Add(day)
	}
	place := newPostgresPlace(t)
	// table returns the number of the partition that begins on a day, 0 if there is none.
	table := func(of time.Time) int {
		d := of.Unix() / 86400
		return place.Count(t, fmt.Sprintf(`SELECT coalesce(min(i.inhrelid::bigint), 0)
			FROM pg_inherits AS i
			WHERE i.inhrelid = to_regclass('event_d%[1]d') AND to_regclass('chunk_d%[1]d') IN (SELECT inhrelid FROM pg_inherits)`, d))
	}
	soon := func(what string, is func() bool) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("not soon: " + what)
			}
		}
	}
	// alone runs f while nobody else can make a partition: whoever needs one waits until f has ended.
	alone := func(f func()) {
		t.Helper()
		conn := place.conn(t)
		defer func() { _ = conn.Close(context.Background()) }()
		if _, err := conn.Exec(t.Context(), "SELECT pg_advisory_lock(x'7370616e'::int)"); err != nil {
			t.Fatal(err)
		}
		f()
	}
	clock := storetest.NewClock(first.Add(four - week - time.Millisecond))
	s := place.Open(t, store.Options{Now: clock.Now})
	soon("the partition of today", func() bool { return table(first) > 0 })
	p, err := s.EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	put := func(what string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := s.Put(ctx, p.ID, event.Batch{Events: tools(1, clock.Now(), 0)}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	s.Tidy(t.Context())
	if table(first.Add(four)) > 0 {
		t.Error("a partition is made more than a week ahead")
	}
	clock.Add(time.Millisecond)
	done := make(chan struct{})
	alone(func() {
		go func() {
			defer close(done)
			s.Tidy(t.Context())
		}()
		soon("the background waits", func() bool {
			return place.Count(t, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = x'7370616e'::int::oid AND NOT granted`) > 0
		})
		put("an event while a partition is made")
	})
	<-done
	made := table(first.Add(four))
	if s.Tidy(t.Context()); made == 0 || made != table(first.Add(four)) {
		t.Fatalf("the next partition is %d, later %d", made, table(first.Add(four)))
	}
	clock.Add(week)
	alone(func() { put("the first event of the next four weeks") })
	// A server that begins within the week makes it as well.
	clock.Add(four - week)
	place.Open(t, store.Options{Now: clock.Now})
	soon("the partition after the next", func() bool { return table(first.Add(2*four)) > 0 })
}

// A server with one writer for telemetry is not the only writer: an update that waits in one finds
// its event in another.
func TestPostgresOneWriterEach(t *testing.T) {
	t.Parallel()
	place := newPostgresPlace(t)
	a, b := place.Open(t, store.Options{Writers: 1}), place.Open(t, store.Options{Writers: 1})
	p, err := a.EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	e := event.Incoming{Event: event.Event{Type: event.TypeTool, Name: "x"}}
	e.Complete(time.Now())
	pending, err := a.Update(t.Context(), p.ID, event.Update{EventID: e.ID, Feedback: []byte(`{"rating":1}`)})
	if err != nil || !pending {
		t.Fatal(pending, err)
	}
	if err := b.Put(t.Context(), p.ID, event.Batch{Events: []event.Incoming{e}}); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Event(t.Context(), p.ID, e.ID); err != nil || string(got.Feedback) != `{"rating":1}` {
		t.Errorf("the event has the feedback %s, %v", got.Feedback, err)
	}
}

// A process is killed after it has stored a span and before it has looked for the log parts that another process stored at the same
// moment. The next look at what waits finds them, also where the event has another id than its span.
func TestPostgresLogsAfterAKill(t *testing.T) {
	t.Parallel()
	place := newPostgresPlace(t)
	s := place.Open(t, store.Options{})
	p, err := s.EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	put := puts(t, s, p.ID)
	var events []uuid.UUID
	for _, own := range []bool{false, true} {
		span, trace := uuid.New(), uuid.New()
		say := func(text string) event.LogPart {
			return event.LogPart{Kind: event.LogInput, SpanID: span, TraceID: trace, Nanos: 1, Content: json.RawMessage(`[{"role":"user","content":"` + text + `"}]`)}
		}
		e := event.Incoming{TraceID: trace, SpanID: span, Event: event.Event{ID: span, SessionID: uuid.New(), Type: event.TypeModel, Name: "x", Fixed: true}}
		if own {
			e.ID = uuid.New()
		}
		e.Complete(time.Now())
		events = append(events, e.ID)
		// Neither transaction sees what the other writes.
		put(event.Batch{LogParts: []event.LogPart{say("early")}})
		place.Exec(t, fmt.Sprintf(`UPDATE log_part SET project_id = -1 WHERE span_id = '%s'`, span))
		put(event.Batch{Events: []event.Incoming{e}})
		place.Exec(t, fmt.Sprintf(`UPDATE log_part SET project_id = %d WHERE project_id = -1`, p.ID))
	}
	if n := place.Count(t, `SELECT count(*) FROM log_part WHERE event_id IS NULL`); n != 2 {
		t.Fatalf("%d log parts wait, want 2", n)
	}
	s.Tidy(t.Context())
	if n := place.Count(t, `SELECT count(*) FROM log_part WHERE event_id IS NULL`); n != 0 {
		t.Errorf("%d log parts wait for events that are there", n)
	}
	for i, id := range events {
		e, err := s.Event(t.Context(), p.ID, id)
		if want := `{"chat_history":[{"role":"user","content":"early"}]}`; err != nil || string(e.Inputs) != want {
			t.Errorf("event %d: inputs %s, %v, want %s", i, e.Inputs, err, want)
		}
	}
}

// An evaluation and the model call whose response it names are stored at the same moment, and neither transaction sees the other. What
// comes of the two afterwards finds that, and so does the next look of a server where nothing comes.
func TestPostgresEvaluationBesideItsCall(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]string{"the call comes again": "call", "another evaluation comes": "evaluation", "a look at what waits": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place := newPostgresPlace(t)
			s := place.Open(t, store.Options{})
			p, err := s.EnsureProject(t.Context(), "default")
			if err != nil {
				t.Fatal(err)
			}
			put := puts(t, s, p.ID)
			session, trace := uuid.New(), uuid.New()
			incoming := func(kind event.Type, metadata string) event.Incoming {
				span := uuid.New()
				e := event.Incoming{TraceID: trace, SpanID: span, Event: event.Event{
					ID: span, SessionID: session, Type: kind, Name: string(kind), Fixed: true, Metadata: json.RawMessage(metadata)}}
				e.Complete(time.Now())
				return e
			}
			judge, call := incoming(event.TypeTool, "{}"), incoming(event.TypeModel, `{"response_id":"r \"1\""}`)
			verdict := func(of string) event.Batch {
				return event.Batch{LogParts: []event.LogPart{{Kind: event.LogEvaluation, SpanID: judge.ID, TraceID: trace, Nanos: 1,
					ResponseID: `r "1"`, Content: json.RawMessage(`{"name":"` + of + `","value":0.5}`)}}}
			}
			put(event.Batch{Events: []event.Incoming{judge}})
			put(verdict("tone"))
			place.Exec(t, `UPDATE log_part SET project_id = -1`)
			put(event.Batch{Events: []event.Incoming{call}})
			place.Exec(t, fmt.Sprintf(`UPDATE log_part SET project_id = %d`, p.ID))
			want := `{"tone":0.5}`
			switch again {
			case "call":
				put(event.Batch{Events: []event.Incoming{call}})
			case "evaluation":
				put(verdict("length"))
				want = `{"length":0.5,"tone":0.5}`
			default:
				s.Tidy(t.Context())
			}
			for id, want := range map[uuid.UUID]string{judge.ID: "", call.ID: want} {
				e, err := s.Event(t.Context(), p.ID, id)
				if err != nil || !sameJSON(string(e.Metrics), want) {
					t.Errorf("%s has the metrics %s, %v, want %s", e.Type, e.Metrics, err, want)
				}
			}
		})
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	_, _ = json.Unmarshal([]byte(a), &x), json.Unmarshal([]byte(b), &y)
	return reflect.DeepEqual(x, y)
}

// puts returns a function that stores a batch in a project.
func puts(t *testing.T, s *store.Store, projectID int64) func(event.Batch) {
	return func(b event.Batch) {
		t.Helper()
		if err := s.Put(t.Context(), projectID, b); err != nil {
			t.Fatal(err)
		}
	}
}
