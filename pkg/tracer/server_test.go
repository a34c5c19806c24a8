package tracer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/spangrove/spangrove/e2e/harness"
	"github.com/spangrove/spangrove/e2e/inprocess"
	"github.com/spangrove/spangrove/pkg/tracer"
)

// open makes a tracer that must lose nothing and have nothing to say, and a client that reads.
func open(t *testing.T, api string, opts ...tracer.Option) (*tracer.Tracer, *harness.Client) {
	t.Helper()
	tr, err := tracer.New(api, inprocess.Key, append([]tracer.Option{
		tracer.WithErrorHandler(func(err error) { t.Errorf("reported: %v", err) })}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Shutdown(context.Background()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
	return tr, harness.NewClient(api, inprocess.Key)
}

// brokenError is an error whose methods panic for a nil pointer, as those of many do.
type brokenError struct{ text string }

func (e *brokenError) Error() string { return e.text }

func flush(t *testing.T, tr *tracer.Tracer) {
	t.Helper()
	if err := tr.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// byName reads the events of a session by their names.
func byName(t *testing.T, c *harness.Client, session string) map[string]harness.Event {
	t.Helper()
	m := map[string]harness.Event{}
	for _, e := range c.Session(t, session) {
		m[e["event_name"].(string)] = e
	}
	return m
}

// want compares fields of an event, written in JSON, with what is stored. Objects may have more
// members than those that are wanted.
func want(t *testing.T, e harness.Event, fields string) {
	t.Helper()
	var wanted map[string]any
	d := json.NewDecoder(strings.NewReader(fields))
	d.UseNumber()
	if err := d.Decode(&wanted); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, only(e, wanted)); diff != "" {
		t.Errorf("%v (-want +got):\n%s", e["event_name"], diff)
	}
}

func only(got, wanted map[string]any) map[string]any {
	m := map[string]any{}
	for k, w := range wanted {
		g, ok := got[k]
		if !ok {
			continue
		}
		wantedObject, isObject := w.(map[string]any)
		if gotObject, ok := g.(map[string]any); isObject && ok {
			g = only(gotObject, wantedObject)
		}
		m[k] = g
	}
	return m
}

type question struct {
	Text string `json:"text"`
	N    int64  `json:"n"`
}

// TestSession traces a session with everything in it, and reads it back.
func TestSession(t *testing.T) {
	inprocess.EachStore(t, func(t *testing.T, api string) {
		tr, c := open(t, api, tracer.WithSource("test"), tracer.WithProject("default"))
		ctx, id := tr.StartSession(t.Context(), "checkout", tracer.Fields{
			Inputs: map[string]any{"cart": 3}, Metadata: map[string]any{"plan": "pro"}, UserProperties: map[string]any{"user_id": "u1"}})
		if got := tracer.SessionID(ctx); got != id {
			t.Errorf("SessionID %q, want %q", got, id)
		}

		ask := tracer.Wrap(tr, "ask", func(ctx context.Context, q question) (string, error) {
			tracer.Enrich(ctx, tracer.Fields{Config: map[string]any{"model": "m-large"}, Metrics: map[string]any{"sure": 0.5}})
			tracer.Enrich(ctx, tracer.Fields{Metrics: map[string]any{"sure": 0.75, "short": true}, Metadata: map[string]any{"bad": make(chan int), "good": 1}})
			return "<42>", nil
		}, tracer.Model)

		var planID, plainID, askParent string
		failure := errors.New("no such tool")
		err := tr.Trace(ctx, "plan", func(ctx context.Context) error {
			planID = tracer.EventID(ctx)
			// Another instrumentation, which knows nothing of sessions.
			ctx, plain := tr.Provider().Tracer("other").Start(ctx, "plain")
			defer plain.End()
			plainID, askParent = tracer.EventID(ctx), tracer.EventID(ctx)
			if answer, err := ask(ctx, question{"how much?", 9007199254740993}); answer != "<42>" || err != nil {
				t.Errorf("ask: %q, %v", answer, err)
			}
			return tr.Trace(ctx, "fetch", func(context.Context) error { return failure }, tracer.Tool, tracer.Fields{Inputs: "all"})
		})
		if !errors.Is(err, failure) {
			t.Errorf("Trace: %v", err)
		}
		func() {
			defer func() {
				if r := recover(); r != "boom" {
					t.Errorf("recovered %v", r)
				}
			}()
			_ = tr.Trace(ctx, "panics", func(context.Context) error { panic("boom") })
		}()
		var unset *brokenError
		if err := tr.Trace(ctx, "unset", func(context.Context) error { return unset }); !errors.Is(err, unset) {
			t.Errorf("Trace: %v", err)
		}
		// What the server would refuse takes nothing else along.
		deep := any("deep")
		for range 99 {
			deep = []any{deep}
		}
		tracer.EnrichSession(ctx, tracer.Fields{Metadata: map[string]any{"huge": json.Number("1e999"), "deep": deep, "fine": json.Number("1.50")}})
		tracer.EnrichSession(ctx, tracer.Fields{Outputs: map[string]any{"paid": true}, Feedback: map[string]any{"stars": 5}, Error: errors.New("late")})
		tr.Update(planID, tracer.Fields{Feedback: map[string]any{"ok": false}})
		flush(t, tr)

		evs := byName(t, c, id)
		if len(evs) != 7 {
			t.Fatalf("%d events, want the session and 6: %v", len(evs), evs)
		}
		want(t, evs["checkout"], `{"event_type":"session","event_id":"`+id+`","source":"test","inputs":{"cart":3},"metadata":{"plan":"pro","num_events":6,"fine":1.50,
			"huge":"!(json.Number: number outside the range of a double: 1e999)","deep":"!([]interface {}: nested deeper than 100)"},
			"user_properties":{"user_id":"u1"},"outputs":{"paid":true},"feedback":{"stars":5},"error":"late"}`)
		want(t, evs["plan"], `{"event_type":"chain","event_id":"`+planID+`","parent_id":"`+id+`","session_id":"`+id+`","source":"test",
			"error":"no such tool","feedback":{"ok":false}}`)
		want(t, evs["plain"], `{"event_id":"`+plainID+`","parent_id":"`+planID+`"}`)
		want(t, evs["ask"], `{"event_type":"model","parent_id":"`+askParent+`","inputs":{"text":"how much?","n":9007199254740993},"outputs":{"result":"<42>"},
			"config":{"model":"m-large"},"metrics":{"sure":0.75,"short":true},"metadata":{"good":1,"bad":"!(chan int: json: unsupported type: chan int)"}}`)
		want(t, evs["fetch"], `{"event_type":"tool","parent_id":"`+plainID+`","inputs":{"value":"all"},"error":"no such tool"}`)
		for _, name := range []string{"plain", "ask"} {
			if e := evs[name]["error"]; e != nil {
				t.Errorf("%s failed: %v", name, e)
			}
		}
		want(t, evs["panics"], `{"error":"panic: boom"}`)
		want(t, evs["unset"], `{"error":"<nil>","metadata":{"error_type":"*tracer_test.brokenError"}}`)
		if stack, _ := evs["panics"]["metadata"].(map[string]any)["error_stacktrace"].(string); !strings.Contains(stack, "TestSession") {
			t.Errorf("the panic's stack: %q", stack)
		}
		if got := tr.Counts(); got.Lost != 0 || got.Waiting != 0 || got.Sent != 11 {
			t.Errorf("counts %+v, want 6 spans and 5 calls", got)
		}
	})
}

// TestOrder updates a session many times: the last word stays, though calls go at the same time.
func TestOrder(t *testing.T) {
	inprocess.EachStore(t, func(t *testing.T, api string) {
		tr, c := open(t, api)
		var ids []string
		for range 5 {
			ctx, id := tr.StartSession(t.Context(), "s")
			ids = append(ids, id)
			for n := range 10 {
				tracer.EnrichSession(ctx, tracer.Fields{Metadata: map[string]any{"n": n}})
			}
		}
		flush(t, tr)
		for _, id := range ids {
			e, err := c.Event(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			want(t, e, `{"event_name":"s","metadata":{"n":9}}`)
		}
	})
}

// TestJoinSession goes on with a session in another tracer, by a key of the program's own, and in
// another service by the trace alone.
func TestJoinSession(t *testing.T) {
	inprocess.EachStore(t, func(t *testing.T, api string) {
		tr, c := open(t, api)
		ctx, id := tr.StartSession(t.Context(), "", tracer.SessionKey("conversation-42"))
		other, _ := open(t, api)
		joined := other.JoinSession(t.Context(), "conversation-42")
		if got := tracer.SessionID(joined); got != id {
			t.Fatalf("joined %s, want %s", got, id)
		}
		run := func(tr *tracer.Tracer, ctx context.Context, name string) context.Context {
			ctx, end := tr.Start(ctx, name)
			end(nil)
			return ctx
		}
		first := run(tr, ctx, "first")
		run(other, joined, "second")
		run(other, first, "third") // with the first's context, but of another tracer
		flush(t, tr)
		flush(t, other)
		evs := byName(t, c, id)
		if len(evs) != 4 {
			t.Fatalf("%d events, want 4: %v", len(evs), evs)
		}
		want(t, evs["third"], `{"parent_id":"`+tracer.EventID(first)+`","session_id":"`+id+`"}`)
		// A start that is repeated merges; a UUID is the session's id.
		given := uuid.NewString()
		if _, got := tr.StartSession(t.Context(), "given", tracer.SessionKey(given)); got != given {
			t.Errorf("session %s, want %s", got, given)
		}
	})
}

// TestExperiment checks the marks of a run's sessions and of all events in them.
func TestExperiment(t *testing.T) {
	inprocess.EachStore(t, func(t *testing.T, api string) {
		tr, c := open(t, api)
		run := uuid.NewString()
		x := tracer.Experiment{RunID: run, DatasetID: "EXT-abc", DatapointID: "EXT-1"}
		ctx, id := tr.StartSession(t.Context(), "trial", x, tracer.Fields{Metadata: map[string]any{"git": "main"}})
		_ = tr.Trace(ctx, "step", func(ctx context.Context) error {
			tracer.Enrich(ctx, tracer.Fields{Metadata: map[string]any{"mine": 1}})
			_, plain := tr.Provider().Tracer("other").Start(ctx, "plain")
			plain.End()
			return nil
		})
		flush(t, tr)
		evs := byName(t, c, id)
		marks := `"run_id":"` + run + `","dataset_id":"EXT-abc","datapoint_id":"EXT-1"`
		want(t, evs["trial"], `{"source":"evaluation","metadata":{"git":"main",`+marks+`}}`)
		want(t, evs["step"], `{"source":"evaluation","metadata":{"mine":1,`+marks+`}}`)
		want(t, evs["plain"], `{"source":"evaluation","metadata":{`+marks+`}}`)
	})
}

// TestLargeFields sends what the server would cut on a span, and updates of ended spans.
func TestLargeFields(t *testing.T) {
	inprocess.EachStore(t, func(t *testing.T, api string) {
		tr, c := open(t, api)
		long := strings.Repeat("long ", 300_000)
		ctx, id := tr.StartSession(t.Context(), "large", tracer.Fields{Inputs: map[string]any{"text": long}})
		var inside context.Context
		_ = tr.Trace(ctx, "step", func(ctx context.Context) error {
			inside = ctx
			tracer.Enrich(ctx, tracer.Fields{Inputs: map[string]any{"short": 1}})
			tracer.Enrich(ctx, tracer.Fields{Inputs: map[string]any{"text": long}, Outputs: long})
			return nil
		})
		// What is added later to a field that is large by then is added, and replaces what it names.
		_ = tr.Trace(ctx, "more", func(ctx context.Context) error {
			tracer.Enrich(ctx, tracer.Fields{Outputs: map[string]any{"documents": long, "state": "reading"}, Inputs: map[string]any{"draft": long}})
			tracer.Enrich(ctx, tracer.Fields{Outputs: map[string]any{"summary": "short", "state": "done"}, Inputs: map[string]any{"draft": "short"}})
			return nil
		})
		tracer.Enrich(inside, tracer.Fields{Metrics: map[string]any{"after": 1}})
		flush(t, tr)
		evs := byName(t, c, id)
		want(t, evs["large"], fmt.Sprintf(`{"inputs":{"text":%q}}`, long))
		step := evs["step"]
		want(t, step, fmt.Sprintf(`{"inputs":{"short":1,"text":%q},"outputs":{"result":%q},"metrics":{"after":1}}`, long, long))
		want(t, evs["more"], fmt.Sprintf(`{"inputs":{"draft":"short"},"outputs":{"documents":%q,"state":"done","summary":"short"}}`, long))
		if _, cut := step["metadata"].(map[string]any)["truncated"]; cut {
			t.Error("a field was cut")
		}
	})
}

// TestProvider adds a tracer to a provider that exports elsewhere, too, and takes it off again.
func TestProvider(t *testing.T) {
	api, _ := inprocess.Start(t, inprocess.SQLite(t))
	elsewhere := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(elsewhere))
	tr, c := open(t, api, tracer.WithProvider(provider))
	ctx, id := tr.StartSession(t.Context(), "shared")
	_, span := provider.Tracer("theirs").Start(ctx, "their span")
	span.End()
	if err := tr.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, span = provider.Tracer("theirs").Start(ctx, "after")
	span.End()
	if n := len(elsewhere.GetSpans()); n != 2 {
		t.Errorf("%d spans elsewhere, want 2", n)
	}
	if evs := byName(t, c, id); evs["their span"] == nil || evs["after"] != nil {
		t.Errorf("events %v", evs)
	}
	if err := c.JSON(t.Context(), http.MethodGet, "/v1/events/"+id, nil, nil); err != nil {
		t.Error(err)
	}
}
