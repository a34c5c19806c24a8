package run

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// referenceCase is a comparison with the figures that e2e/statistics/reference.py calculates of it by scipy.
type referenceCase struct {
	Name      string
	Base, New [][]float64 // values of each datapoint; none: it is not in the run
	Pairs     int
	Mean      float64
	Method    string
	Low, High *float64
}

// The figures of 200 comparisons are those that scipy has.
func TestIntervalsAreThoseOfScipy(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/intervals.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []referenceCase
	if err := json.Unmarshal(raw, &cases); err != nil || len(cases) < 200 {
		t.Fatal(len(cases), err)
	}
	methods := map[string]int{}
	for _, c := range cases {
		means := func(list [][]float64) (out []float64) {
			for _, values := range list {
				if out = append(out, math.NaN()); len(values) > 0 {
					out[len(out)-1] = meanOf(values)
				}
			}
			return out
		}
		got := Compare(means(c.Base), means(c.New), false)
		if got.Pairs != c.Pairs || !near(got.Mean, c.Mean) {
			t.Errorf("%s: %d pairs, mean %v; want %d, %v", c.Name, got.Pairs, got.Mean, c.Pairs, c.Mean)
		}
		methods[c.Method]++
		switch x := got.Interval; {
		case (x == nil) != (c.Low == nil):
			t.Errorf("%s: interval %+v, want %v", c.Name, x, c.Low)
		case x != nil && (x.Method != c.Method || !near(x.Low, *c.Low) || !near(x.High, *c.High)):
			t.Errorf("%s: %+v; want %v to %v by %s", c.Name, *x, *c.Low, *c.High, c.Method)
		}
	}
	for _, m := range []string{PairedT, Newcombe, EqualDifferences} {
		if methods[m] < 10 {
			t.Errorf("%d cases of %s", methods[m], m)
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// studentT has the figures of tables.
func TestStudentT(t *testing.T) {
	t.Parallel()
	for freedom, want := range map[float64]float64{
		1: 12.706204736174694, 2: 4.302652729749462, 5: 2.5705818356363146, 9: 2.262157162798205, 30: 2.0422724563012378,
		199: 1.9719565442517533, 9999: 1.960201263621357, 1e6: 1.959966356814107,
	} {
		if got := studentT(freedom); math.Abs(got-want) > 1e-9*want {
			t.Errorf("%v degrees of freedom: %.16g, want %.16g", freedom, got, want)
		}
	}
}

// Intervals hold the true difference as often as they say.
func TestIntervalsCover(t *testing.T) {
	t.Parallel()
	const times = 2000
	// Of a true 95 %, a share below this comes up less than once in a million times.
	least := Level - 4.8*math.Sqrt(Level*(1-Level)/times)
	for _, tt := range []struct {
		name  string
		n     int
		least float64
		truth float64
		draw  func(r *rand.Rand) (base, now float64)
	}{
		{"numbers, 2 pairs", 2, least, 0.3, normalPair},
		{"numbers, 5 pairs", 5, least, 0.3, normalPair},
		{"numbers, 200 pairs", 200, least, 0.3, normalPair},
		{"skewed values", 20, least, 0, func(r *rand.Rand) (float64, float64) {
			d := r.ExpFloat64()
			return d + math.Exp(r.NormFloat64()), d + math.Exp(r.NormFloat64())
		}},
		{"most are the same", 100, least, 0.02, func(r *rand.Rand) (float64, float64) {
			b := r.Float64()
			if r.Float64() < 0.2 {
				return b, b + 0.1 + 0.3*r.NormFloat64()
			}
			return b, b
		}},
		// One-sided differences with a long tail are the hardest: t is known to cover less, and the documentation says how much.
		{"skewed differences, 50 pairs", 50, 0.92, 1, func(r *rand.Rand) (float64, float64) { return 0, r.ExpFloat64() }},
		{"booleans, 10 pairs", 10, least, 0.1, binaryPair(0.6, 0.2, 0.1)},
		{"booleans, 40 pairs", 40, least, 0.1, binaryPair(0.6, 0.2, 0.1)},
		{"booleans, 200 pairs, few differ", 200, least, 0.03, binaryPair(0.9, 0.04, 0.01)},
		{"booleans without a difference", 100, least, 0, binaryPair(0.5, 0.1, 0.1)},
		{"booleans that are all true", 30, least, 0, binaryPair(0.96, 0.02, 0.02)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(7, uint64(tt.n)))
			held := 0
			base, now := make([]float64, tt.n), make([]float64, tt.n)
			for range times {
				for i := range base {
					base[i], now[i] = tt.draw(r)
				}
				if x := Compare(base, now, false).Interval; x == nil || x.holds(tt.truth) {
					held++
				}
			}
			if share := float64(held) / times; share < tt.least {
				t.Errorf("the interval holds the true difference in %.2f %% of cases, want %.2f %% at least", 100*share, 100*tt.least)
			}
		})
	}
}

func normalPair(r *rand.Rand) (base, now float64) {
	d := 5 * r.NormFloat64()
	return d + r.NormFloat64(), d + 0.3 + r.NormFloat64()
}

// binaryPair draws pairs of which a share passes in both, and others in the new one or the base alone.
func binaryPair(both, gain, loss float64) func(r *rand.Rand) (base, now float64) {
	return func(r *rand.Rand) (float64, float64) {
		switch u := r.Float64(); {
		case u < both:
			return 1, 1
		case u < both+gain:
			return 0, 1
		case u < both+gain+loss:
			return 1, 0
		}
		return 0, 0
	}
}

// Where nothing has changed, few comparisons say otherwise, also of few datapoints that mostly tie.
func TestVerdictsAreSeldomWrong(t *testing.T) {
	t.Parallel()
	const times = 4000
	most := 1 - Level + 4.8*math.Sqrt(Level*(1-Level)/times)
	for _, n := range []int{6, 10, 50, 400} {
		for name, draw := range map[string]func(r *rand.Rand) (float64, float64){
			"numbers":  func(r *rand.Rand) (float64, float64) { return r.NormFloat64(), r.NormFloat64() },
			"booleans": binaryPair(0.4, 0.1, 0.1),
			"grades":   func(r *rand.Rand) (float64, float64) { return float64(r.IntN(3)) / 2, float64(r.IntN(3)) / 2 },
		} {
			r := rand.New(rand.NewPCG(11, uint64(n)))
			wrong := 0
			base, now := make([]float64, n), make([]float64, n)
			for range times {
				for i := range base {
					base[i], now[i] = draw(r)
				}
				if Compare(base, now, false).Verdict != CannotTell {
					wrong++
				}
			}
			if share := float64(wrong) / times; share > most {
				t.Errorf("%s, %d pairs: %.2f %% are better or worse though nothing changed", name, n, 100*share)
			}
		}
	}
}

func TestCompareAtTheEdges(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	many := func(v float64, n int) []float64 { return slices.Repeat([]float64{v}, n) }
	for _, tt := range []struct {
		name      string
		base, now []float64
		lower     bool
		pairs     int
		method    string
		verdict   Verdict
	}{
		{"no pair", []float64{1, nan}, []float64{nan, 1}, false, 0, "", CannotTell},
		{"one number", []float64{0.2}, []float64{0.4}, false, 1, "", CannotTell},
		{"one boolean", []float64{0}, []float64{1}, false, 1, Newcombe, CannotTell},
		{"all equal", many(0.5, 20), many(0.5, 20), false, 20, "", CannotTell},
		{"all raised by the same", many(0.5, 20), many(0.7, 20), false, 20, EqualDifferences, Better},
		{"all lowered by the same, which is good", many(0.5, 20), many(0.3, 20), true, 20, EqualDifferences, Better},
		{"five raised by the same", many(0.5, 5), many(0.7, 5), false, 5, EqualDifferences, CannotTell},
		{"all passed", many(0, 30), many(1, 30), false, 30, Newcombe, Better},
		{"five passed", append(many(0, 5), many(1, 200)...), many(1, 205), false, 205, Newcombe, CannotTell},
		{"none passes any more", many(1, 30), many(0, 30), false, 30, Newcombe, Worse},
		{"beyond reason", many(math.MaxFloat64, 10), append(many(-math.MaxFloat64, 9), 1), false, 10, "", CannotTell},
		{"rounding alone", []float64{0.1 + 0.2, 0.3, 0.5, 0.7, 0.2, 0.1, 0.9}, []float64{0.3, 0.1 + 0.2, 0.5, 0.7, 0.2, 0.1, 0.9}, false, 7, EqualDifferences, CannotTell},
	} {
		got := Compare(tt.base, tt.now, tt.lower)
		method := ""
		if got.Interval != nil {
			method = got.Interval.Method
			if !finite(got.Interval.Low) || !finite(got.Interval.High) || got.Interval.Low > got.Interval.High {
				t.Errorf("%s: %+v", tt.name, *got.Interval)
			}
		}
		if got.Pairs != tt.pairs || method != tt.method || got.Verdict != tt.verdict || got.Improved+got.Degraded+got.Same != got.Pairs || !finite(got.Mean) {
			t.Errorf("%s: %+v by %q", tt.name, got, method)
		}
	}
}

// The difference of two rates is between -1 and 1, and so is its interval, also where datapoints are repeated and few.
func TestIntervalOfRepeatedRates(t *testing.T) {
	t.Parallel()
	scores := func(metrics ...string) *Scores {
		s := &Scores{Datapoints: map[uuid.UUID]string{}}
		for i, m := range metrics {
			at := id(byte(i + 1))
			s.Sessions, s.Datapoints[at] = append(s.Sessions, at), fmt.Sprint("d", i)
			for _, one := range strings.Split(m, " ") {
				s.Events = append(s.Events, Scored{at, Kind{"call", "model"}, raw(`{"ok":` + one + `}`)})
			}
		}
		return s
	}
	base, now := scores("true false", "true"), scores("true", "true false")
	c := CompareRuns(&Run{}, &Run{}, now, base, nil, "average")
	want := &Interval{-1, 1, PairedT}
	if d := cmp.Diff(want, c.Metrics[0].Interval); d != "" {
		t.Errorf("of two runs (-want +got):\n%s", d)
	}
	many := CompareMany([]Side{{&Run{}, OutcomesOf(base, nil)}, {&Run{}, OutcomesOf(now, nil)}}, 0, nil, "average")
	metrics, _ := many.Compare(RowQuery{Metric: -1, Side: AnySide, Limit: 1}, true)
	at := slices.IndexFunc(metrics, func(m MetricSides) bool { return m.Name == "ok" })
	if d := cmp.Diff(want, metrics[at].Sides[1].Interval); d != "" {
		t.Errorf("of several runs (-want +got):\n%s", d)
	}
	// Numbers are no rates, whatever they are.
	base, now = scores("1 0", "1"), scores("1", "1 0")
	if x := CompareRuns(&Run{}, &Run{}, now, base, nil, "average").Metrics[0].Interval; x == nil || x.High <= 1 {
		t.Errorf("of numbers: %+v", x)
	}
}
