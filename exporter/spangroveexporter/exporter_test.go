package spangroveexporter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/otlpmap"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/spancodec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeStore keeps the names of the events each project got, one slice a Put.
type fakeStore struct {
	mu    sync.Mutex
	puts  map[int64][][]string
	fails map[int64]error
	// refuses are errors of batches with an event of that name.
	refuses map[string]error
	tries   int           // how often Put was called
	mends   int           // how many Puts of all may fail by fails; 0: any number
	called  chan struct{} // told of each Put; nil: nobody is
}

// awaitPut waits for what is stored behind a queue, and reports whether it came: one batch of a project.
func (f *fakeStore) awaitPut(projectID int64) bool {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		f.mu.Lock()
		n := len(f.puts[projectID])
		f.mu.Unlock()
		if n == 1 {
			return true
		}
	}
	return false
}

func (f *fakeStore) Put(_ context.Context, projectID int64, b event.Batch) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tries++
	if f.called != nil {
		f.called <- struct{}{}
	}
	if err := f.fails[projectID]; err != nil && (f.mends == 0 || f.tries <= f.mends) {
		return err
	}
	var names []string
	for _, e := range b.Events {
		if err := f.refuses[e.Name]; err != nil {
			return err
		}
		names = append(names, e.Name)
	}
	if f.puts == nil {
		f.puts = map[int64][][]string{}
	}
	f.puts[projectID] = append(f.puts[projectID], names)
	return nil
}

func (f *fakeStore) DefaultProject(context.Context) (project.Project, error) {
	return project.Project{ID: 1, PublicID: "p1"}, nil
}

func (f *fakeStore) ProjectByPublicID(_ context.Context, id string) (project.Project, error) {
	switch id {
	case "p1", "p2", "p3":
		return project.Project{ID: int64(id[1] - '0'), PublicID: id}, nil
	}
	return project.Project{}, fault.New(fault.NotFound, "no such project")
}

type storeExtension struct {
	component.Component
	store any
}

func (s storeExtension) Store() any { return s.store }

type host map[component.ID]component.Component

func (h host) GetExtensions() map[component.ID]component.Component { return h }

func hostOf(store any) host {
	return host{component.MustNewID("spangrove_store"): storeExtension{store: store}}
}

// namesOnly maps every foreign span to an event of its name; a span named "bad" is rejected.
func namesOnly(td ptrace.Traces) (b event.Batch, r []otlpmap.Rejection) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				if span.Name() == "bad" {
					r = append(r, otlpmap.Rejection{TraceID: "00", SpanID: "01", Reason: "no trace id"})
					continue
				}
				b.Events = append(b.Events, event.Incoming{Event: event.Event{Name: span.Name()}})
			}
		}
	}
	return b, r
}

func started(t *testing.T, s *fakeStore) *spangroveExporter {
	t.Helper()
	e, err := newExporter(exportertest.NewNopSettings(componentType), createDefaultConfig().(*Config))
	if err != nil {
		t.Fatal(err)
	}
	e.mapper = namesOnly
	if err := e.start(t.Context(), hostOf(s)); err != nil {
		t.Fatal(err)
	}
	return e
}

func native(names ...string) ptrace.Traces {
	session := uuid.New()
	var events []event.Incoming
	for _, n := range names {
		events = append(events, event.Incoming{Event: event.Event{
			ID: uuid.New(), SessionID: session, ParentID: session, Type: event.TypeTool, Name: n, Source: "test", Start: 1, End: 2, Duration: 1,
		}})
	}
	return spancodec.Traces(events)
}

func foreign(names ...string) ptrace.Traces {
	td := ptrace.NewTraces()
	ss := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
	ss.Scope().SetName("openinference")
	for _, n := range names {
		ss.Spans().AppendEmpty().SetName(n)
	}
	return td
}

func stamped(td ptrace.Traces, publicID string) ptrace.Traces {
	for _, rs := range td.ResourceSpans().All() {
		rs.Resource().Attributes().PutStr(project.AttrProjectID, publicID)
	}
	return td
}

func join(all ...ptrace.Traces) ptrace.Traces {
	td := ptrace.NewTraces()
	for _, one := range all {
		one.ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
	}
	return td
}

// TestReservedSource has senders use the source of the server's evaluators.
func TestReservedSource(t *testing.T) {
	t.Parallel()
	e := started(t, &fakeStore{})
	e.mapper = func(ptrace.Traces) (b event.Batch, _ []otlpmap.Rejection) {
		b.Events = []event.Incoming{{Event: event.Event{Source: "evaluator"}}, {Event: event.Event{Source: "evaluation"}}}
		b.Sessions = []event.SessionHint{{Source: "evaluator"}}
		return b, nil
	}
	td := native("n")
	td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes().PutStr("spangrove.source", "evaluator")
	for scope, want := range map[project.Scope]string{
		"": "client_evaluator", project.ScopeIngest: "client_evaluator", project.ScopeFull: "evaluator", project.ScopeAdmin: "evaluator",
	} {
		ctx := t.Context()
		if scope != "" {
			ctx = project.WithIdentity(ctx, project.Identity{Project: project.Project{ID: 1, PublicID: "p1"}, Scope: scope})
		}
		parts := e.split(ctx, join(td, foreign("f")))
		if len(parts) != 1 {
			t.Fatal(parts)
		}
		b, _, err := e.events(parts[0])
		if err != nil {
			t.Fatal(err)
		}
		if b.Events[0].Source != want || b.Events[1].Source != "evaluation" || b.Events[2].Source != want || b.Sessions[0].Source != want {
			t.Errorf("scope %q: %+v", scope, b)
		}
		td = native("n")
		td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes().PutStr("spangrove.source", "evaluator")
	}
}

func TestConsumeTraces(t *testing.T) {
	t.Parallel()
	caller := project.Identity{Project: project.Project{ID: 3, PublicID: "p3"}}
	byClient := client.NewContext(context.Background(), client.Info{Auth: caller})
	byValue := project.WithIdentity(context.Background(), caller)
	byOther := project.WithIdentity(context.Background(), project.Identity{Project: project.Project{ID: 2, PublicID: "p3"}})
	mixed := func() ptrace.Traces {
		td := native("n1", "n2")
		foreign("f1").ResourceSpans().At(0).ScopeSpans().MoveAndAppendTo(td.ResourceSpans().At(0).ScopeSpans())
		return td
	}
	for _, tt := range []struct {
		name string
		ctx  context.Context
		td   ptrace.Traces
		want map[int64]string // the one Put of each project
	}{
		{"empty", context.Background(), ptrace.NewTraces(), nil},
		{"foreign", context.Background(), foreign("a", "b"), map[int64]string{1: "a b"}},
		{"native", context.Background(), native("a", "b"), map[int64]string{1: "a b"}},
		{"both in one resource, one write", context.Background(), mixed(), map[int64]string{1: "f1 n1 n2"}},
		{"both in two resources, one write", context.Background(), join(native("n"), foreign("f")), map[int64]string{1: "f n"}},
		{"stamped", context.Background(), stamped(native("a"), "p2"), map[int64]string{2: "a"}},
		{"several projects", context.Background(), join(stamped(native("a"), "p2"), stamped(foreign("b"), "p3"), stamped(foreign("c"), "p2"), foreign("d")), map[int64]string{2: "c a", 3: "b", 1: "d"}},
		{"the caller wins over the stamp", byClient, join(stamped(native("a"), "p2"), foreign("b")), map[int64]string{3: "b a"}},
		{"the caller of a plain context", byValue, stamped(foreign("a"), "p2"), map[int64]string{3: "a"}},
		{"a caller whose project another store numbers", byOther, foreign("a"), map[int64]string{3: "a"}},
		{"some cannot be events", context.Background(), foreign("a", "bad", "b"), map[int64]string{1: "a b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &fakeStore{}
			if err := started(t, s).consumeTraces(tt.ctx, tt.td); err != nil {
				t.Fatal(err)
			}
			if len(s.puts) != len(tt.want) {
				t.Errorf("puts = %v, want %v", s.puts, tt.want)
			}
			for id, want := range tt.want {
				if !slices.EqualFunc(s.puts[id], []string{want}, func(a []string, b string) bool { return strings.Join(a, " ") == b }) {
					t.Errorf("project %d got %v, want one write of %q", id, s.puts[id], want)
				}
			}
		})
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	broken := native("a", "b")
	broken.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(1).Attributes().PutStr("spangrove.event_type", "sonnet")
	down := fault.New(fault.Unavailable, "busy")
	bad := fault.InvalidField("events[0].inputs", "must be an object")
	full := fault.New(fault.Limited, "over the limit")
	for _, tt := range []struct {
		name      string
		td        ptrace.Traces
		fails     map[int64]error
		permanent bool
		code      codes.Code
		message   string
	}{
		{"busy", native("a"), map[int64]error{1: down}, false, codes.Unavailable, "busy"},
		{"invalid", native("a"), map[int64]error{1: bad}, true, codes.InvalidArgument, "events[0].inputs: must be an object"},
		{"unknown", native("a"), map[int64]error{1: errors.New("disk on fire")}, false, codes.Internal, "INTERNAL_ERROR"},
		{"changed by a processor", broken, nil, true, codes.InvalidArgument, `events[1].event_type: unknown event type "sonnet"; must be one of model, tool, chain, session, generic`},
		{"nothing to store", foreign("bad", "bad"), nil, true, codes.InvalidArgument, "span 01 of trace 00: no trace id"},
		{"project gone", stamped(native("a"), "p9"), nil, true, codes.NotFound, "no such project"},
		{"one over its limit, one busy", join(stamped(native("a"), "p1"), stamped(native("b"), "p2")), map[int64]error{1: full, 2: down}, false, codes.Unavailable, "busy"},
		{"one busy, one invalid", join(stamped(native("a"), "p1"), stamped(native("b"), "p2")), map[int64]error{1: bad, 2: down}, false, codes.Unavailable, "busy"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &fakeStore{fails: tt.fails}
			err := started(t, s).consumeTraces(t.Context(), tt.td)
			if got := consumererror.IsPermanent(err); got != tt.permanent {
				t.Errorf("permanent = %v, want %v (%v)", got, tt.permanent, err)
			}
			var g interface{ GRPCStatus() *status.Status }
			if !errors.As(err, &g) || g.GRPCStatus().Code() != tt.code || g.GRPCStatus().Message() != tt.message {
				t.Errorf("error %v, want status %v %q", err, tt.code, tt.message)
			}
			if tt.name == "changed by a processor" && len(s.puts) != 0 {
				t.Errorf("part of a broken request was stored: %v", s.puts)
			}
		})
	}
}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"spangrove", "spangrove/all"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			make := func() exporter.Traces {
				e, err := NewFactory().CreateTraces(t.Context(), exportertest.NewNopSettings(componentType), loadConfig(t, id))
				if err != nil {
					t.Fatal(err)
				}
				return e
			}
			if err := make().Shutdown(t.Context()); err != nil {
				t.Errorf("Shutdown before Start: %v", err)
			}
			s := &fakeStore{}
			h := hostOf(s)
			h[component.MustNewIDWithName("spangrove_store", "other")] = h[component.MustNewID("spangrove_store")]
			e := make()
			for range 2 {
				if err := e.Start(t.Context(), h); err != nil {
					t.Fatal(err)
				}
			}
			caller := project.Identity{Project: project.Project{ID: 2, PublicID: "p2"}}
			ctx := client.NewContext(t.Context(), client.Info{Auth: caller})
			if err := e.ConsumeTraces(ctx, native("a")); err != nil {
				t.Error(err)
			}
			for range 2 {
				if err := e.Shutdown(t.Context()); err != nil {
					t.Errorf("Shutdown: %v", err)
				}
			}
			if len(s.puts[2]) != 1 {
				t.Errorf("puts = %v, want one for the caller's project", s.puts)
			}
		})
	}
}

// TestQueue answers before the store does: what the store cannot take at first is stored once it can, and the log warns of a queue in memory.
func TestQueue(t *testing.T) {
	t.Parallel()
	core, logged := observer.New(zap.WarnLevel)
	set := exportertest.NewNopSettings(componentType)
	set.Logger = zap.New(core)
	cfg := loadConfig(t, "spangrove/queue")
	cfg.Retry.InitialInterval = time.Millisecond
	e, err := NewFactory().CreateTraces(t.Context(), set, cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &fakeStore{fails: map[int64]error{1: fault.New(fault.Unavailable, "down")}}
	if err := e.Start(t.Context(), hostOf(s)); err != nil {
		t.Fatal(err)
	}
	if err := e.ConsumeTraces(t.Context(), native("a")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond) // some attempts
	s.mu.Lock()
	s.fails = nil
	s.mu.Unlock()
	if !s.awaitPut(1) {
		t.Error("what was answered with success is not stored")
	}
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if n := logged.FilterMessageSnippet("does not mean that data is stored").Len(); n != 1 {
		t.Errorf("the log warns %d times", n)
	}
}

// TestQueueGoesOn: what one project's data meets keeps a consumer of the queue from no other project's.
func TestQueueGoesOn(t *testing.T) {
	t.Parallel()
	set := exportertest.NewNopSettings(componentType)
	cfg := loadConfig(t, "spangrove/queue")
	cfg.Queue.Get().NumConsumers = 1
	e, err := NewFactory().CreateTraces(t.Context(), set, cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &fakeStore{fails: map[int64]error{2: fault.New(fault.Limited, "the project has stored 100 bytes, and may store 100")}}
	if err := e.Start(t.Context(), hostOf(s)); err != nil {
		t.Fatal(err)
	}
	for _, td := range []ptrace.Traces{stamped(native("full"), "p2"), stamped(native("a"), "p1")} {
		if err := e.ConsumeTraces(t.Context(), td); err != nil {
			t.Fatal(err)
		}
	}
	if !s.awaitPut(1) {
		t.Error("a project over its limit keeps the data of another one from being stored")
	}
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestGivesUp: where the exporter tries again by itself, it goes on only while the store cannot take anything.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		err       error
		permanent bool
		tries     int
	}{
		{"down", fault.New(fault.Unavailable, "down"), false, 1},
		{"slow", context.DeadlineExceeded, false, 1},
		{"over the limit", fault.New(fault.Limited, "full"), true, 1},
		{"invalid", fault.New(fault.Invalid, "bad"), true, 1},
		{"unknown", errors.New("index row size 4024 exceeds maximum 2704"), true, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &fakeStore{fails: map[int64]error{1: tt.err}}
			e := started(t, s)
			e.cfg.Retry.Enabled, e.pauses = true, []time.Duration{time.Millisecond, time.Millisecond}
			err := e.consumeTraces(t.Context(), native("a"))
			if got := consumererror.IsPermanent(err); got != tt.permanent || !errors.Is(err, tt.err) {
				t.Errorf("permanent = %v, want %v (%v)", got, tt.permanent, err)
			}
			if s.tries != tt.tries {
				t.Errorf("%d tries, want %d", s.tries, tt.tries)
			}
		})
	}
	s := &fakeStore{fails: map[int64]error{1: errors.New("odd")}, mends: 2}
	e := started(t, s)
	e.cfg.Retry.Enabled, e.pauses = true, []time.Duration{time.Millisecond, time.Millisecond}
	if err := e.consumeTraces(t.Context(), native("a")); err != nil || len(s.puts[1]) != 1 {
		t.Errorf("an error that passes: %v, %v", err, s.puts)
	}
}

// TestStopWhileTrying: what is being tried again when the exporter is to stop holds nobody up, and is not given up.
func TestStopWhileTrying(t *testing.T) {
	t.Parallel()
	s := &fakeStore{fails: map[int64]error{1: errors.New("odd")}, called: make(chan struct{}, 1)}
	e := started(t, s)
	e.cfg.Retry.Enabled, e.pauses = true, []time.Duration{time.Hour}
	done := make(chan error)
	go func() { done <- e.consumeTraces(context.Background(), native("a")) }()
	<-s.called
	close(e.stopping)
	if err := <-done; err == nil || consumererror.IsPermanent(err) {
		t.Errorf("error %v, want one after which the queue keeps the data", err)
	}
}

// TestProjectGone: of a batch that the queue made of several projects' data, that of one which is gone is lost alone.
func TestProjectGone(t *testing.T) {
	t.Parallel()
	s := &fakeStore{}
	err := started(t, s).consumeTraces(t.Context(), join(stamped(native("a"), "p9"), stamped(native("b"), "p2"), stamped(foreign("c"), "p9")))
	if !consumererror.IsPermanent(err) || fault.Of(err) != fault.NotFound {
		t.Errorf("error %v, want the project that is gone", err)
	}
	if len(s.puts[2]) != 1 {
		t.Errorf("puts = %v, want one of project 2", s.puts)
	}
}

// TestBatchOfTheQueue: requests that the queue stores together are stored without those that the store refuses.
func TestBatchOfTheQueue(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		err      error
		poison   []int // which of the requests are refused
		early    bool
		stored   int
		attempts int // at most
	}{
		{"one is invalid", fault.New(fault.Invalid, "session_id: is the id of an event"), []int{5}, true, 15, 12},
		{"one meets an unknown error", errors.New("odd"), []int{5}, true, 15, 12},
		{"two are invalid", fault.New(fault.Invalid, "bad"), []int{0, 15}, true, 14, 20},
		{"all are invalid", fault.New(fault.Invalid, "bad"), []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, true, 0, 31},
		{"the store is broken", errors.New("odd"), []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, true, 0, 5},
		{"the sender waits for the answer", fault.New(fault.Invalid, "bad"), []int{5}, false, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &fakeStore{refuses: map[string]error{}}
			var all []ptrace.Traces
			for i := range 16 {
				all = append(all, native(fmt.Sprint(i)))
			}
			for _, i := range tt.poison {
				s.refuses[fmt.Sprint(i)] = tt.err
			}
			e := started(t, s)
			if tt.early {
				e.cfg = loadConfig(t, "spangrove/queue")
				e.pauses = []time.Duration{time.Millisecond, time.Millisecond}
			}
			err := e.consumeTraces(t.Context(), join(all...))
			if !consumererror.IsPermanent(err) || !errors.Is(err, tt.err) {
				t.Errorf("error %v, want a permanent one: %v", err, tt.err)
			}
			stored := 0
			for _, names := range s.puts[1] {
				stored += len(names)
			}
			if stored != tt.stored || s.tries > tt.attempts {
				t.Errorf("%d events stored by %d writes, want %d by %d at most", stored, s.tries, tt.stored, tt.attempts)
			}
		})
	}
}

// TestSpansThatTheStoreRefuses: a span that only the store can tell to be wrong is left out, as one is that the mapper rejects.
func TestSpansThatTheStoreRefuses(t *testing.T) {
	t.Parallel()
	bad := fault.New(fault.Invalid, "session_id: is the id of an event in another session")
	many := make([]string, 300)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for _, tt := range []struct {
		name     string
		td       ptrace.Traces
		refuses  []string
		err      error // of what is refused
		fails    bool
		stored   int
		attempts int // at most
	}{
		{"one of three", foreign("a", "b", "c"), []string{"b"}, bad, false, 2, 5},
		{"one of many", foreign(many...), []string{"77"}, bad, false, 299, 20},
		{"all", foreign("a", "b"), []string{"a", "b"}, bad, true, 0, 3},
		{"too many to be found", foreign(many...), many[100:], bad, true, 0, maxWrites + 1},
		{"an internal error", foreign("a", "b", "c"), []string{"b"}, errors.New("odd"), true, 0, 1},
		{"a native event, of whose place the sender is told", native("a", "b", "c"), []string{"b"}, bad, true, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &fakeStore{refuses: map[string]error{}}
			for _, name := range tt.refuses {
				s.refuses[name] = tt.err
			}
			ctx, told := mount.WithLeftOut(t.Context())
			err := started(t, s).consumeTraces(ctx, tt.td)
			if (err != nil) != tt.fails || err != nil && !errors.Is(err, tt.err) {
				t.Errorf("error %v, want one: %v", err, tt.fails)
			}
			want, why := 0, "" // a request that fails is answered with its error
			if !tt.fails {
				want, why = len(tt.refuses), bad.Error()
			}
			if n, reason := told.Told(); n != want || reason != why {
				t.Errorf("told of %d spans (%q), want %d (%q)", n, reason, want, why)
			}
			stored := 0
			for _, names := range s.puts[1] {
				stored += len(names)
			}
			if stored != tt.stored && tt.name != "too many to be found" || s.tries > tt.attempts {
				t.Errorf("%d events stored by %d writes, want %d by %d at most", stored, s.tries, tt.stored, tt.attempts)
			}
		})
	}
}

// TestScopes: a key that may only read writes nothing, whichever receiver it came by.
func TestScopes(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"spangrove", "spangrove/queue"} {
		for scope, may := range map[project.Scope]bool{project.ScopeRead: false, project.ScopeIngest: true, project.ScopeFull: true, project.ScopeAdmin: true, "": true} {
			set, s := exportertest.NewNopSettings(componentType), &fakeStore{}
			traces, err := NewFactory().CreateTraces(t.Context(), set, loadConfig(t, id))
			if err != nil {
				t.Fatal(err)
			}
			logs, err := NewFactory().CreateLogs(t.Context(), set, loadConfig(t, id))
			if err != nil {
				t.Fatal(err)
			}
			ctx := client.NewContext(t.Context(), client.Info{Auth: project.Identity{Project: project.Project{ID: 2, PublicID: "p2"}, Scope: scope}})
			var errs []error
			for _, c := range []component.Component{traces, logs} {
				if err := c.Start(t.Context(), hostOf(s)); err != nil {
					t.Fatal(err)
				}
			}
			errs = append(errs, traces.ConsumeTraces(ctx, native("a")), logs.ConsumeLogs(ctx, plog.NewLogs()))
			for _, c := range []component.Component{traces, logs} { // what is queued is written
				if err := c.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			}
			for _, err := range errs {
				if may != (err == nil) || !may && (!consumererror.IsPermanent(err) || fault.Of(err) != fault.Forbidden) {
					t.Errorf("%s, scope %q: %v", id, scope, err)
				}
			}
			if n := len(s.puts[2]); may != (n == 1) {
				t.Errorf("%s, scope %q: %d puts", id, scope, n)
			}
		}
	}
}

func TestStartNamesTheSetting(t *testing.T) {
	t.Parallel()
	e, err := NewFactory().CreateTraces(t.Context(), exportertest.NewNopSettings(componentType), createDefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	err = e.Start(t.Context(), componenttest.NewNopHost())
	if err == nil || !strings.Contains(err.Error(), "::store: no extension \"spangrove_store\" runs") || !strings.HasPrefix(err.Error(), "exporters::spangrove/") {
		t.Errorf("Start: %v", err)
	}
}

func TestTelemetry(t *testing.T) {
	t.Parallel()
	tel := componenttest.NewTelemetry()
	t.Cleanup(func() { _ = tel.Shutdown(context.Background()) })
	set := exportertest.NewNopSettings(componentType)
	set.TelemetrySettings = tel.NewTelemetrySettings()
	e, err := newExporter(set, createDefaultConfig().(*Config))
	if err != nil {
		t.Fatal(err)
	}
	e.mapper = namesOnly
	s := &fakeStore{}
	if err := e.start(t.Context(), hostOf(s)); err != nil {
		t.Fatal(err)
	}
	_ = e.consumeTraces(t.Context(), foreign("a", "b", "bad"))
	s.fails = map[int64]error{1: fault.New(fault.Unavailable, "busy")}
	_ = e.consumeTraces(t.Context(), native("c"))
	s.fails, s.refuses = nil, map[string]error{"f": fault.New(fault.Invalid, "bad")}
	_ = e.consumeTraces(t.Context(), foreign("d", "bad", "e", "f"))
	_ = e.consumeTraces(t.Context(), foreign("bad", "bad"))

	sum := func(name string) map[string]int64 {
		m, err := tel.GetMetric(name)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int64{}
		for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
			reason, _ := p.Attributes.Value("reason")
			got[reason.AsString()] += p.Value
		}
		return got
	}
	if got := sum("spangrove_exporter_stored_events"); got[""] != 4 {
		t.Errorf("stored %v, want 4", got)
	}
	if got := sum("spangrove_exporter_rejected_spans"); got["no trace id"] != 4 || got["unavailable"] != 1 || got["validation_error"] != 1 {
		t.Errorf("rejected %v, want four with no trace id, one unavailable and one invalid", got)
	}
	if m, err := tel.GetMetric("spangrove_exporter_put_duration"); err != nil || m.Unit != "s" {
		t.Errorf("put duration: %+v, %v", m, err)
	}
}
