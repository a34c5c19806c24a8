package run

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Scores are what a run's events carry. Events are in order of start time.
type Scores struct {
	Events []Scored
	// Kinds are the different names and types of all events of the run, in order.
	Kinds []Kind
	// Sessions are all sessions of the run, in order of start time.
	Sessions []uuid.UUID
	// Datapoints tells which datapoint a session is about, where one is known.
	Datapoints map[uuid.UUID]string
}

// Kind is a name and a type of events.
type Kind struct{ Name, Type string }

// Scored is an event with metrics.
type Scored struct {
	Session uuid.UUID
	Kind    Kind
	Metrics json.RawMessage
}

// Value is one score: a number, or a boolean, which counts as 1 or 0. JSON is the score as it was
// given.
type Value struct {
	Number float64
	JSON   json.RawMessage
}

func allBoolean(list []Value) bool {
	return !slices.ContainsFunc(list, func(v Value) bool {
		k := rawjson.KindOf(v.JSON)
		return k != 't' && k != 'f'
	})
}

// valueOf reads a score; ok is false for all but numbers and booleans.
func valueOf(raw json.RawMessage) (v Value, ok bool) {
	v.JSON = raw
	switch rawjson.KindOf(raw) {
	case '0':
		v.Number, ok = rawjson.Number(raw)
	case 't':
		v.Number, ok = 1, true
	case 'f':
		ok = true
	}
	return v, ok
}

// values returns the scores among metrics. Texts, such as explanations, are not scores.
func values(metrics json.RawMessage) func(yield func(string, Value) bool) {
	return func(yield func(string, Value) bool) {
		for name, raw := range rawjson.Object(metrics) {
			if v, ok := valueOf(raw); ok && !yield(name, v) {
				return
			}
		}
	}
}

// Aggregate is how the values of a metric become one.
type Aggregate string

// Aggregates by their names. Percentiles interpolate between the closest values.
var aggregates = map[string]Aggregate{
	"average": "average", "avg": "average", "mean": "average",
	"median": "median", "p50": "median", "p90": "p90", "p95": "p95", "p99": "p99",
	"min": "min", "max": "max", "sum": "sum", "count": "count",
}

// ParseAggregate reads the name of an aggregate; "" is the average.
func ParseAggregate(name string) (Aggregate, error) {
	if name == "" {
		name = "average"
	}
	if a, ok := aggregates[strings.ToLower(name)]; ok {
		return a, nil
	}
	return "", fault.InvalidField("aggregate_function",
		"unknown function %.40q; must be one of average, min, max, median, p90, p95, p99, sum, count", name)
}

// Of returns the aggregate of values; ok is false where there are none.
func (a Aggregate) Of(list []Value) (v float64, ok bool) {
	numbers := make([]float64, len(list))
	for i, x := range list {
		numbers[i] = x.Number
	}
	return a.ofNumbers(numbers)
}

// quantiles are the aggregates for which values are sorted.
var quantiles = map[Aggregate]float64{"median": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}

// ofNumbers is Of for numbers, whose order it may change.
func (a Aggregate) ofNumbers(numbers []float64) (v float64, ok bool) {
	if len(numbers) == 0 {
		return 0, false
	}
	sum := 0.0
	for _, x := range numbers {
		sum = bounded(sum + x)
	}
	switch q, isQuantile := quantiles[a]; {
	case isQuantile:
		slices.Sort(numbers)
		v = Quantile(numbers, q)
	case a == "min":
		v = slices.Min(numbers)
	case a == "max":
		v = slices.Max(numbers)
	case a == "sum":
		v = sum
	case a == "count":
		v = float64(len(numbers))
	default:
		v = sum / float64(len(numbers))
	}
	return v, finite(v)
}

// Quantile interpolates linearly between the closest ranks of sorted values, in charts as in
// runs; NaN of none.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[low] + (sorted[low+1]-sorted[low])*(at-float64(low))
}

// Rule is what a project says of a metric. A score must meet all of it that says something of a
// score of its kind.
type Rule struct {
	Type string // PYTHON, LLM, HUMAN, COMPOSITE or EXPRESSION
	// Range is where numbers pass; both ends open where there is none.
	Range Range
	// PassWhen is the number or the boolean that passes; nil: any.
	PassWhen json.RawMessage
	// Categories are the texts that pass; nil: the rule says nothing of texts.
	Categories []string
}

// ClientSide is the type of a metric that no rule is known for: the client gave its scores.
const ClientSide = "CLIENT_SIDE"

func (r Rule) typeName() string {
	if r.Type == "" {
		return ClientSide
	}
	return r.Type
}

// decides reports whether values of the metric can pass or fail.
func (r Rule) decides() bool { return r.Range.Min != nil || r.Range.Max != nil || r.PassWhen != nil }

// passes reports whether a score passes; applies is false if the rule does not apply to it.
func (r Rule) passes(score json.RawMessage) (passes, applies bool) {
	if v, ok := valueOf(score); ok {
		return r.passesNumber(v.Number), r.decides()
	}
	text, ok := rawjson.Text(score)
	return slices.Contains(r.Categories, text), ok && r.Categories != nil
}

// passesNumber reports whether a number passes, as far as the rule applies to numbers.
func (r Rule) passesNumber(v float64) bool {
	when, exactly := valueOf(r.PassWhen)
	return r.Range.Holds(v) && (!exactly || v == when.Number)
}

// bounds returns the range in which numbers pass, which may be a single number.
func (r Rule) bounds() Range {
	if when, ok := rawjson.Number(r.PassWhen); ok && r.Range == (Range{}) {
		return Range{&when, &when}
	}
	return r.Range
}

// lowerIsBetter returns the direction of the metric.
func (r Rule) lowerIsBetter() bool {
	return r.Range.LowerIsBetter() || rawjson.KindOf(r.PassWhen) == 'f'
}

// directs reports whether the rule says which values are better.
func (r Rule) directs() bool {
	return r.lowerIsBetter() || r.Range.Min != nil && r.Range.Max == nil || rawjson.KindOf(r.PassWhen) == 't'
}

// rulesOf puts the run's own ranges over the project's rules.
func rulesOf(r *Run, project map[string]Rule) func(name string) Rule {
	own := r.Ranges()
	return func(name string) Rule {
		rule := project[name]
		if x, ok := own[name]; ok {
			rule = Rule{Type: rule.Type, Range: x}
		}
		return rule
	}
}

// key tells metrics apart. Sessions of two runs seldom share a name, so that of a session plays
// no part.
type key struct {
	metric string
	kind   Kind
}

const sessionType = "session"

func keyOf(metric string, k Kind) key {
	if k.Type == sessionType {
		k.Name = ""
	}
	return key{metric, k}
}

// Values returns the event's scores without the texts among its metrics; nil if there are no others.
func (e *Scored) Values() json.RawMessage {
	var b rawjson.Builder
	for name, v := range values(e.Metrics) {
		b.Raw(name, v.JSON)
	}
	return b.Bytes()
}
