package wire

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// AgreementQuery is with which labels a metric is compared, and which page of the disagreements is shown.
type AgreementQuery struct {
	query.LabelSearch
	Limit, Page int // of the disagreements
}

// agreementPages is how disagreements are paged.
var agreementPages = query.PageRule{Default: 50, Max: 1000}

// DecodeAgreement reads the query string of the agreement of a metric with labels: with, version, filters, dateRange, limit and page.
func DecodeAgreement(rawQuery string, m *metric.Metric, now time.Time) (q AgreementQuery, err error) {
	params, err := ParseParams(rawQuery)
	if err != nil {
		return q, err
	}
	var in struct {
		With    string `query:"with"`
		Version string `query:"version"`
	}
	if err := params.Read(&in); err != nil {
		return q, err
	}
	if in.With == "" {
		return q, fault.InvalidField("with", "is required: the field of events that has the label, such as feedback.rating")
	}
	q.MetricID, q.Metric = m.ID, m.Name
	label, has, err := query.ParseLabel(in.With)
	if err != nil {
		return q, fault.In("with", err)
	}
	if in.With == "metrics."+m.Name {
		return q, fault.InvalidField("with", "is the metric itself: people's labels have another name")
	}
	q.Label = label
	if in.Version != "" {
		if q.Version = metric.VersionNumber(in.Version); q.Version == 0 {
			return q, fault.InvalidField("version", "must be the name of a version, such as v2")
		}
	}
	if q.Limit, q.Page, err = params.Page(agreementPages); err != nil {
		return q, err
	}
	object, err := QueryObject(rawQuery)
	if err != nil {
		return q, err
	}
	if q.Filters, err = query.ParseFilters(rawjson.Get(object, "filters"), "filters"); err != nil {
		return q, err
	}
	q.Filters = append(slices.Clone(q.Filters), has)
	q.LabelSearch.Limit = evaluation.MaxLabelled
	q.From, q.To, err = query.ParseRange(rawjson.Get(object, "dateRange"), "dateRange", now)
	return q, err
}

// maxClasses is how many classes an agreement shows.
const maxClasses = 100

// MetricAgreement returns how far a metric agrees with labels, and a page of the disagreements. more says that other events than those
// looked at have a label, too.
func MetricAgreement(a *evaluation.Agreement, more bool, page []*evaluation.Labelled) json.RawMessage {
	var b rawjson.Builder
	b.Int("labelled", int64(a.Labelled))
	b.Bool("complete", !more)
	b.Int("scored", int64(a.Scored))
	b.Int("compared", int64(a.Compared))
	b.Int("unlike", int64(a.Unlike))
	b.Raw("classes", classAgreement(&a.Classes))
	b.Raw("numbers", numberAgreement(&a.Numbers))
	b.Int("disagreements", int64(len(a.Disagreements)))
	b.Raw("cases", array(page, func(x *evaluation.Labelled) json.RawMessage {
		var b rawjson.Builder
		b.String("event_id", x.EventID.String())
		b.String("session_id", x.SessionID.String())
		b.String("event_name", x.Name)
		b.Number("start_time", x.Start)
		b.Raw("label", x.Label)
		b.Raw("score", x.Score)
		b.String("explanation", x.Explanation)
		return b.Bytes()
	}))
	return b.Bytes()
}

func classAgreement(c *evaluation.ClassAgreement) json.RawMessage {
	if c.Compared == 0 {
		return json.RawMessage("null")
	}
	var b rawjson.Builder
	b.Int("compared", int64(c.Compared))
	b.Int("agreed", int64(c.Agreed))
	b.Number("accuracy", float64(c.Agreed)/float64(c.Compared))
	numberOrNull(&b, "kappa", c.Kappa)
	b.Int("by_threshold", int64(c.ByThreshold))
	shown := c.Classes[:min(maxClasses, len(c.Classes))]
	b.Int("omitted", int64(len(c.Classes)-len(shown)))
	b.Raw("values", array(shown, func(x evaluation.Class) json.RawMessage {
		var b rawjson.Builder
		b.Raw("value", x.Value)
		b.Int("labelled", int64(x.Labelled))
		b.Int("given", int64(x.Given))
		b.Int("both", int64(x.Both))
		numberOrNull(&b, "precision", x.Precision())
		numberOrNull(&b, "recall", x.Recall())
		numberOrNull(&b, "f1", x.F1())
		return b.Bytes()
	}))
	return b.Bytes()
}

func numberAgreement(n *evaluation.NumberAgreement) json.RawMessage {
	if n.Compared == 0 {
		return json.RawMessage("null")
	}
	var b rawjson.Builder
	b.Int("compared", int64(n.Compared))
	numberOrNull(&b, "correlation", n.Correlation)
	numberOrNull(&b, "kappa", n.Kappa)
	numberOrNull(&b, "mean_difference", n.MeanDifference)
	numberOrNull(&b, "mean_absolute_difference", n.MeanAbsDifference)
	return b.Bytes()
}

// DecodeCoverage reads the query string of the coverage of a metric: dateRange, the last 7 days if it is left out.
func DecodeCoverage(rawQuery string, now time.Time) (from, to *float64, err error) {
	object, err := QueryObject(rawQuery)
	if err != nil {
		return nil, nil, err
	}
	given := rawjson.Get(object, "dateRange")
	if rawjson.Null(given) {
		given = json.RawMessage(`"7d"`)
	}
	return query.ParseRange(given, "dateRange", now)
}

// MetricCoverage returns which part of the events that a metric is for it has scored, and what became of its evaluations.
func MetricCoverage(matching, scored int, online, backfills *evaluation.Counts) json.RawMessage {
	var b rawjson.Builder
	b.Int("matching", int64(matching))
	b.Int("scored", int64(scored))
	b.Raw("online", evaluationCounts(online))
	b.Raw("backfills", evaluationCounts(backfills))
	return b.Bytes()
}

func evaluationCounts(c *evaluation.Counts) json.RawMessage {
	var b rawjson.Builder
	for _, state := range evaluation.States() {
		b.Int(string(state), c.States[state])
	}
	b.Number("cost", c.Cost)
	causes := slices.SortedFunc(maps.Keys(c.Causes), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.Causes[b], c.Causes[a]), cmp.Compare(a, b))
	})
	b.Raw("failures", array(causes, func(name string) json.RawMessage {
		var b rawjson.Builder
		b.String("failure", name)
		b.Int("count", c.Causes[name])
		return b.Bytes()
	}))
	return b.Bytes()
}
