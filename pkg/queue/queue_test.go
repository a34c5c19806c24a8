package queue

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func pointer[T any](v T) *T { return &v }

func TestDocComesBack(t *testing.T) {
	t.Parallel()
	for _, q := range []Queue{
		New(&Update{}, 5),
		New(&Update{Name: pointer("n\"☃"), Description: pointer("d"), Filters: raw(`{"filterArray": [{"value":1.0}]}`), Enabled: pointer(false), Annotators: pointer(3),
			Lease: pointer(int64(60)), Metrics: []string{"a", "\n"}}, 5),
	} {
		if diff := cmp.Diff(q, FromDoc(q.Doc())); diff != "" {
			t.Errorf("(-written +read)\n%s", diff)
		}
	}
	a := Annotation{Scores: raw(`{"m": 1.50}`), Comment: "\"c"}
	var b Annotation
	b.Read(a.Doc())
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("annotation (-written +read)\n%s", diff)
	}
}

func TestUntilIsWhenAQueueWasSwitchedOff(t *testing.T) {
	t.Parallel()
	q := New(&Update{Enabled: pointer(false)}, 5)
	for _, tt := range []struct {
		enabled *bool
		want    int64
	}{{pointer(false), 5}, {nil, 5}, {pointer(true), 0}, {pointer(true), 0}, {pointer(false), 9}} {
		q.Apply(&Update{Enabled: tt.enabled}, 9)
		if q.Until != tt.want || q.Enabled != (tt.want == 0) {
			t.Errorf("enabled %t until %d, want %d", q.Enabled, q.Until, tt.want)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		u    Update
		want string // empty: valid
	}{
		{Update{}, ""},
		{Update{Name: pointer(" ")}, "name: is required"},
		{Update{Name: pointer(strings.Repeat("ß", 201))}, "name: must have at most 200"},
		{Update{Description: pointer(strings.Repeat("x", MaxDescription+1))}, "description: "},
		{Update{Filters: raw(strings.Repeat(" ", MaxFilters+1))}, "filters: "},
		{Update{Annotators: pointer(0)}, "annotators_per_item: must be from 1 to 10"},
		{Update{Annotators: pointer(11)}, "annotators_per_item: "},
		{Update{Lease: pointer(int64(0))}, "lease_seconds: "},
		{Update{Lease: pointer(int64(MaxLease + 1))}, "lease_seconds: "},
		{Update{Metrics: make([]string, MaxMetrics+1)}, "metrics: must have at most 100"},
		{Update{Metrics: []string{"a", "b", "a"}}, "metrics[2]: is listed twice"},
	} {
		q := New(&Update{Name: pointer("n")}, 5)
		q.Apply(&tt.u, 5)
		check(t, q.Validate(), tt.want)
	}
	for _, tt := range []struct {
		a    Annotation
		want string
	}{
		{Annotation{}, ""},
		{Annotation{Annotator: "\t"}, "annotator: is required"},
		{Annotation{Annotator: strings.Repeat("x", 201)}, "annotator: must have at most 200"},
		{Annotation{Comment: strings.Repeat("x", MaxComment+1)}, "comment: "},
		{Annotation{Scores: raw(`{}`)}, "scores: must be an object with at least one score"},
		{Annotation{Scores: raw(`[]`)}, "scores: must be an object"},
		{Annotation{Scores: raw(`{"m":null}`)}, "scores.m: must be a number, a boolean or a string"},
		{Annotation{Scores: raw(`{"m":[]}`)}, "scores.m: "},
		{Annotation{Scores: raw(`{"m":1,"n":2,"m":1}`)}, "scores.m: is listed twice"},
		{Annotation{Scores: raw(`{"m":"` + strings.Repeat("x", MaxScore) + `"}`)}, "scores.m: must have at most"},
		{Annotation{Scores: raw(many(MaxMetrics + 1))}, "scores: must have at most 100"},
		{Annotation{Scores: raw(many(MaxMetrics))}, ""},
	} {
		if tt.a.Annotator == "" {
			tt.a.Annotator = "ann"
		}
		if tt.a.Scores == nil {
			tt.a.Scores = raw(`{"m":true}`)
		}
		check(t, tt.a.Validate(), tt.want)
	}
}

// many returns an object of n scores.
func many(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`"m%d":1`, i))
	}
	return "{" + strings.Join(list, ",") + "}"
}

func check(t *testing.T, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	if err != nil && fault.Of(err) != fault.Invalid {
		t.Errorf("kind of %v: %v", err, fault.Of(err))
	}
}

// TestAnnotations plays annotations of one item. Each step is an annotator and the scores; want is
// the state, the slots, what is written on the event then, and what changes there.
func TestAnnotations(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		needed int
		steps  [][3]string // annotator, scores, want
	}{
		{"one is enough", 1, [][3]string{{"a", `{"m":1.50}`, `done 1 {"m":1.50} change {"m":1.50}`}}},
		{"two numbers", 2, [][3]string{{"a", `{"m":1}`, `waiting 2  change `}, {"b", `{"m":4}`, `done 2 {"m":2.5} change {"m":2.5}`}}},
		{"three numbers", 3, [][3]string{{"a", `{"m":1,"n":0.1}`, `waiting 3  change `}, {"b", `{"m":4,"n":0.2}`, `waiting 3  change `},
			{"c", `{"m":1,"n":0.3}`, `done 3 {"m":2,"n":0.2} change {"m":2,"n":0.2}`}}},
		{"equal numbers keep their digits", 2, [][3]string{{"a", `{"m":1.50}`, `waiting 2  change `}, {"b", `{"m":1.5}`, `done 2 {"m":1.50} change {"m":1.50}`}}},
		{"large numbers", 2, [][3]string{{"a", `{"m":1.7e308}`, `waiting 2  change `}, {"b", `{"m":1.5e308}`, `done 2 {"m":1.6e+308} change {"m":1.6e+308}`}}},
		{"two agree", 2, [][3]string{{"a", `{"m":true,"n":"x"}`, `waiting 2  change `}, {"b", `{"m":true,"n":"\u0078"}`, `done 2 {"m":true,"n":"x"} change {"m":true,"n":"x"}`}}},
		{"a third decides", 2, [][3]string{{"a", `{"m":true}`, `waiting 2  change `}, {"b", `{"m":false}`, `waiting 3  change `}, {"c", `{"m":false}`, `done 2 {"m":false} change {"m":false}`}}},
		{"nothing is written of an item that waits for a third", 2, [][3]string{{"a", `{"n":1,"m":true}`, `waiting 2  change `}, {"b", `{"n":1,"m":false}`, `waiting 3  change `}}},
		{"all three differ, a fourth settles it", 2, [][3]string{{"a", `{"n":1,"m":"x"}`, `waiting 2  change `}, {"b", `{"n":2,"m":"y"}`, `waiting 3  change `},
			{"c", `{"n":3,"m":"z"}`, `disputed 2 {"n":2} change {"n":2}`}, {"d", `{"n":2,"m":"x"}`, `done 2 {"n":2,"m":"x"} change {"m":"x"}`}}},
		{"most of three", 3, [][3]string{{"a", `{"m":"x"}`, `waiting 3  change `}, {"b", `{"m":"y"}`, `waiting 3  change `}, {"c", `{"m":"x"}`, `done 3 {"m":"x"} change {"m":"x"}`}}},
		{"a repeat changes nothing", 1, [][3]string{{"a", `{"m":1}`, `done 1 {"m":1} change {"m":1}`}, {"a", `{"m":1}`, `done 1 {"m":1} change `}}},
		{"another mind", 1, [][3]string{{"a", `{"m":1,"n":"x"}`, `done 1 {"m":1,"n":"x"} change {"m":1,"n":"x"}`}, {"a", `{"m":2}`, `done 1 {"m":2} change {"m":2,"n":null}`}}},
		{"agreement is taken back", 2, [][3]string{{"a", `{"m":true}`, `waiting 2  change `}, {"b", `{"m":true}`, `done 2 {"m":true} change {"m":true}`},
			{"a", `{"m":false}`, `waiting 3  change {"m":null}`}, {"a", `{"m":true}`, `done 2 {"m":true} change {"m":true}`}}},
		{"only one scored it", 2, [][3]string{{"a", `{"m":true}`, `waiting 2  change `}, {"b", `{"n":1}`, `done 2 {"m":true,"n":1} change {"m":true,"n":1}`}}},
		{"a number is no text", 2, [][3]string{{"a", `{"m":1}`, `waiting 2  change `}, {"b", `{"m":"1"}`, `waiting 3  change `}}},
		{"all slots are taken", 1, [][3]string{{"a", `{"m":1}`, `done 1 {"m":1} change {"m":1}`}, {"b", `{"m":1}`, `CONFLICT`}}},
	} {
		it := Item{State: Waiting, Needed: tt.needed, Slots: tt.needed}
		for i, step := range tt.steps {
			patch, err := it.Annotate(Annotation{Annotator: step[0], Scores: raw(step[1])}, int64(i+1))
			got := fmt.Sprintf("%s %d %s change %s", it.State, it.Slots, it.Scores, patch)
			if err != nil {
				got = fault.Of(err).Code()
			}
			if got != step[2] {
				t.Errorf("%s, step %d: %s, want %s", tt.name, i, got, step[2])
			}
		}
	}
}

// TestSettled plays what is said of an item, withdrawn and settled. Each step is who does what, with which scores.
func TestSettled(t *testing.T) {
	t.Parallel()
	type step struct{ who, what, scores, want string }
	for _, tt := range []struct {
		name   string
		needed int
		steps  []step
	}{
		{"a dispute of three is settled and taken back", 2, []step{
			{"a", "annotate", `{"m":"x","n":1}`, `waiting 2  change `},
			{"b", "annotate", `{"m":"y","n":2}`, `waiting 3  change `},
			{"c", "annotate", `{"m":"z","n":3}`, `disputed 2 {"n":2} change {"n":2}`},
			{"lead", "settle", `{"n":5}`, `scores.m: is required: the annotators are tied over it`},
			{"lead", "settle", `{"m":"y"}`, `done 2 {"n":2,"m":"y"} change {"m":"y"}`},
			{"lead", "settle", `{"m":"x","n":2.5}`, `done 2 {"n":2.5,"m":"x"} change {"n":2.5,"m":"x"}`},
			{"a", "withdraw", ``, `CONFLICT`},
			{"a", "annotate", `{"m":"y","n":2}`, `done 2 {"m":"x","n":2.5} change `},
			{"lead", "unsettle", ``, `done 2 {"m":"y","n":2.33333333333333} change {"m":"y","n":2.33333333333333}`},
			{"lead", "unsettle", ``, `NOT_FOUND`},
		}},
		{"settled before the third came", 2, []step{
			{"a", "settle", `{"m":true}`, `CONFLICT`},
			{"a", "annotate", `{"m":true}`, `waiting 2  change `},
			{"b", "annotate", `{"m":false}`, `waiting 3  change `},
			{"a", "settle", `{"m":true}`, `done 2 {"m":true} change {"m":true}`},
		}},
		{"withdrawn", 1, []step{
			{"a", "withdraw", ``, `NOT_FOUND`},
			{"a", "annotate", `{"m":1}`, `done 1 {"m":1} change {"m":1}`},
			{"a", "withdraw", ``, `waiting 1  change {"m":null}`},
			{"b", "annotate", `{"m":1}`, `CONFLICT`}, // a has a claim again
			{"a", "annotate", `{"m":2}`, `done 1 {"m":2} change {"m":2}`},
		}},
	} {
		it := Item{State: Waiting, Needed: tt.needed, Slots: tt.needed}
		for i, step := range tt.steps {
			var patch json.RawMessage
			var err error
			switch step.what {
			case "annotate":
				patch, err = it.Annotate(Annotation{Annotator: step.who, Scores: raw(step.scores)}, int64(i+1))
			case "withdraw":
				patch, err = it.Withdraw(step.who, 1000)
			case "settle":
				patch, err = it.Settle(Settlement{Annotator: step.who, Scores: raw(step.scores)})
			case "unsettle":
				patch, err = it.Unsettle()
			}
			got := fmt.Sprintf("%s %d %s change %s", it.State, it.Slots, it.Scores, patch)
			if err != nil {
				if got = fault.Of(err).Code(); fault.Of(err) == fault.Invalid {
					got = err.Error()
				}
			}
			if got != step.want {
				t.Errorf("%s, step %d: %s, want %s", tt.name, i, got, step.want)
			}
		}
	}
}

// TestExplanations has comments become the explanations of scores. Each step is who does what, with which scores and comment; want is what
// changes on the event.
func TestExplanations(t *testing.T) {
	t.Parallel()
	type step struct{ who, what, scores, comment, want string }
	long := strings.Repeat("ß", MaxExplanation)
	for _, tt := range []struct {
		name   string
		needed int
		steps  []step
	}{
		{"one person", 1, []step{
			{"a", "annotate", `{"m":1,"n":"x"}`, " fine ", `{"m":1,"m_explanation":"fine","n":"x","n_explanation":"fine"}`},
			{"a", "annotate", `{"m":1,"n":"x"}`, "better", `{"m_explanation":"better","n_explanation":"better"}`},
			{"a", "annotate", `{"m":2}`, "", `{"m":2,"m_explanation":null,"n":null,"n_explanation":null}`},
			{"a", "annotate", `{"m":2}`, "why", `{"m_explanation":"why"}`},
			{"a", "withdraw", ``, "", `{"m":null,"m_explanation":null}`},
		}},
		{"those who gave the score", 2, []step{
			{"a", "annotate", `{"m":true,"n":1}`, "calm", ``},
			{"b", "annotate", `{"m":false,"n":2}`, "rude", ``},
			{"c", "annotate", `{"m":false}`, "", `{"m":false,"m_explanation":"rude","n":1.5,"n_explanation":"a: calm\nb: rude"}`},
			{"c", "annotate", `{"m":true}`, "", `{"m":true,"m_explanation":"calm"}`},
			{"lead", "settle", `{"m":false}`, "it shouts", `{"m":false,"m_explanation":"it shouts"}`},
			{"lead", "settle", `{"m":false}`, "", `{"m_explanation":null}`},
			{"lead", "unsettle", ``, "", `{"m":true,"m_explanation":"calm"}`},
			{"c", "withdraw", ``, "", `{"m":null,"m_explanation":null,"n":null,"n_explanation":null}`},
		}},
		{"a metric that has the name of an explanation", 1, []step{
			{"a", "annotate", `{"m":1,"m_explanation":"own"}`, "fine", `{"m":1,"m_explanation":"own","m_explanation_explanation":"fine"}`},
		}},
		{"such a metric over which people differ", 3, []step{
			{"a", "annotate", `{"m":1,"m_explanation":"x"}`, "because", ``},
			{"b", "annotate", `{"m":1,"m_explanation":"y"}`, "", ``},
			{"c", "annotate", `{"m":1,"m_explanation":"z"}`, "", ``},
			{"d", "annotate", `{"m":1}`, "", `{"m":1}`},
		}},
		{"too long", 1, []step{
			{"a", "annotate", `{"m":1}`, long, `{"m":1,"m_explanation":"` + long[:MaxExplanation-4] + `…"}`},
		}},
	} {
		it := Item{State: Waiting, Needed: tt.needed, Slots: tt.needed}
		for i, step := range tt.steps {
			var patch json.RawMessage
			var err error
			switch step.what {
			case "annotate":
				patch, err = it.Annotate(Annotation{Annotator: step.who, Scores: raw(step.scores), Comment: step.comment}, int64(i+1))
			case "withdraw":
				patch, err = it.Withdraw(step.who, 1000)
			case "settle":
				patch, err = it.Settle(Settlement{Annotator: step.who, Scores: raw(step.scores), Comment: step.comment})
			case "unsettle":
				patch, err = it.Unsettle()
			}
			if err != nil || string(patch) != step.want {
				t.Errorf("%s, step %d: %s %v, want %s", tt.name, i, patch, err, step.want)
			}
			own := tt.needed == 1 && len(it.Annotations) > 0 && rawjson.Get(it.Annotations[0].Scores, "m_explanation") != nil
			if written := string(it.Written()); strings.Contains(written, "_explanation") != own || strings.Contains(written, "_explanation_explanation") {
				t.Errorf("%s, step %d: written %s", tt.name, i, written)
			}
		}
	}
}

func TestClaim(t *testing.T) {
	t.Parallel()
	claim := func(who string, expires int64) []Claim { return []Claim{{who, expires}} }
	for _, tt := range []struct {
		name    string
		item    Item
		claimed bool
		err     bool
		want    []Claim
	}{
		{"a free slot", Item{State: Waiting, Needed: 1, Slots: 1, Skipped: []string{"a"}}, true, false, claim("a", 99)},
		{"renewed", Item{State: Waiting, Needed: 1, Slots: 1, Claims: claim("a", 11)}, true, false, claim("a", 99)},
		{"run out, and nobody came", Item{State: Waiting, Needed: 1, Slots: 1, Claims: claim("a", 10)}, true, false, claim("a", 99)},
		{"run out, and another came", Item{State: Waiting, Needed: 1, Slots: 1, Claims: []Claim{{"a", 10}, {"b", 20}}}, false, true, claim("b", 20)},
		{"run out, and done meanwhile", Item{State: Done, Needed: 1, Slots: 1, Annotations: make([]Annotation, 1), Claims: claim("a", 10)}, false, true, []Claim{}},
		{"annotated", Item{State: Done, Needed: 1, Slots: 1, Annotations: []Annotation{{Annotator: "a"}}}, false, false, nil},
		{"a dispute", Item{State: Disputed, Needed: 2, Slots: 2, Annotations: make([]Annotation, 3)}, true, false, claim("a", 99)},
	} {
		claimed, err := tt.item.Claim("a", 10, 99)
		if claimed != tt.claimed || (err != nil) != tt.err || err != nil && fault.Of(err) != fault.Conflict {
			t.Errorf("%s: %t %v", tt.name, claimed, err)
		}
		if diff := cmp.Diff(tt.want, tt.item.Claims); diff != "" {
			t.Errorf("%s: claims (-want +got)\n%s", tt.name, diff)
		}
		if claimed && len(tt.item.Skipped) > 0 {
			t.Errorf("%s: still skipped", tt.name)
		}
	}
}

func TestDiffer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		scores []string
		want   bool
	}{
		{nil, false},
		{[]string{`{"m":1}`}, false},
		{[]string{`{"m":1}`, `{"m":1.0}`}, false},
		{[]string{`{"m":1}`, `{"n":2}`}, false},
		{[]string{`{"m":1}`, `{"m":"1"}`}, true},
		{[]string{`{"m":true,"n":"x"}`, `{"m":true,"n":"\u0078"}`, `{"m":false}`}, true},
	} {
		var list []Annotation
		for _, s := range tt.scores {
			list = append(list, Annotation{Scores: raw(s)})
		}
		if got := Differ(list); got != tt.want {
			t.Errorf("%s: %t", tt.scores, got)
		}
	}
}

func TestWhoMayAnnotate(t *testing.T) {
	t.Parallel()
	claim := func(who string, expires int64) []Claim { return []Claim{{who, expires}} }
	twenty := make([]Annotation, maxDisputed)
	for _, tt := range []struct {
		name string
		item Item
		may  bool
	}{
		{"a free slot", Item{State: Waiting, Needed: 1, Slots: 1}, true},
		{"another's claim", Item{State: Waiting, Needed: 1, Slots: 1, Claims: claim("b", 11)}, false},
		{"another's claim that ran out", Item{State: Waiting, Needed: 1, Slots: 1, Claims: claim("b", 10)}, true},
		{"one's own claim that ran out, and the item is done", Item{State: Done, Needed: 1, Slots: 1, Annotations: make([]Annotation, 1), Claims: claim("a", 1)}, true},
		{"it was skipped before", Item{State: Waiting, Needed: 1, Slots: 1, Skipped: []string{"a"}}, true},
		{"a dispute", Item{State: Disputed, Needed: 1, Slots: 1, Annotations: make([]Annotation, 2)}, true},
		{"an endless dispute", Item{State: Disputed, Needed: 1, Slots: 1, Annotations: twenty}, false},
	} {
		_, err := tt.item.Annotate(Annotation{Annotator: "a", Scores: raw(`{"m":1}`)}, 10)
		if (err == nil) != tt.may || err != nil && fault.Of(err) != fault.Conflict {
			t.Errorf("%s: %v", tt.name, err)
		}
		if tt.may && (len(tt.item.Claims) > 0 && tt.item.Claims[0].Annotator == "a" || tt.item.Skipped != nil && len(tt.item.Skipped) > 0) {
			t.Errorf("%s: a still claims or skips: %+v", tt.name, tt.item)
		}
	}
	if fault.Of(Missing(uuid.Nil)) != fault.NotFound || fault.Of(Unclaimed("a", uuid.Nil)) != fault.NotFound {
		t.Error("what is missing is not NotFound")
	}
}

// compare adds items, each one annotator's score after the other.
func compare(t *testing.T, items ...[]string) []Agreement {
	t.Helper()
	var c Comparison
	for _, scores := range items {
		var list []Annotation
		for i, s := range scores {
			if s != "" {
				list = append(list, Annotation{Annotator: string(rune('a' + i)), Scores: raw(`{"m":` + s + `}`)})
			}
		}
		if err := c.Add(list); err != nil {
			t.Fatal(err)
		}
	}
	return c.Agreements()
}

func times(n int, item ...string) (items [][]string) {
	for range n {
		items = append(items, item)
	}
	return items
}

func TestAgreement(t *testing.T) {
	t.Parallel()
	var textbook [][]string // 20 and 15 of 50 equal: 0.7, by chance 0.5
	textbook = append(textbook, times(20, `"yes"`, `"yes"`)...)
	textbook = append(textbook, times(5, `"yes"`, `"no"`)...)
	textbook = append(textbook, times(10, `"no"`, `"yes"`)...)
	textbook = append(textbook, times(15, `"no"`, `"no"`)...)
	for _, tt := range []struct {
		name     string
		items    [][]string
		pairs    int
		observed float64 // below 0: nil
		kappa    float64 // below -1: nil
		numbers  bool
		reason   string
	}{
		{"a textbook's", textbook, 50, 0.7, 0.4, false, ""},
		{"opposites", [][]string{{"true", "false"}, {"false", "true"}}, 2, 0, -1, false, ""},
		{"perfect", [][]string{{"true", "true"}, {"false", "false"}}, 2, 1, 1, false, ""},
		{"always the same", times(3, "true", "true"), 3, 1, -2, false, constant},
		{"one of them has only one score", [][]string{{"true", "true"}, {"true", "false"}}, 2, 0.5, 0, false, ""},
		{"no pairs", [][]string{{"true"}, {"", "false"}}, 0, -1, -2, false, "no item has scores of two annotators"},
		{"numbers", [][]string{{"1", "1.0"}, {"2", "2"}, {"3", "4"}}, 3, 2.0 / 3, 6.0 / 7, true, ""},
		{"always the same number", times(3, "0.1", "0.1"), 3, 1, -2, true, constant},
		{"always one off", [][]string{{"1", "2"}, {"1", "2"}}, 2, 0, 0, true, ""},
		{"numbers too large", [][]string{{"1e308", "-1e308"}, {"1", "2"}}, 2, 0, -2, true, "the scores are too large to compare"},
		{"numbers and texts", [][]string{{"1", "1"}, {`"1"`, `"1"`}}, 2, 1, 1, false, ""},
		// Of a and b 1, of a and c -1, of b and c -1; each of two items.
		{"three annotators", [][]string{{"true", "true", "false"}, {"false", "false", "true"}}, 6, 1.0 / 3, -1.0 / 3, false, ""},
	} {
		list := compare(t, tt.items...)
		if len(list) != 1 {
			t.Errorf("%s: %d metrics", tt.name, len(list))
			continue
		}
		a := list[0]
		if a.Metric != "m" || a.Pairs != tt.pairs || a.Numbers != tt.numbers || a.Reason != tt.reason || !near(a.Observed, tt.observed, 0) || !near(a.Kappa, tt.kappa, -1) {
			t.Errorf("%s: %+v observed %v kappa %v, want %+v", tt.name, a, show(a.Observed), show(a.Kappa), tt)
		}
	}
}

func TestAgreementOfEachPair(t *testing.T) {
	t.Parallel()
	list := compare(t, []string{`"x"`, `"x"`, `"x"`}, []string{`"y"`, `"y"`, `"x"`})
	got := ""
	for _, p := range list[0].Of {
		got += fmt.Sprintf("%s-%s n=%d observed=%s kappa=%s; ", p.A, p.B, p.Pairs, show(p.Observed), show(p.Kappa))
	}
	if want := "a-b n=2 observed=1 kappa=1; a-c n=2 observed=0.5 kappa=0; b-c n=2 observed=0.5 kappa=0; "; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestTooManyPairs(t *testing.T) {
	t.Parallel()
	var c Comparison
	var list []Annotation
	for i := range 142 { // 10,011 pairs
		list = append(list, Annotation{Annotator: fmt.Sprint(i), Scores: raw(`{"m":1}`)})
	}
	if err := c.Add(list); fault.Of(err) != fault.TooLarge {
		t.Error(err)
	}
}

func near(got *float64, want, least float64) bool {
	if want < least {
		return got == nil
	}
	return got != nil && math.Abs(*got-want) < 1e-12
}

func show(f *float64) string {
	if f == nil {
		return "none"
	}
	return fmt.Sprintf("%.6g", *f)
}
