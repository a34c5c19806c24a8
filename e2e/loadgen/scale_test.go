package main

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

var smallBase = time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)

func TestSmallEventsSameSeedSameBytes(t *testing.T) {
	bytes := func(seed uint64, first, end int) string {
		g := NewSmallGenerator(seed, 12_000, smallBase, 30*24*time.Hour)
		b, err := ptraceotlp.NewExportRequestFromTraces(g.Request(first, end)).MarshalProto()
		if err != nil {
			t.Fatal(err)
		}
		if mean := len(b) / (end - first) / smallSpans; mean < 800 || mean > 1200 {
			t.Errorf("%d bytes a span, want about 1,000", mean)
		}
		return string(b)
	}
	if bytes(7, 40, 50) != bytes(7, 40, 50) {
		t.Error("the same seed gives other bytes")
	}
	if bytes(7, 40, 50) == bytes(8, 40, 50) {
		t.Error("another seed gives the same bytes")
	}
}

// The columns, which answers are known from, and the spans, which are sent, are the same events.
func TestSmallColumnsAreTheSpans(t *testing.T) {
	g := NewSmallGenerator(3, 2400, smallBase, 30*24*time.Hour)
	c := g.columns()
	row := 0
	for i, s := range g.Request(0, g.Sessions).ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
		if i%smallSpans == 0 {
			row++ // the session's own
		}
		text := func(key string) string {
			if v, ok := s.Attributes().Get(key); ok {
				return v.AsString()
			}
			return ""
		}
		model := ""
		if c.model[row] >= 0 {
			model = smallModels[c.model[row]].name
		}
		tokens := int64(0)
		for _, key := range []string{"gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"} {
			if v, ok := s.Attributes().Get(key); ok {
				tokens += v.Int()
			}
		}
		got := fmt.Sprint(s.Name(), int64(s.StartTimestamp())/1000, int64(s.EndTimestamp()-s.StartTimestamp())/1000, text("user.id"),
			text("tier"), text("gen_ai.request.model"), tokens, s.Status().Message() != "", strings.Contains(text("input.value"), refundWord),
			strings.Contains(text("output.value"), rareWord))
		want := fmt.Sprint(c.names[c.name[row]], c.start[row], c.duration[row], smallUser(int(c.user[row])),
			smallTiers[c.tier[row]].name, model, c.tokens[row], c.failed[row] == 1, c.refund[row], c.rare[row])
		if got != want {
			t.Fatalf("span %d is %s, its columns %s", i, got, want)
		}
		row++
	}
	if row != g.Sessions*smallRows || row != len(c.kind) {
		t.Errorf("%d rows of spans and sessions, %d in the columns", row, len(c.kind))
	}
}

func TestSmallEventsAreAsDescribed(t *testing.T) {
	g := NewSmallGenerator(1, 1_200_000, smallBase, 30*24*time.Hour)
	c := g.columns()
	var rare, failed, refund, slow, spans, first int
	for i := range c.kind {
		if c.kind[i] == rowSession {
			continue
		}
		spans++
		for _, k := range []struct {
			n  *int
			is bool
		}{{&rare, c.rare[i]}, {&failed, c.failed[i] > 0}, {&refund, c.refund[i]}, {&slow, c.kind[i] == rowModel && c.duration[i] > slowCall*1000},
			{&first, c.user[i] == 0}} {
			if k.is {
				*k.n++
			}
		}
		if at := time.UnixMicro(c.start[i]); at.Before(smallBase) || at.After(smallBase.Add(g.Window+time.Minute)) {
			t.Fatalf("event %d starts at %s", i, at)
		}
	}
	if spans != 1_200_000 || rare != 12 {
		t.Errorf("%d events, %d with the rare word; want 1,200,000 and 12", spans, rare)
	}
	for what, part := range map[string][3]float64{
		"failed": {float64(failed), .019, .021}, "refund": {float64(refund), .009, .011},
		"slow": {float64(slow), .0002, .0006}, "first user": {float64(first), .03, .045},
	} {
		if p := part[0] / float64(spans); p < part[1] || p > part[2] {
			t.Errorf("%s: %f of all, want %f to %f", what, p, part[1], part[2])
		}
	}
}

func TestNewestKeepsTheLatest(t *testing.T) {
	r := seededRandom(1, 2, 3)
	for keep := 1; keep < 40; keep += 3 {
		top, all := newest{keep: keep}, []int64{}
		for range 500 {
			at := int64(r.below(1000))
			top.add(at)
			all = append(all, at)
		}
		slices.Sort(all)
		slices.Reverse(all)
		if got := top.sorted(); !slices.Equal(got, all[:keep]) {
			t.Fatalf("%d latest: %v, want %v", keep, got, all[:keep])
		}
	}
}

func TestPercentile(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{7}, 7}, {[]float64{2, 1}, 1.95}, {[]float64{0, 10, 20, 30, 40}, 38}} {
		if got := percentile(slices.Clone(c.values), .95); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("p95 of %v is %v, want %v", c.values, got, c.want)
		}
	}
}

// Each question notices an answer that is not the right one.
func TestQuestionsSeeWrongAnswers(t *testing.T) {
	g := NewSmallGenerator(5, 12_000, smallBase, 30*24*time.Hour)
	c := g.columns()
	names := map[string]bool{}
	for _, q := range scaleQuestions(g) {
		if names[q.name] {
			t.Errorf("two questions are called %s", q.name)
		}
		names[q.name] = true
		check := q.expect(c)
		for _, answer := range []string{
			`{"events":[{"start_time":1,"bucket":"2025-01-01T00:00:00Z"}],"totalEvents":-1,"sessions":[{}],` +
				`"values":[{"value":"x","count":1}],"looked_at":1}`,
			`not JSON`,
		} {
			if check([]byte(answer)) == nil {
				t.Errorf("%s takes %.60s for right", q.name, answer)
			}
		}
	}
}

// A question that is not answered in time is said to be so, and is no error.
func TestAnswerOverTheLimit(t *testing.T) {
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer slow.Close()
	refused := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusGatewayTimeout) }))
	defer refused.Close()
	for _, server := range []*httptest.Server{slow, refused} {
		run := scaleRun{args: &scaleArgs{reps: 3, limit: 30 * time.Millisecond}, sv: &testedServer{spec: &ServerSpec{}}}
		q := askedQuestion{question: question{method: http.MethodGet, path: "/"}, check: func([]byte) error { return nil }}
		if a := run.answer(t.Context(), newQueryAPI(server.URL, ""), q); a.Over == 0 || a.Err != "" || a.N != 0 {
			t.Errorf("%+v", a)
		}
	}
}

// Sizes of one server are put beside one another, from the fewest on; what was not measured is a dash.
func TestSlopes(t *testing.T) {
	server := func(name string, events int, cpu, p50 float64) *ScaleServer {
		s := &ScaleServer{Name: name, Events: events, Questions: []*ScaleAnswer{{Name: "errors", About: "errors", P50: p50}}}
		if cpu > 0 {
			s.Load = &SmallLoad{CPUPer100k: cpu}
		}
		return s
	}
	res := &ScaleResult{Servers: []*ScaleServer{
		server("sqlite", 1_000_000, 9, 20), server("sqlite", 100_000, 8, 10), server("postgres", 100_000, 20, 5), server("sqlite", 10_000_000, 0, 25),
	}}
	var b strings.Builder
	if err := printScale(&b, res); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| | 100000 events | 1000000 events | 10000000 events | 10000000 / 100000 |",
		"| storing | 8.00 | 9.00 | - | - |",
		"| errors | 10.0 | 20.0 | 25.0 | 2.50 |",
	} {
		if !strings.Contains(b.String(), want+"\n") {
			t.Errorf("no line %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "How postgres grows") {
		t.Error("one size has a slope")
	}
}
