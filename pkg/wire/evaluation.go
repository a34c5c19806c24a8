package wire

import (
	"slices"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// How many evaluations a page has.
const (
	defaultEvaluations = 100
	maxEvaluations     = 1000
)

// evaluationFields are what evaluations can be narrowed by, in a query string or a body.
var evaluationFields = []string{"id", "event_id", "metric_id", "backfill_id", "state", "failure"}

// setEvaluationField takes one of evaluationFields; "" is absent.
func setEvaluationField(q *evaluation.Query, name, text string) (err error) {
	if text == "" {
		return nil
	}
	switch name {
	case "id":
		q.ID = text
	case "event_id":
		q.EventID, err = ParseID(text)
	case "metric_id":
		q.MetricID = text
	case "backfill_id":
		q.Backfill = text
	case "state":
		q.State = evaluation.State(text)
		if !slices.Contains(evaluation.States(), q.State) {
			err = fault.New(fault.Invalid, "must be one of waiting, paused, done, failed, dead, not %.40q", text)
		}
	case "failure":
		q.Failure = text
	}
	return err
}

// DecodeEvaluationQuery reads the query string of a list of evaluations: evaluationFields, limit, and before, an id:
// only older ones.
func DecodeEvaluationQuery(p Params) (q evaluation.Query, err error) {
	for _, name := range evaluationFields {
		text, err := p.Text(name)
		if err == nil {
			err = fault.In(name, setEvaluationField(&q, name, text))
		}
		if err != nil {
			return q, err
		}
	}
	var in struct {
		Before string `query:"before"`
		Limit  int64  `query:"limit"`
	}
	if err := p.Read(&in); err != nil {
		return q, err
	}
	switch {
	case in.Limit == 0:
		in.Limit = defaultEvaluations
	case in.Limit < 0 || in.Limit > maxEvaluations:
		return q, fault.InvalidField("limit", "must be between 1 and %d", maxEvaluations)
	}
	q.Before, q.Limit = in.Before, int(in.Limit)
	return q, nil
}

// DecodeEvaluationRetry reads which evaluations are to be tried again: an object of evaluationFields. Only those that
// failed can be.
func DecodeEvaluationRetry(body []byte) (q evaluation.Query, err error) {
	object, _, err := DecodeObject(body)
	if err != nil {
		return q, err
	}
	err = eachOf(object, func(key string, raw []byte) error {
		if !slices.Contains(evaluationFields, key) {
			return nil
		}
		text, err := readText(raw)
		if err != nil {
			return err
		}
		return setEvaluationField(&q, key, text)
	})
	if err == nil && q.State != "" && q.State != evaluation.Failed && q.State != evaluation.Dead {
		err = fault.InvalidField("state", "must be failed or dead: others are not tried again")
	}
	return q, err
}

// AppendEvaluation appends an evaluation. What has no value is left out: the score and whether it passed until there
// is one, due_at unless it waits, finished_at until it is at its end.
func AppendEvaluation(dst []byte, e *evaluation.Evaluation) []byte {
	var b rawjson.Builder
	b.String("id", e.ID)
	b.String("metric_id", e.MetricID)
	b.String("metric_version", metric.VersionName(e.Version))
	b.String("event_id", e.EventID.String())
	if e.Backfill != "" {
		b.String("backfill_id", e.Backfill)
	}
	b.String("state", string(e.State))
	b.Int("attempts", int64(e.Attempts))
	if e.Score != nil {
		b.Raw("score", e.Score)
	}
	if e.Passed != nil {
		b.Bool("passed", *e.Passed)
	}
	if e.Failure != "" {
		b.String("failure", e.Failure)
	}
	if e.Explanation != "" {
		b.String("explanation", e.Explanation)
	}
	b.Number("cost", e.Cost)
	b.Number("latency_ms", e.LatencyMS)
	b.String("created_at", isoTime(e.Created))
	if e.State == evaluation.Waiting {
		b.String("due_at", isoTime(e.Due))
	}
	if e.Finished != 0 {
		b.String("finished_at", isoTime(e.Finished))
	}
	return append(dst, b.Bytes()...)
}
