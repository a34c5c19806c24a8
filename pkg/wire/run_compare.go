package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/run"
)

// How many rows a page of a comparison has if nothing is said, and at most.
const (
	defaultCompared = 50
	MaxCompared     = 200
)

// runCompareFields are the fields of a comparison of several runs.
var runCompareFields = []string{"run_ids", "baseline", "filters", "dateRange", "aggregate_function", "metric", "run_id", "only", "sort", "order", "limit", "cursor"}

// RunCompare is what a comparison of several runs asks.
type RunCompare struct {
	RunIDs    []string // different ones, as they are stored
	Base      int      // index of the baseline
	Search    query.Search
	Aggregate run.Aggregate
	Metric    string       // key; "" for none
	Rows      run.RowQuery // without Metric
	question  string       // a hash of what is compared and in which order, which a cursor repeats
}

// DecodeRunCompare reads the body of a comparison of several runs; now is what relative ranges count from. Unknown fields are refused. Errors are
// fault.Invalid naming the field.
//
//	{"run_ids": ["…", "…"], "baseline": "…", "metric": "correctness", "run_id": "…", "only": "degraded", "sort": "delta", "order": "asc", "limit": 50, "cursor": "…"}
func DecodeRunCompare(body []byte, now time.Time) (*RunCompare, error) {
	object, _, err := DecodeObject(body)
	if err != nil {
		return nil, err
	}
	if err := knownFields(object, runCompareFields); err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	for key, raw := range rawjson.Object(object) {
		if !rawjson.Null(raw) {
			fields[key] = raw
		}
	}
	r := &RunCompare{Rows: run.RowQuery{Side: run.AnySide}}
	if err := r.readRuns(fields); err != nil {
		return nil, err
	}
	if r.Search.Filters, err = query.ParseFilters(fields["filters"], "filters"); err != nil {
		return nil, err
	}
	if r.Search.From, r.Search.To, err = query.ParseRange(fields["dateRange"], "dateRange", now); err != nil {
		return nil, err
	}
	if err := r.readRows(fields); err != nil {
		return nil, err
	}
	r.question = hashOf(fields["run_ids"], []byte(strconv.Itoa(r.Base)), fields["filters"], fields["dateRange"], []byte(r.Metric), []byte(strconv.Itoa(r.Rows.Side)),
		[]byte(r.Rows.Only), []byte(r.Rows.Sort), strconv.AppendBool(nil, r.Rows.Descending))
	if raw := fields["cursor"]; raw != nil {
		if r.Rows.After, err = readRowPlace(r.question, len(r.RunIDs), raw); err != nil {
			return nil, fault.In("cursor", err)
		}
	}
	return r, nil
}

// readRuns reads the runs and the baseline.
func (r *RunCompare) readRuns(fields map[string]json.RawMessage) (err error) {
	if fields["run_ids"] == nil {
		return fault.InvalidField("run_ids", "is required: 1 to %d runs", run.MaxCompared)
	}
	if r.RunIDs, err = readTexts(fields["run_ids"], run.MaxCompared); err != nil {
		return fault.In("run_ids", err)
	}
	if len(r.RunIDs) == 0 {
		return fault.InvalidField("run_ids", "must name 1 to %d runs", run.MaxCompared)
	}
	for i, id := range r.RunIDs {
		r.RunIDs[i] = run.FoldID(id)
		if slices.Contains(r.RunIDs[:i], r.RunIDs[i]) {
			return fault.InvalidField(indexed("run_ids", i), "names run %.60q a second time", id)
		}
	}
	r.Base, err = r.side(fields, "baseline", 0)
	if err == nil {
		r.Rows.Side, err = r.side(fields, "run_id", run.AnySide)
	}
	return err
}

// side reads a field that names one of the runs.
func (r *RunCompare) side(fields map[string]json.RawMessage, name string, missing int) (int, error) {
	raw := fields[name]
	if raw == nil {
		return missing, nil
	}
	id, err := readText(raw)
	if err != nil {
		return 0, fault.In(name, err)
	}
	if i := slices.Index(r.RunIDs, run.FoldID(id)); i >= 0 {
		return i, nil
	}
	return 0, fault.InvalidField(name, "must be one of run_ids, not %.60q", id)
}

// readRows reads which rows are asked for, and in which order.
func (r *RunCompare) readRows(fields map[string]json.RawMessage) error {
	how := ""
	for _, f := range []struct {
		name string
		to   *string
	}{{"aggregate_function", &how}, {"metric", &r.Metric}} {
		if raw := fields[f.name]; raw != nil {
			text, err := readText(raw)
			if err != nil {
				return fault.In(f.name, err)
			}
			*f.to = text
		}
	}
	var err error
	if r.Aggregate, err = run.ParseAggregate(how); err != nil {
		return err
	}
	only, err := oneOf(fields, "only", "", run.Onlys)
	if err != nil {
		return err
	}
	sort, err := oneOf(fields, "sort", string(run.SortOrder), run.RowSorts)
	if err != nil {
		return err
	}
	order, err := oneOf(fields, "order", "asc", []string{"desc", "asc"})
	if err != nil {
		return err
	}
	q := &r.Rows
	q.Only, q.Sort, q.Descending = run.Only(only), run.RowSort(sort), order == "desc"
	q.Limit, _, err = (query.PageRule{Default: defaultCompared, Max: MaxCompared}).Parse(fields["limit"], nil)
	switch {
	case err != nil:
		return err
	case q.Sort != run.SortOrder && r.Metric == "":
		return fault.InvalidField("metric", "is required to sort by %s", q.Sort)
	case q.Side != r.Base:
	case q.Sort == run.SortDelta:
		return fault.InvalidField("run_id", "must not be the baseline, which has no difference from itself")
	case q.Only != "" && q.Only != run.OnlyFailed && q.Only != run.OnlyErrors:
		return fault.InvalidField("run_id", "must not be the baseline, of which no row is %s", q.Only)
	}
	return nil
}

// rowCursor returns the cursor of the page after a row.
func rowCursor(question string, p *run.RowPlace) string {
	value := "-"
	if !math.IsNaN(p.Value) {
		value = strconv.FormatFloat(p.Value, 'g', -1, 64)
	}
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s %s %d %s %s", question, value, p.Side, strconv.FormatFloat(p.Start, 'g', -1, 64), p.ID))
}

// readRowPlace reads a cursor, which must be of the same question.
func readRowPlace(question string, runs int, raw json.RawMessage) (*run.RowPlace, error) {
	text, err := readText(raw)
	if err != nil {
		return nil, err
	}
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if parts := strings.Split(string(decoded), " "); err == nil && len(parts) == 5 && parts[0] == question {
		p := &run.RowPlace{Value: math.NaN()}
		var wrong [4]error
		if parts[1] != "-" {
			p.Value, wrong[0] = strconv.ParseFloat(parts[1], 64)
		}
		p.Side, wrong[1] = strconv.Atoi(parts[2])
		p.Start, wrong[2] = strconv.ParseFloat(parts[3], 64)
		p.ID, wrong[3] = ParseID(parts[4])
		if wrong == [4]error{} && p.Side >= 0 && p.Side < runs && !math.IsInf(p.Value, 0) && !math.IsNaN(p.Start) && (parts[1] == "-" || !math.IsNaN(p.Value)) {
			return p, nil
		}
	}
	return nil, fault.New(fault.Invalid, "is not a cursor of this comparison: a cursor goes with the same runs, filters, metric and order")
}

// addTotals adds the totals of a run.
func addTotals(b *rawjson.Builder, t *run.Totals) {
	b.Int("datapoints", int64(t.Datapoints))
	b.Int("sessions", int64(t.Sessions))
	b.Int("errors", int64(t.Errors))
	b.Int("running", int64(t.Running))
	addNumber(b, "duration", t.Duration, V1)
	addNumber(b, "cost", t.Cost, V1)
	b.Number("tokens", t.Tokens)
}

// addMetric adds what a metric is.
func addMetric(b *rawjson.Builder, m *run.ManyMetric) {
	b.String("key", m.Key)
	b.String("name", m.Name)
	b.String("event_type", m.Kind.Type)
	b.String("event_name", m.Kind.Name)
	b.String("metric_type", m.Type)
	b.String("unit", m.Unit)
	b.Bool("is_boolean", m.Boolean)
	b.Bool("lower_is_better", m.LowerIsBetter)
	b.Bool("direction_given", m.Directed)
	if m.Range.Min != nil || m.Range.Max != nil {
		b.Raw("passing_range", rangeOfValues(m.Range))
	}
}

func rangeOfValues(r run.Range) json.RawMessage {
	var bounds rawjson.Builder
	if r.Min != nil {
		bounds.Number("min", *r.Min)
	}
	if r.Max != nil {
		bounds.Number("max", *r.Max)
	}
	return bounds.Bytes()
}

// addMetricValue adds what a run has of a metric.
func addMetricValue(b *rawjson.Builder, v *run.MetricValue) {
	addNumber(b, "aggregate", v.Aggregate, V1)
	b.Int("values", int64(v.Values))
	b.Int("datapoints", int64(v.Datapoints))
	b.Int("passed", int64(v.Passed))
	b.Int("failed", int64(v.Failed))
}

// RunAggregates returns the aggregates of a run in a list; null of none.
func RunAggregates(x *run.Summary) json.RawMessage {
	if x == nil {
		return json.RawMessage("null")
	}
	var b rawjson.Builder
	addTotals(&b, &x.Totals)
	b.Raw("metrics", arrayOf(x.Metrics, func(dst []byte, m *run.MetricSummary) []byte {
		var b rawjson.Builder
		addMetric(&b, &m.ManyMetric)
		addMetricValue(&b, &m.MetricValue)
		return append(dst, b.Bytes()...)
	}))
	b.Int("metrics_omitted", int64(x.Omitted))
	return b.Bytes()
}

// comparedRuns returns the runs of a comparison with their totals.
func comparedRuns(c *run.Many, metrics []run.MetricSides) json.RawMessage {
	dst := []byte{'['}
	for side := range c.Sides() {
		var b rawjson.Builder
		r, t := c.Run(side), c.Totals(side)
		b.String("run_id", r.ID)
		b.String("name", r.Name)
		b.String("status", r.Status)
		addText(&b, "dataset_id", r.DatasetID, V1)
		if r.DatasetVersion > 0 {
			b.Int("dataset_version", r.DatasetVersion)
		}
		b.String("created_at", isoTime(r.Created))
		addTotals(&b, &t)
		b.Int("unmatched", int64(t.Unmatched))
		b.Int("paired", int64(c.Paired(side)))
		b.String("sentence", c.Sentence(metrics, side))
		if side > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, b.Bytes()...)
	}
	return append(dst, ']')
}

// comparedMetric returns a metric with what each run has of it.
func comparedMetric(c *run.Many, m *run.MetricSides) json.RawMessage {
	var b rawjson.Builder
	addMetric(&b, m.ManyMetric)
	sides := []byte{'['}
	for side := range m.Sides {
		x := &m.Sides[side]
		var b rawjson.Builder
		b.String("run_id", c.Run(side).ID)
		addMetricValue(&b, &x.MetricValue)
		b.Int("pairs", int64(x.Pairs))
		b.Int("improved", int64(x.Improved))
		b.Int("degraded", int64(x.Degraded))
		b.Int("same", int64(x.Same))
		if side != c.Base {
			addPaired(&b, &x.Paired)
		}
		if side > 0 {
			sides = append(sides, ',')
		}
		sides = append(sides, b.Bytes()...)
	}
	b.Raw("runs", append(sides, ']'))
	return b.Bytes()
}

// addPaired adds how a run differs from the baseline.
func addPaired(b *rawjson.Builder, p *run.Paired) {
	if p.Pairs > 0 {
		b.Number("baseline_aggregate", p.Base)
		b.Number("paired_aggregate", p.New)
		b.Number("difference", p.Mean)
	}
	if p.Interval != nil {
		b.Raw("interval", intervalOf(p.Interval))
	}
	b.String("verdict", string(p.Verdict))
}

func intervalOf(x *run.Interval) json.RawMessage {
	var b rawjson.Builder
	b.Number("level", run.Level)
	b.Number("low", x.Low)
	b.Number("high", x.High)
	b.String("method", x.Method)
	return b.Bytes()
}
