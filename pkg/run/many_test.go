package run

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// generated returns the outcomes of a run over n datapoints, some of which it leaves out, repeats or has no score of, with values that often tie.
func generated(r *rand.Rand, n int, start float64) *Outcomes {
	s := &Scores{Datapoints: map[uuid.UUID]string{}}
	sessions := map[uuid.UUID]Outcome{}
	for i := range n {
		for range []int{0, 1, 1, 1, 2}[r.IntN(5)] {
			var sid uuid.UUID
			for j := range sid {
				sid[j] = byte(r.Uint32())
			}
			s.Sessions = append(s.Sessions, sid)
			if r.IntN(10) > 0 {
				s.Datapoints[sid] = fmt.Sprint("d", i)
			}
			sessions[sid] = Outcome{ID: sid, Start: start + float64(r.IntN(n)), Duration: r.Float64(), HasError: r.IntN(5) == 0}
			if r.IntN(6) > 0 {
				s.Events = append(s.Events, Scored{sid, Kind{"call", "model"}, raw(fmt.Sprintf(`{"m":%d}`, r.IntN(4)))})
			}
		}
	}
	return OutcomesOf(s, sessions)
}

// Pages follow one another without a gap in every order, and hold what the filter lets through; the counts say how many that is.
func TestRowsOfPages(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	rules := map[string]Rule{"m": {Range: Range{Min: number(2)}}}
	for range 30 {
		var sides []Side
		for i := range 3 {
			sides = append(sides, Side{&Run{ID: fmt.Sprint(i)}, generated(r, 1+r.IntN(40), float64(100*i))})
		}
		c := CompareMany(sides, r.IntN(3), rules, "average")
		metric, err := c.Metric("m")
		if err != nil {
			continue // nobody has a score
		}
		for _, sort := range RowSorts {
			for _, only := range append([]Only{""}, Onlys...) {
				for _, side := range []int{AnySide, (c.Base + 1) % 3} {
					q := RowQuery{Metric: metric, Side: side, Only: only, Sort: sort, Descending: r.IntN(2) == 0, Limit: math.MaxInt}
					_, whole := c.Compare(q, true)
					if n := whole.Counts[only]; len(whole.Rows) != whole.Total || only != "" && n != whole.Total || only == "" && whole.Total != whole.All {
						t.Fatalf("%+v: %d rows, total %d, counted %d", q, len(whole.Rows), whole.Total, n)
					}
					var pages []int
					for q.Limit = 1 + r.IntN(7); ; {
						_, p := c.Compare(q, false)
						pages = append(pages, p.Rows...)
						if q.After = p.Next; p.Next == nil {
							break
						}
					}
					if diff := cmp.Diff(whole.Rows, pages); diff != "" && len(whole.Rows)+len(pages) > 0 {
						t.Fatalf("%+v: pages (-whole +pages):\n%s", q, diff)
					}
					checkOrder(t, c, q, whole.Rows)
				}
			}
		}
	}
}

// Means of the same values in another order differ in their last digit. Such rows are the same, and equal in the order by differences.
func TestRowsThatAreTheSameAreInOrder(t *testing.T) {
	t.Parallel()
	outcomes := func(scores [][]string) *Outcomes {
		s := &Scores{Datapoints: map[uuid.UUID]string{}}
		sessions := map[uuid.UUID]Outcome{}
		for i, list := range scores {
			for _, score := range list {
				id := uuid.New()
				s.Sessions = append(s.Sessions, id)
				s.Datapoints[id] = fmt.Sprint("d", i)
				sessions[id] = Outcome{ID: id, Start: float64(len(s.Sessions))}
				s.Events = append(s.Events, Scored{id, Kind{"call", "model"}, raw(`{"m":` + score + `}`)})
			}
		}
		return OutcomesOf(s, sessions)
	}
	base := outcomes([][]string{{"0.3", "0.2", "0.1"}, {"0.5"}, {"0.1", "0.2", "0.3"}, {"0.5"}})
	now := outcomes([][]string{{"0.1", "0.2", "0.3"}, {"0.5"}, {"0.3", "0.2", "0.1"}, {"0.6"}})
	c := CompareMany([]Side{{&Run{ID: "base"}, base}, {&Run{ID: "now"}, now}}, 0, nil, "average")
	metric, err := c.Metric("m")
	if err != nil {
		t.Fatal(err)
	}
	for descending, want := range map[bool][]int{false: {0, 1, 2, 3}, true: {3, 0, 1, 2}} {
		_, page := c.Compare(RowQuery{Metric: metric, Side: AnySide, Sort: SortDelta, Descending: descending, Limit: 10}, false)
		if diff := cmp.Diff(want, page.Rows); diff != "" {
			t.Errorf("descending %v (-want +got):\n%s", descending, diff)
		}
	}
}

// checkOrder holds rows to their order, and to the filter, by what their cells show.
func checkOrder(t *testing.T, c *Many, q RowQuery, rows []int) {
	t.Helper()
	side := q.Side
	if side == AnySide {
		side = c.sideOrder()[1]
	}
	value := func(row int) float64 {
		x, ok := c.score(q.Metric, row, side)
		if !ok || q.Sort == SortDelta && x.Change == "" {
			return math.NaN()
		}
		if q.Sort == SortDelta {
			return x.Delta
		}
		return x.Value
	}
	for i, row := range rows {
		if q.Sort != SortOrder && i > 0 && compareValues(value(rows[i-1]), value(row), q.Descending) > 0 {
			t.Fatalf("%+v: %v before %v", q, value(rows[i-1]), value(row))
		}
		if q.Side != AnySide && (q.Only == OnlyImproved || q.Only == OnlyDegraded || q.Only == OnlySame) {
			if x, _ := c.score(q.Metric, row, side); string(x.Change) != string(q.Only) {
				t.Fatalf("%+v: row %d is %q", q, row, x.Change)
			}
		}
	}
}

func TestKeysOfMetrics(t *testing.T) {
	t.Parallel()
	o := &Outcomes{}
	for _, m := range []struct{ name, typ, event string }{{"a", "model", "x"}, {"a", "model", "y"}, {"a (model x)", "tool", "z"}, {"cost", "session", ""}, {"b", "tool", "z"}} {
		o.Metrics = append(o.Metrics, Column{Name: m.name, Kind: Kind{m.event, m.typ}, At: []int32{0}, Values: []float64{1}, Numbers: 1})
	}
	o.Sessions = []Outcome{{ID: id(1)}}
	c := CompareMany([]Side{{&Run{}, o}}, 0, nil, "average")
	var keys []string
	for _, m := range c.Metrics {
		keys = append(keys, m.Key)
	}
	want := []string{"a (model x) 2", "a (model y)", "a (model x)", "b", "cost (session)", "duration", "cost", "tokens"}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

var claim = regexp.MustCompile(`^(better|worse) on m by (\S+), between (\S+) and (\S+?)(;|$)`)

// A sentence never claims more than the interval: its ends are not within it, and what is not shown to differ is not said to.
func TestSentenceClaimsNoMoreThanTheInterval(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 8))
	claims := 0
	for range 2000 {
		n, scale := 2+r.IntN(60), math.Pow10(r.IntN(14)-6)
		shift := scale * r.NormFloat64()
		var base, now []float64
		for range n {
			b := scale * r.NormFloat64()
			base, now = append(base, b), append(now, b+shift+scale*r.Float64()*r.NormFloat64())
		}
		lower := r.IntN(2) == 0
		p := Compare(base, now, lower)
		m := MetricSides{ManyMetric: &ManyMetric{Key: "m", LowerIsBetter: lower}, Sides: []SideMetric{{}, {Paired: p}}}
		c := &Many{sides: make([]manySide, 2)}
		c.sides[1].paired = n
		sentence := c.Sentence([]MetricSides{m}, 1)
		if p.Verdict == CannotTell {
			if sentence != "cannot tell on m" {
				t.Fatalf("%+v: %q", p, sentence)
			}
			continue
		}
		claims++
		parts := claim.FindStringSubmatch(sentence)
		if parts == nil || parts[1] != string(p.Verdict) {
			t.Fatalf("%+v: %q", p, sentence)
		}
		var told [3]float64
		for i := range told {
			told[i], _ = strconv.ParseFloat(parts[i+2], 64)
		}
		low, high := p.Interval.Low, p.Interval.High
		if high < 0 {
			low, high = -high, -low
		}
		if told[1] <= 0 || told[1] > low || told[2] < high || told[0] < told[1] || told[0] > told[2] || (p.Mean > 0) != ((p.Verdict == Better) != lower) {
			t.Fatalf("%+v by %+v: %q", p, *p.Interval, sentence)
		}
		if strings.Contains(sentence, "became worse") != (p.Verdict == Better && p.Degraded > 0) {
			t.Fatalf("%+v: %q", p, sentence)
		}
	}
	if claims < 200 {
		t.Errorf("%d claims", claims)
	}
}

func TestSentence(t *testing.T) {
	t.Parallel()
	sides := func(p Paired) []SideMetric { return []SideMetric{{}, {Paired: p}} }
	metrics := []MetricSides{
		{&ManyMetric{Key: "correctness"}, sides(Paired{Pairs: 200, Mean: 0.08, Interval: &Interval{Low: 0.031, High: 0.129}, Degraded: 4, Improved: 20, Verdict: Better})},
		{&ManyMetric{Key: "tone\n\u202e of\tvoice"}, sides(Paired{Pairs: 200, Verdict: CannotTell})},
		{&ManyMetric{Key: "polite", Boolean: true}, sides(Paired{Pairs: 200, Mean: 0.25, Interval: &Interval{Low: 0.121, High: 0.379}, Improved: 50, Verdict: Better})},
		{&ManyMetric{Key: "absent"}, sides(Paired{Verdict: CannotTell})},
	}
	duration, cost := measures[0], measures[1]
	metrics = append(metrics,
		MetricSides{&duration, sides(Paired{Pairs: 200, Mean: -119.7, Interval: &Interval{Low: -161.2, High: -80.1}, Verdict: Better})},
		MetricSides{&cost, sides(Paired{Pairs: 200, Verdict: CannotTell})})
	c := &Many{sides: make([]manySide, 2)}
	if got := c.Sentence(metrics, 1); got != "cannot tell: no datapoint is in both runs" {
		t.Errorf("without pairs: %q", got)
	}
	c.sides[1].paired = 200
	want := "better on correctness by 0.08, between 0.031 and 0.129; 4 of 200 became worse; better on polite by 25 pp, between 12 pp and 38 pp; cannot tell on tone of voice; " +
		"latency: 120 ms less, between 80 ms and 162 ms; cost: cannot tell"
	if got := c.Sentence(metrics, 1); got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
	many := slices.Repeat(metrics[1:2], 9)
	if got := c.Sentence(many, 1); !strings.HasSuffix(got, ", 3 more") {
		t.Errorf("many: %q", got)
	}
}
