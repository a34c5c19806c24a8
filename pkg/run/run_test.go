package run

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func id(n byte) uuid.UUID { return uuid.UUID{n} }

func number(f float64) *float64 { return &f }

func TestAggregates(t *testing.T) {
	t.Parallel()
	var list []Value
	for i := range 10 {
		list = append(list, Value{Number: float64(9-i) * 10})
	}
	for name, want := range map[string]float64{"": 45, "average": 45, "MEAN": 45, "min": 0, "max": 90, "median": 45, "p90": 81, "p95": 85.5, "p99": 89.1, "sum": 450, "count": 10} {
		a, err := ParseAggregate(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := a.Of(list); !ok || math.Abs(got-want) > 1e-9 {
			t.Errorf("%q of 0, 10 … 90 is %v, %v; want %v", name, got, ok, want)
		}
		if _, ok := a.Of(nil); ok {
			t.Errorf("%q of nothing is something", name)
		}
	}
	if _, err := ParseAggregate("mode"); fault.Of(err) != fault.Invalid {
		t.Errorf("an unknown aggregate: %v", err)
	}
}

func TestDocKeepsAll(t *testing.T) {
	t.Parallel()
	about := "about"
	r := Run{ID: uuid.NewString(), Name: "n", Description: &about, Status: Running, DatasetID: "EXT-1", DatasetVersion: 3, EventIDs: []string{"a", "b"},
		SessionIDs: []string{"c"}, DatapointIDs: []string{"d"}, Metadata: raw(`{"a":1.50}`), Results: raw(`{}`), Configuration: raw(`{"x":[1]}`),
		PassingRanges: raw(`{"m":{"min":1}}`), Evaluators: raw(`["e"]`)}
	if diff := cmp.Diff(r, FromDoc(r.ID, r.Doc())); diff != "" {
		t.Errorf("written and read (-want +got):\n%s", diff)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	long := make([]byte, MaxName+1)
	for i := range long {
		long[i] = 'x'
	}
	for field, r := range map[string]Run{
		"run_id": {ID: "no uuid"}, "name": {Name: string(long)}, "status": {Status: "done"}, "dataset_id": {DatasetID: string(long)},
		"passing_ranges.m":     {PassingRanges: raw(`{"m":1}`)},
		"passing_ranges.m.max": {PassingRanges: raw(`{"m":{"min":1,"max":"2"}}`)},
		"":                     {ID: "AAAAAAAA-0000-4000-8000-000000000000", PassingRanges: raw(`{"m":{"min":1,"max":null}}`)},
	} {
		r.Complete()
		var got string
		if err := r.Validate(); err != nil {
			got = err.(*fault.Error).Field //nolint:errorlint // made here
		}
		if got != field {
			t.Errorf("%+v: error names %q, want %q", r, got, field)
		}
	}
}

// A datapoint with several sessions passes if all of them do, and stands in one list only.
func TestResultOfRepeatedDatapoints(t *testing.T) {
	t.Parallel()
	call := Kind{"call", "model"}
	s := &Scores{
		Sessions:   []uuid.UUID{id(1), id(2), id(3), id(4)},
		Datapoints: map[uuid.UUID]string{id(1): "d1", id(2): "d2", id(3): "d1", id(4): "d2"},
		Events:     []Scored{{id(4), call, raw(`{"acc":1}`)}, {id(1), call, raw(`{"acc":0.9}`)}, {id(3), call, raw(`{"acc":0.1}`)}},
	}
	got := ResultOf(&Run{PassingRanges: raw(`{"acc":{"min":0.5}}`)}, s, nil, "average")
	want := [][]string{{"d2"}, {"d1"}, {"d2"}, {"d1"}}
	if diff := cmp.Diff(want, [][]string{got.Passed, got.Failed, got.Metrics[0].Passed, got.Metrics[0].Failed}); diff != "" {
		t.Errorf("passed, failed, and those of the metric (-want +got):\n%s", diff)
	}
	if d := got.Datapoints; !d[0].Passed || d[1].Passed || d[2].Passed || !d[3].Passed {
		t.Errorf("sessions: %+v", d)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	zero, one := Range{Min: number(0), Max: number(1)}, Range{}
	for _, tt := range []struct {
		rule         Rule
		score        string
		passes, says bool
	}{
		{Rule{Range: zero}, "1", true, true},
		{Rule{Range: zero}, "2", false, true},
		{Rule{Range: zero}, `"a"`, false, false},
		{Rule{Range: zero, PassWhen: raw("1")}, "1.0", true, true},
		{Rule{Range: zero, PassWhen: raw("1")}, "0.5", false, true},
		{Rule{Range: one, PassWhen: raw("1")}, "true", true, true},
		{Rule{PassWhen: raw("true")}, "true", true, true},
		{Rule{PassWhen: raw("true")}, "1", true, true},
		{Rule{PassWhen: raw("true")}, "0", false, true},
		{Rule{PassWhen: raw("false")}, "true", false, true},
		{Rule{Categories: []string{"a"}}, `"a"`, true, true},
		{Rule{Categories: []string{"a"}}, `"b"`, false, true},
		{Rule{Categories: []string{}}, `"a"`, false, true},
		{Rule{Categories: []string{"a"}}, "null", false, false},
		{Rule{}, "1", true, false},
	} {
		if passes, says := tt.rule.passes(raw(tt.score)); says != tt.says || (says && passes != tt.passes) {
			t.Errorf("%+v of %s: passes %v, says %v", tt.rule, tt.score, passes, says)
		}
	}
}

// Texts pass or fail by the categories of the project's metric, and are no values.
func TestResultOfCategories(t *testing.T) {
	t.Parallel()
	call := Kind{"call", "model"}
	s := &Scores{
		Sessions: []uuid.UUID{id(1), id(2)}, Datapoints: map[uuid.UUID]string{id(1): "d1", id(2): "d2"},
		Events: []Scored{{id(1), call, raw(`{"tone":"kind","tone_explanation":"so kind"}`)}, {id(2), call, raw(`{"tone":"rude"}`)}},
	}
	got := ResultOf(&Run{}, s, map[string]Rule{"tone": {Type: "LLM", Categories: []string{"kind"}}}, "average")
	if len(got.Metrics) != 1 || got.Metrics[0].Aggregate != nil || len(got.Metrics[0].Values) != 0 || got.Success {
		t.Fatalf("metrics: %+v", got.Metrics)
	}
	if diff := cmp.Diff([][]string{{"d1"}, {"d2"}}, [][]string{got.Passed, got.Metrics[0].Failed}); diff != "" {
		t.Errorf("passed, failed (-want +got):\n%s", diff)
	}
	if m := got.Datapoints[1].Metrics; len(m) != 1 || m[0].Passed || m[0].Value.JSON != nil {
		t.Errorf("the failed datapoint: %+v", m)
	}
}

// twoSessions are scores of a session that is good and one that is bad, and one without any.
func twoSessions() *Scores {
	call := Kind{"call", "model"}
	return &Scores{
		Sessions:   []uuid.UUID{id(1), id(2), id(3)},
		Datapoints: map[uuid.UUID]string{id(1): "d1", id(2): "d2"},
		Kinds:      []Kind{call, {"run", "session"}},
		Events: []Scored{
			{id(1), call, raw(`{"acc":0.9,"ok":true,"why":"text","none":null}`)},
			{id(1), call, raw(`{"acc":0.7}`)},
			{id(2), call, raw(`{"acc":0.2,"ok":false}`)},
			{id(2), Kind{"run", "session"}, raw(`{"latency":10}`)},
		},
	}
}

func TestResult(t *testing.T) {
	t.Parallel()
	r := &Run{PassingRanges: raw(`{"acc":{"min":0.5}}`)}
	got := ResultOf(r, twoSessions(), map[string]Rule{"ok": {Type: "PYTHON", PassWhen: raw("true")}}, "average")
	if diff := cmp.Diff([]string{"d1"}, got.Passed); diff != "" {
		t.Errorf("passed: %s", diff)
	}
	if diff := cmp.Diff([]string{"d2"}, got.Failed); diff != "" || got.Success {
		t.Errorf("failed: %s, success %v", diff, got.Success)
	}
	type line struct {
		name, typ, kind string
		aggregate       float64
		values          int
		passed, failed  string
	}
	var lines []line
	for _, m := range got.Metrics {
		join := func(list []string) (s string) {
			for _, x := range list {
				s += x + " "
			}
			return s
		}
		lines = append(lines, line{m.Name, m.Type, m.Kind.Type, math.Round(*m.Aggregate*1e6) / 1e6, len(m.Values), join(m.Passed), join(m.Failed)})
	}
	want := []line{{"acc", ClientSide, "model", 0.6, 3, "d1 ", "d2 "}, {"latency", ClientSide, "session", 10, 1, "", ""}, {"ok", "PYTHON", "model", 0.5, 2, "d1 ", "d2 "}}
	if diff := cmp.Diff(want, lines, cmp.AllowUnexported(line{})); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if d := got.Datapoints; len(d) != 3 || !d[0].Passed || d[1].Passed || d[2].Passed || len(d[0].Metrics) != 3 || len(d[2].Metrics) != 0 {
		t.Errorf("datapoints: %+v", d)
	}
	// Without any rule nothing passes and nothing fails.
	if got := ResultOf(&Run{}, twoSessions(), nil, "average"); len(got.Passed)+len(got.Failed) != 0 || !got.Success {
		t.Errorf("without rules: %+v", got)
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	side := func(name string, first byte, acc ...string) *Scores {
		s := &Scores{Datapoints: map[uuid.UUID]string{}, Kinds: []Kind{{name, "session"}, {"call", "model"}}}
		for i, v := range acc {
			sid := id(first + byte(i))
			s.Sessions = append(s.Sessions, sid)
			s.Datapoints[sid] = string(rune('a' + i))
			s.Events = append(s.Events, Scored{sid, Kind{"call", "model"}, raw(`{"acc":` + v + `}`)}, Scored{sid, Kind{name, "session"}, raw(`{"cost":` + v + `}`)})
		}
		return s
	}
	old := side("old run", 10, "0.5", "0.5", "0.5", "1")
	fresh := side("new run", 20, "0.75", "0.25", "0.5", `"text"`, "9")
	c := CompareRuns(&Run{PassingRanges: raw(`{"cost":{"max":1}}`)}, &Run{}, fresh, old, nil, "average")
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, c.Common); diff != "" {
		t.Errorf("common (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]KindPresence{{Kind{"call", "model"}, "both"}, {Kind{"new run", "session"}, "new"}, {Kind{"old run", "session"}, "old"}}, c.Kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	if len(c.Metrics) != 2 {
		t.Fatalf("metrics: %+v", c.Metrics)
	}
	acc, cost := c.Metrics[0], c.Metrics[1]
	if *acc.Old != 0.625 || *acc.New != (0.75+0.25+0.5+9)/4 || acc.Pairs() != 3 {
		t.Errorf("acc: old %v, new %v, %d pairs", *acc.Old, *acc.New, acc.Pairs())
	}
	if diff := cmp.Diff([][]string{{"a"}, {"b"}, {"c"}}, [][]string{acc.Improved, acc.Degraded, acc.Same}); diff != "" {
		t.Errorf("acc (-want +got):\n%s", diff)
	}
	// Less is better where only an upper bound is given.
	if diff := cmp.Diff([][]string{{"b"}, {"a"}, {"c"}}, [][]string{cost.Improved, cost.Degraded, cost.Same}); diff != "" {
		t.Errorf("cost (-want +got):\n%s", diff)
	}
	if half := 4.302652729911275 * 0.25 / math.Sqrt(3); *acc.Mean != 0 || math.Abs(acc.Interval.High-half) > 1e-9 || acc.Interval.Low != -acc.Interval.High {
		t.Errorf("mean %v, interval %+v", *acc.Mean, *acc.Interval)
	}
}

func TestPercentageChange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		before, now, want float64
		defined           bool
	}{{2, 3, 50, true}, {-2, -1, 50, true}, {0, 5, 0, false}} {
		if got, ok := PercentageChange(tt.before, tt.now); got != tt.want || ok != tt.defined {
			t.Errorf("from %v to %v: %v, %v", tt.before, tt.now, got, ok)
		}
	}
}

func TestRange(t *testing.T) {
	t.Parallel()
	r := Range{Min: number(1), Max: number(2)}
	if r.Holds(0.9) || !r.Holds(1) || !r.Holds(2) || r.Holds(2.1) || r.LowerIsBetter() || !(Range{Max: number(1)}).LowerIsBetter() {
		t.Error("a range holds what it should not, or the other way round")
	}
}
