package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"
)

// RunTotals sum up the sessions of a run.
type RunTotals struct {
	Datapoints int      `json:"datapoints"`
	Sessions   int      `json:"sessions"`
	Errors     int      `json:"errors"`   // sessions with an error
	Running    int      `json:"running"`  // sessions that have not ended
	Duration   *float64 `json:"duration"` // mean in milliseconds
	Cost       *float64 `json:"cost"`     // sum in US dollars; nil if no session has one
	Tokens     float64  `json:"tokens"`   // sum
}

// RunAggregates are what a run came to.
type RunAggregates struct {
	RunTotals
	Metrics []struct {
		RunMetric
		RunMetricValue
	} `json:"metrics"`
	MetricsOmitted int `json:"metrics_omitted"` // beyond the 100 that are listed
}

// RunMetric is a metric that events of runs have, or the duration, the cost or the tokens of their sessions.
type RunMetric struct {
	Key            string `json:"key"` // the name, or "name (event type event name)" where several kinds of events have it
	Name           string `json:"name"`
	EventType      string `json:"event_type"`
	EventName      string `json:"event_name"`
	MetricType     string `json:"metric_type"` // SESSION for duration, cost and tokens
	Unit           string `json:"unit"`        // ms, USD, tokens or none
	IsBoolean      bool   `json:"is_boolean"`
	LowerIsBetter  bool   `json:"lower_is_better"`
	DirectionGiven bool   `json:"direction_given"` // false: more is taken to be better
	PassingRange   *Range `json:"passing_range"`
}

// RunMetricValue is what a run has of a metric.
type RunMetricValue struct {
	Aggregate  *float64 `json:"aggregate"` // nil without values
	Values     int      `json:"values"`
	Datapoints int      `json:"datapoints"`
	Passed     int      `json:"passed"` // datapoints
	Failed     int      `json:"failed"`
}

// Interval is where the true difference lies.
type Interval struct {
	Level  float64 `json:"level"` // 0.95
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Method string  `json:"method"` // paired_t, newcombe or equal_differences
}

// RunCompareQuery compares runs with one of them, and chooses rows of the comparison.
type RunCompareQuery struct {
	RunIDs     []string // up to 8
	Baseline   string   // the first if empty
	Filters    []Filter // which scores count
	DateRange  DateRange
	Aggregate  string // as in RunRead
	Metric     string // key of the metric that Only and Sort are about
	RunID      string // the run that they are about; any if empty
	Only       string // improved, degraded, same, failed, errors or differing; all if empty
	Sort       string // order, delta or value; order if empty
	Descending bool
	Limit      int    // 1 to 200; 0: 50
	Cursor     string // NextCursor of the page before
}

// RunsCompared is a comparison of runs with a page of its rows. Runs, Metrics and Counts come with the first page alone.
type RunsCompared struct {
	Baseline string        `json:"baseline"`
	Runs     []ComparedRun `json:"runs"`
	Metrics  []struct {
		RunMetric
		Runs []ComparedMetric `json:"runs"`
	} `json:"metrics"`
	MetricsOmitted int            `json:"metrics_omitted"`
	Counts         map[string]int `json:"counts"` // rows by what RunCompareQuery.Only may be, and all
	Total          int            `json:"total"`  // rows that match
	NextCursor     string         `json:"next_cursor"`
	Rows           []ComparedRow  `json:"rows"`
}

// ComparedRun is a run of a comparison.
type ComparedRun struct {
	RunTotals
	RunID          string    `json:"run_id"`
	Name           string    `json:"name"`
	Status         string    `json:"status"`
	DatasetID      string    `json:"dataset_id"`
	DatasetVersion int64     `json:"dataset_version"`
	CreatedAt      time.Time `json:"created_at"`
	Unmatched      int       `json:"unmatched"` // sessions without a datapoint
	Paired         int       `json:"paired"`    // datapoints that the baseline has, too
	Sentence       string    `json:"sentence"`  // the comparison in words; empty of the baseline
}

// ComparedMetric is a metric of a run against the baseline.
type ComparedMetric struct {
	RunMetricValue
	RunID             string    `json:"run_id"`
	Pairs             int       `json:"pairs"`
	Improved          int       `json:"improved"`
	Degraded          int       `json:"degraded"`
	Same              int       `json:"same"`
	Difference        *float64  `json:"difference"` // mean over the pairs; nil without any, and of the baseline
	BaselineAggregate *float64  `json:"baseline_aggregate"`
	PairedAggregate   *float64  `json:"paired_aggregate"`
	Interval          *Interval `json:"interval"`
	Verdict           string    `json:"verdict"` // better, worse or cannot_tell; empty of the baseline
}

// ComparedRow is a datapoint, or a session without one.
type ComparedRow struct {
	ID          string          `json:"id"`
	DatapointID string          `json:"datapoint_id"`
	Stored      bool            `json:"stored"` // the datapoint is on the server
	Input       string          `json:"input"`  // a line of at most 400 characters
	Expected    string          `json:"expected"`
	Cells       []*ComparedCell `json:"cells"` // in the order of the runs; nil: no session is about it
}

// ComparedCell is what a run made of a datapoint.
type ComparedCell struct {
	SessionID  string                   `json:"session_id"`
	Sessions   int                      `json:"sessions"`
	SessionIDs []string                 `json:"session_ids"` // of repetitions, at most 20
	Output     string                   `json:"output"`
	Error      string                   `json:"error"`
	Errors     int                      `json:"errors"`
	Running    bool                     `json:"running"`
	Scores     map[string]ComparedScore `json:"scores"` // by key of the metric
}

// ComparedScore is a value of a metric, or the mean of several.
type ComparedScore struct {
	Value     any      `json:"value"` // json.Number, or a text where there are texts alone
	Values    int      `json:"values"`
	Min       *float64 `json:"min"`
	Max       *float64 `json:"max"`
	Deviation *float64 `json:"deviation"`
	Delta     *float64 `json:"delta"`
	Change    string   `json:"change"` // improved, degraded or same; empty where the baseline has none
	Passed    *bool    `json:"passed"` // whether all values pass; nil where no rule decides

	ValuesPassed *int `json:"values_passed"` // of several, those that pass; nil where no rule decides
}

// MarshalJSON writes the query as the API has it.
func (q RunCompareQuery) MarshalJSON() ([]byte, error) {
	order := ""
	if q.Descending {
		order = "desc"
	}
	return json.Marshal(struct {
		RunIDs    []string `json:"run_ids"`
		Baseline  string   `json:"baseline,omitempty"`
		Filters   []Filter `json:"filters,omitempty"`
		DateRange any      `json:"dateRange,omitempty"`
		Aggregate string   `json:"aggregate_function,omitempty"`
		Metric    string   `json:"metric,omitempty"`
		RunID     string   `json:"run_id,omitempty"`
		Only      string   `json:"only,omitempty"`
		Sort      string   `json:"sort,omitempty"`
		Order     string   `json:"order,omitempty"`
		Limit     int      `json:"limit,omitempty"`
		Cursor    string   `json:"cursor,omitempty"`
	}{q.RunIDs, q.Baseline, q.Filters, q.DateRange.wire(), q.Aggregate, q.Metric, q.RunID, q.Only, q.Sort, order, q.Limit, q.Cursor})
}

// CompareMany compares up to 8 runs with one of them, and reads a page of their datapoints side by side.
func (s *RunService) CompareMany(ctx context.Context, q RunCompareQuery) (*RunsCompared, error) {
	return one[RunsCompared](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/runs/compare", Body: q, Repeatable: true})
}

// AllCompared walks over all rows of a comparison, page by page, from the page of q.Cursor on.
func (s *RunService) AllCompared(ctx context.Context, q RunCompareQuery) iter.Seq2[ComparedRow, error] {
	return follow(q.Cursor, func(cursor string) ([]ComparedRow, string, error) {
		q.Cursor = cursor
		page, err := s.CompareMany(ctx, q)
		if err != nil {
			return nil, "", err
		}
		return page.Rows, page.NextCursor, nil
	})
}
