package spangroveexporter

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/project"
)

// noteStore keeps the contents of the notes that each project got, one text a Put.
type noteStore struct {
	fakeStore
	notes   map[int64][]string
	refuses string // batches with this text
}

func (s *noteStore) Put(ctx context.Context, projectID int64, b event.Batch) error {
	if err := s.fails[projectID]; err != nil {
		return err
	}
	var all []string
	for _, n := range b.LogParts {
		all = append(all, fmt.Sprintf("%s", n.Content))
	}
	for i := range b.Events {
		all = append(all, string(b.Events[i].Type)+" "+b.Events[i].Name)
	}
	if text := strings.Join(all, " "); s.refuses != "" && strings.Contains(text, `"content":"`+s.refuses+`"`) {
		return fault.New(fault.Invalid, "refused")
	}
	if s.notes == nil {
		s.notes = map[int64][]string{}
	}
	s.notes[projectID] = append(s.notes[projectID], strings.Join(all, " "))
	return nil
}

// records makes log records of one resource: "hi" is a message of a user, "-hi" one without a
// span, "line" a line of a log.
func records(stamp string, texts ...string) plog.Logs {
	ld := plog.NewLogs()
	rl := ld.ResourceLogs().AppendEmpty()
	if stamp != "" {
		rl.Resource().Attributes().PutStr(project.AttrProjectID, stamp)
	}
	list := rl.ScopeLogs().AppendEmpty().LogRecords()
	for _, text := range texts {
		r := list.AppendEmpty()
		r.Body().SetStr(strings.TrimPrefix(text, "-"))
		if !strings.HasPrefix(text, "-") {
			r.SetTraceID(pcommon.TraceID{1})
			r.SetSpanID(pcommon.SpanID{2})
		}
		if text != "line" {
			r.SetEventName("gen_ai.user.message")
		}
	}
	return ld
}

func joinLogs(all ...plog.Logs) plog.Logs {
	ld := plog.NewLogs()
	for _, one := range all {
		one.ResourceLogs().MoveAndAppendTo(ld.ResourceLogs())
	}
	return ld
}

func startedLogs(t *testing.T, s *noteStore, set component.TelemetrySettings) *spangroveExporter {
	t.Helper()
	settings := exportertest.NewNopSettings(componentType)
	settings.TelemetrySettings = set
	e, err := newExporter(settings, createDefaultConfig().(*Config))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.start(t.Context(), hostOf(s)); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestConsumeLogs(t *testing.T) {
	t.Parallel()
	said := func(text string) string { return `[{"role":"user","content":"` + text + `"}]` }
	caller := client.NewContext(context.Background(), client.Info{Auth: project.Identity{Project: project.Project{ID: 3, PublicID: "p3"}}})
	for _, tt := range []struct {
		name string
		ctx  context.Context
		ld   plog.Logs
		want map[int64]string // the one Put of each project
		err  string
	}{
		{"empty", context.Background(), plog.NewLogs(), nil, ""},
		{"messages", context.Background(), records("", "a", "b"), map[int64]string{1: said("a") + " " + said("b")}, ""},
		{"several projects", context.Background(), joinLogs(records("p2", "a"), records("", "b"), records("p2", "c")), map[int64]string{2: said("a") + " " + said("c"), 1: said("b")}, ""},
		{"the caller wins over the stamp", caller, joinLogs(records("p2", "a"), records("", "b")), map[int64]string{3: said("a") + " " + said("b")}, ""},
		{"lines of a log", context.Background(), records("", "line", "line"), nil, ""},
		{"some name no span", context.Background(), records("", "-a", "b"), map[int64]string{1: said("b")}, ""},
		{"none names a span", context.Background(), records("", "-a"), nil, "log record of span 0000000000000000 of trace 00000000000000000000000000000000: a trace id"},
		{"project gone", context.Background(), records("p9", "a"), nil, "no such project"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &noteStore{}
			err := startedLogs(t, s, componenttest.NewNopTelemetrySettings()).consumeLogs(tt.ctx, tt.ld)
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err) || !consumererror.IsPermanent(err)) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if len(s.notes) != len(tt.want) {
				t.Errorf("puts = %v, want %v", s.notes, tt.want)
			}
			for id, want := range tt.want {
				if !slices.Equal(s.notes[id], []string{want}) {
					t.Errorf("project %d got %v, want one write of %q", id, s.notes[id], want)
				}
			}
		})
	}
}

// TestLogsOfTheQueue: of a batch that the queue made of several requests, only the records are lost whose project is gone, or which
// the store refuses.
func TestLogsOfTheQueue(t *testing.T) {
	t.Parallel()
	s := &noteStore{refuses: "b"}
	e := startedLogs(t, s, componenttest.NewNopTelemetrySettings())
	e.cfg = loadConfig(t, "spangrove/queue")
	err := e.consumeLogs(t.Context(), joinLogs(records("p9", "x"), records("", "a"), records("", "b"), records("p2", "y"), records("", "c")))
	if !consumererror.IsPermanent(err) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("error %v, want a permanent one", err)
	}
	all := fmt.Sprint(s.notes)
	for text, stored := range map[string]bool{"a": true, "b": false, "c": true, "x": false, "y": true} {
		if got := strings.Contains(all, `"content":"`+text+`"`); got != stored {
			t.Errorf("%s stored: %v, want %v", text, got, stored)
		}
	}
}

// TestRecordsThatTheStoreRefuses: a record that only the store can tell to be wrong is left out, as a span is.
func TestRecordsThatTheStoreRefuses(t *testing.T) {
	t.Parallel()
	many := make([]string, 300)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for _, tt := range []struct {
		name, refuses string
		texts         []string
		left          int
		fails         bool
	}{
		{"one of three", "b", []string{"a", "b", "line", "c"}, 1, false},
		{"one of many", "77", many, 1, false},
		{"the only one", "b", []string{"b", "line"}, 0, true},
		{"all", "b", []string{"b", "b"}, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &noteStore{refuses: tt.refuses}
			ctx, told := mount.WithLeftOut(t.Context())
			err := startedLogs(t, s, componenttest.NewNopTelemetrySettings()).consumeLogs(ctx, records("", tt.texts...))
			if (err != nil) != tt.fails {
				t.Errorf("error %v, want one: %v", err, tt.fails)
			}
			if n, why := told.Told(); n != tt.left || n > 0 && why != "refused" {
				t.Errorf("told of %d records (%q), want %d", n, why, tt.left)
			}
			all := strings.Join(s.notes[1], " ")
			for _, text := range tt.texts {
				if got := strings.Contains(all, `"content":"`+text+`"`); got != (text != tt.refuses && text != "line") {
					t.Errorf("%s stored: %v", text, got)
				}
			}
		})
	}
}

// TestHalvesOfLogs divides a request down to its records: each piece has what its events need, what one record becomes stays
// together, and nothing is read anew.
func TestHalvesOfLogs(t *testing.T) {
	t.Parallel()
	ld := records("", "a", "b")
	list := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
	list.At(0).Attributes().PutStr("long", strings.Repeat("x", 2<<20)) // its cut is a part of its own
	for i, session := range []string{"s1", "s1", "s2"} {
		r := list.AppendEmpty()
		r.Body().SetStr("claude_code.tool_result")
		r.Attributes().PutStr("session.id", session)
		r.Attributes().PutStr("tool_use_id", fmt.Sprint(i))
	}
	whole := startedLogs(t, &noteStore{}, componenttest.NewNopTelemetrySettings()).splitLogs(t.Context(), ld)[0]
	if whole.records != 5 || len(whole.batch.Events) != 3 || len(whole.batch.LogParts) < 3 {
		t.Fatalf("%d records, %d events, %d parts", whole.records, len(whole.batch.Events), len(whole.batch.LogParts))
	}
	var events []event.Incoming
	var parts []event.LogPart
	leaves := 0
	var walk func(p logPart)
	walk = func(p logPart) {
		if a, b, ok := p.halves(); ok {
			walk(a)
			walk(b)
			return
		}
		leaves++
		events, parts = append(events, p.batch.Events...), append(parts, p.batch.LogParts...)
		for _, e := range p.batch.Events {
			if len(p.batch.Sessions) != 1 || p.batch.Sessions[0].SessionID != e.SessionID || len(p.batch.Traces) != 1 || p.batch.Traces[0].TraceID != e.TraceID {
				t.Errorf("event of session %s has %+v and %+v", e.SessionID, p.batch.Sessions, p.batch.Traces)
			}
		}
	}
	walk(whole)
	if leaves != 5 {
		t.Errorf("%d pieces, want 5", leaves)
	}
	if d := cmp.Diff(whole.batch.Events, events); d != "" {
		t.Errorf("events (-whole +pieces):\n%s", d)
	}
	if d := cmp.Diff(whole.batch.LogParts, parts); d != "" {
		t.Errorf("log parts (-whole +pieces):\n%s", d)
	}
}

// TestConsumeSteps holds that the step of an agent, which names no span, is stored as an event.
func TestConsumeSteps(t *testing.T) {
	t.Parallel()
	s := &noteStore{}
	e := startedLogs(t, s, componenttest.NewNopTelemetrySettings())
	ld := records("", "-claude_code.tool_result")
	r := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)
	r.SetEventName("")
	r.Attributes().PutStr("session.id", "s")
	r.Attributes().PutStr("tool_name", "Bash")
	if err := e.consumeLogs(t.Context(), ld); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.notes[1], ";"); got != "tool Bash" {
		t.Errorf("stored %q", got)
	}
}

func TestLogsLifecycle(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"spangrove", "spangrove/all"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			e, err := NewFactory().CreateLogs(t.Context(), exportertest.NewNopSettings(componentType), loadConfig(t, id))
			if err != nil {
				t.Fatal(err)
			}
			s := &noteStore{}
			h := hostOf(s)
			h[component.MustNewIDWithName("spangrove_store", "other")] = h[component.MustNewID("spangrove_store")]
			for range 2 {
				if err := e.Start(t.Context(), h); err != nil {
					t.Fatal(err)
				}
			}
			ctx := client.NewContext(t.Context(), client.Info{Auth: project.Identity{Project: project.Project{ID: 2, PublicID: "p2"}}})
			if err := e.ConsumeLogs(ctx, records("", "a")); err != nil {
				t.Error(err)
			}
			for range 2 {
				if err := e.Shutdown(t.Context()); err != nil {
					t.Errorf("Shutdown: %v", err)
				}
			}
			if len(s.notes[2]) != 1 {
				t.Errorf("puts = %v, want one for the caller's project", s.notes)
			}
		})
	}
}

func TestLogsTelemetry(t *testing.T) {
	t.Parallel()
	tel := componenttest.NewTelemetry()
	t.Cleanup(func() { _ = tel.Shutdown(context.Background()) })
	s := &noteStore{}
	e := startedLogs(t, s, tel.NewTelemetrySettings())
	_ = e.consumeLogs(t.Context(), records("", "a", "-b", "line", "line"))
	s.fails = map[int64]error{1: fault.New(fault.Unavailable, "busy")}
	_ = e.consumeLogs(t.Context(), records("", "a", "line"))
	s.fails = nil // the sender tries again
	_ = e.consumeLogs(t.Context(), records("", "a", "line"))
	for name, want := range map[string]int64{
		"spangrove_exporter_stored_log_parts": 2, "spangrove_exporter_rejected_log_records": 2, "spangrove_exporter_dropped_log_records": 3,
	} {
		m, err := tel.GetMetric(name)
		if err != nil {
			t.Fatal(err)
		}
		var got int64
		for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
			got += p.Value
		}
		if got != want {
			t.Errorf("%s = %d, want %d", name, got, want)
		}
	}
}
