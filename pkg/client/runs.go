package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// The statuses of runs.
const (
	RunPending   = "pending"
	RunRunning   = "running"
	RunCompleted = "completed"
	RunFailed    = "failed"
	RunCancelled = "cancelled"
)

// Run is an experiment: some sessions, mostly one a datapoint, and what their scores say.
type Run struct {
	RunID          string           `json:"run_id"`
	Name           string           `json:"name"`
	Description    string           `json:"description"`
	Status         string           `json:"status"`
	Metadata       Object           `json:"metadata"`
	Results        Object           `json:"results"`
	Configuration  Object           `json:"configuration"`
	PassingRanges  map[string]Range `json:"passing_ranges"` // by name of the metric
	Evaluators     []any            `json:"evaluators"`
	EventIDs       []string         `json:"event_ids"` // of sessions
	SessionIDs     []string         `json:"session_ids"`
	DatapointIDs   []string         `json:"datapoint_ids"`
	DatasetID      string           `json:"dataset_id"`
	DatasetVersion int64            `json:"dataset_version,omitempty"` // of a stored dataset
	IsActive       bool             `json:"is_active"`
	Project        string           `json:"project"`
	ScopeType      string           `json:"scope_type"`
	ScopeID        string           `json:"scope_id"`
	CreatedAt      time.Time        `json:"created_at"`
	UpdatedAt      time.Time        `json:"updated_at,omitzero"` // zero if it never changed
	// Aggregates sum up what its sessions came to: in lists, if RunQuery.Aggregates asks for it, and nil of a run with more than 100,000 sessions.
	Aggregates *RunAggregates `json:"aggregates,omitempty"`
}

// Range defines which scores pass, both bounds included; nil is no bound.
type Range struct {
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
}

// RunInput is a run to be created or changed. What is empty stays as it is; Metadata is merged
// key by key.
type RunInput struct {
	RunID         string           `json:"run_id,omitempty"` // a UUID; made by the client if empty
	Name          string           `json:"name,omitempty"`
	Description   string           `json:"description,omitempty"`
	Status        string           `json:"status,omitempty"`
	DatasetID     string           `json:"dataset_id,omitempty"`
	EventIDs      []string         `json:"event_ids,omitzero"` // of sessions
	SessionIDs    []string         `json:"session_ids,omitzero"`
	DatapointIDs  []string         `json:"datapoint_ids,omitzero"`
	Metadata      Object           `json:"metadata,omitempty"`
	Results       Object           `json:"results,omitzero"`
	Configuration Object           `json:"configuration,omitzero"`
	PassingRanges map[string]Range `json:"passing_ranges,omitzero"` // by name of the metric
	Evaluators    []any            `json:"evaluators,omitzero"`
}

// RunQuery chooses runs. What is empty does not count.
type RunQuery struct {
	DatasetID, Name, Status string
	IDs                     []string
	DateRange               DateRange // of created_at
	SortBy                  string    // created_at, updated_at, name or status; created_at by default
	SortOrder               string    // asc or desc; desc by default
	Aggregates              bool      // Run.Aggregates is wanted
	WithoutIDs              bool      // EventIDs, SessionIDs and DatapointIDs are not, which may be long
	Page                              // 20 a page by default, at most 100
}

// RunList is a page of runs.
type RunList struct {
	List[Run]
	Metrics []string // names of metrics of the project and of its runs
}

// RunRead controls how the scores of a run are read.
type RunRead struct {
	Aggregate string // average, min, max, median, p50, p90, p95, p99, sum or count; average by default
	Filters   []Filter
	DateRange DateRange
}

func (r RunRead) query(v url.Values) url.Values {
	set(v, "aggregate_function", r.Aggregate)
	setFilters(v, "filters", r.Filters)
	setRange(v, r.DateRange)
	return v
}

// RunResult is what the scores of a run say.
type RunResult struct {
	Status  string   `json:"status"`
	Success bool     `json:"success"`
	Passed  []string `json:"passed"` // ids of datapoints
	Failed  []string `json:"failed"`
	Metrics struct {
		Aggregation string         `json:"aggregation_function"`
		Details     []MetricResult `json:"details"`
	} `json:"metrics"`
	Datapoints []DatapointResult `json:"datapoints"`
	Kinds      []RunKind         `json:"event_details"`
	Run        Run               `json:"run_object"`
}

// RunKind is a kind of the events of a run.
type RunKind struct {
	EventName string `json:"event_name"`
	EventType string `json:"event_type"`
	Presence  string `json:"presence,omitempty"` // in a comparison: old, new or both
}

// MetricResult is what the scores of one metric on one kind of event say.
type MetricResult struct {
	MetricName   string   `json:"metric_name"`
	MetricType   string   `json:"metric_type"` // PYTHON, LLM, HUMAN, COMPOSITE or CLIENT_SIDE
	EventName    string   `json:"event_name"`
	EventType    string   `json:"event_type"`
	Aggregate    *float64 `json:"aggregate"` // nil: there is no value
	Values       []any    `json:"values"`    // json.Number or bool
	PassingRange *Range   `json:"passing_range,omitempty"`
	Datapoints   struct {
		Passed []string `json:"passed"`
		Failed []string `json:"failed"`
	} `json:"datapoints"`
}

// DatapointResult is what the scores of one session of a run say.
type DatapointResult struct {
	DatapointID string `json:"datapoint_id"` // empty if the session is about none
	SessionID   string `json:"session_id"`
	Passed      bool   `json:"passed"`
	Metrics     []struct {
		Name      string `json:"name"`
		EventName string `json:"event_name"`
		EventType string `json:"event_type"`
		Value     any    `json:"value"` // json.Number or bool
		Passed    bool   `json:"passed"`
	} `json:"metrics"`
}

// RunComparison compares a new run with an old one.
type RunComparison struct {
	Metrics          []MetricComparison `json:"metrics"`
	CommonDatapoints []string           `json:"commonDatapoints"`
	Kinds            []RunKind          `json:"event_details"`
	OldRun           Run                `json:"old_run"`
	NewRun           Run                `json:"new_run"`

	// The same as a summary. MetricDeltas are by the name of the metric; where several kinds of
	// events have one, by "name (event type event name)".
	NewRunID          string                 `json:"new_run_id"`
	OldRunID          string                 `json:"old_run_id"`
	CommonCount       int                    `json:"common_datapoints"`
	NewOnlyDatapoints int                    `json:"new_only_datapoints"`
	OldOnlyDatapoints int                    `json:"old_only_datapoints"`
	MetricDeltas      map[string]MetricDelta `json:"metric_deltas"`
}

// MetricDelta is the change of one metric from an old run to a new one.
type MetricDelta struct {
	NewValue      *float64 `json:"new_value"` // aggregate; nil where the run has no values
	OldValue      *float64 `json:"old_value"`
	Delta         *float64 `json:"delta"`          // new less old
	PercentChange *float64 `json:"percent_change"` // nil where the old value is 0, too
	ImprovedCount int      `json:"improved_count"`
	DegradedCount int      `json:"degraded_count"`
}

// MetricComparison compares one metric on one kind of event. Aggregates are over all values of a
// run; all else is over the datapoints that have a value on both sides.
type MetricComparison struct {
	MetricName       string    `json:"metric_name"`
	MetricType       string    `json:"metric_type"`
	EventName        string    `json:"event_name"`
	EventType        string    `json:"event_type"`
	OldAggregate     *float64  `json:"old_aggregate"`
	NewAggregate     *float64  `json:"new_aggregate"`
	Difference       *float64  `json:"difference"`                          // new less old
	PercentageChange *float64  `json:"percentage_change"`                   // 0 where it is not defined
	ChangeDefined    *bool     `json:"percentage_change_defined,omitempty"` // false where the old aggregate is 0
	FoundCount       int       `json:"found_count"`
	ImprovedCount    int       `json:"improved_count"`
	DegradedCount    int       `json:"degraded_count"`
	SameCount        int       `json:"same_count"`
	Improved         []string  `json:"improved"` // ids of datapoints
	Degraded         []string  `json:"degraded"`
	Same             []string  `json:"same"`
	OldValues        []any     `json:"old_values"` // json.Number or bool
	NewValues        []any     `json:"new_values"`
	LowerIsBetter    bool      `json:"lower_is_better"`
	PairCount        int       `json:"pair_count"`
	MeanDifference   *float64  `json:"mean_difference,omitempty"`
	Interval         *Interval `json:"confidence_interval,omitempty"` // of the mean difference; nil where there is nothing to make one of
}

// ScoreQuery chooses events of a run that have metrics.
type ScoreQuery struct {
	Filters   []Filter
	DateRange DateRange
	Page      // at most 1000 a page; the zero value is all of them
}

// RunScores are the metrics of an event of a run.
type RunScores struct {
	EventName string `json:"event_name"`
	EventType string `json:"event_type"`
	SessionID string `json:"session_id"`
	Metadata  Object `json:"metadata"` // datapoint_id, if the session is about one
	Metrics   Object `json:"metrics"`
}

// PairQuery chooses pairs of events of two runs: those of a name and type, or else the sessions.
type PairQuery struct {
	EventName, EventType string
	Filters              []Filter
	Page                 // at most 1000 a page
}

// EventPair is two events of two runs about the same datapoint.
type EventPair struct {
	DatapointID string `json:"datapoint_id"`
	New         Event  `json:"event_1"`
	Old         Event  `json:"event_2"`
}

// RunService is what can be done with experiment runs.
type RunService struct{ c *Client }

// List reads a page of runs.
func (s *RunService) List(ctx context.Context, q RunQuery) (*RunList, error) {
	v := q.query(url.Values{})
	set(v, "dataset_id", q.DatasetID)
	set(v, "name", q.Name)
	set(v, "status", q.Status)
	setList(v, "run_ids", q.IDs)
	setRange(v, q.DateRange)
	set(v, "sort_by", q.SortBy)
	set(v, "sort_order", q.SortOrder)
	if q.Aggregates {
		v.Set("aggregates", "true")
	}
	if q.WithoutIDs {
		v.Set("ids", "false")
	}
	var answer struct {
		Runs       []Run `json:"evaluations"`
		Pagination struct {
			Total int `json:"total"`
		} `json:"pagination"`
		Metrics []string `json:"metrics"`
	}
	err := s.c.Call(ctx, Request{Method: http.MethodGet, Path: "/v1/runs", Query: v, Repeatable: true}, &answer)
	if err != nil {
		return nil, err
	}
	return &RunList{List[Run]{answer.Runs, answer.Pagination.Total}, answer.Metrics}, nil
}

// All walks over all runs from a page on: oldest first if the query does not say otherwise, so
// that runs that are created meanwhile do not move the others.
func (s *RunService) All(ctx context.Context, q RunQuery) iter.Seq2[Run, error] {
	q.SortOrder = or(q.SortOrder, "asc")
	return all(q.Page, func(x *Run) string { return x.RunID }, func(p Page) (*List[Run], error) {
		q.Page = p
		list, err := s.List(ctx, q)
		if err != nil {
			return nil, err
		}
		return &list.List, nil
	})
}

// Create creates a run, or changes the one of that id.
func (s *RunService) Create(ctx context.Context, in RunInput) (*Run, error) {
	in.RunID = or(in.RunID, newID())
	return s.run(ctx, Request{Method: http.MethodPost, Path: "/v1/runs", Body: &in, Repeatable: true})
}

// Get reads a run.
func (s *RunService) Get(ctx context.Context, id string) (*Run, error) {
	return s.run(ctx, Request{Method: http.MethodGet, Path: path("runs", id), Repeatable: true})
}

// Update changes a run and returns the updated one.
func (s *RunService) Update(ctx context.Context, id string, u RunInput) (*Run, error) {
	return s.run(ctx, Request{Method: http.MethodPut, Path: path("runs", id), Body: &u, Repeatable: true})
}

func (s *RunService) run(ctx context.Context, r Request) (*Run, error) {
	var answer struct {
		Run Run `json:"evaluation"`
	}
	if err := s.c.Call(ctx, r, &answer); err != nil {
		return nil, err
	}
	return &answer.Run, nil
}

// Delete deletes a run. Its sessions stay.
func (s *RunService) Delete(ctx context.Context, id string) error {
	return s.c.Call(ctx, Request{Method: http.MethodDelete, Path: path("runs", id), Repeatable: true, deletes: true}, nil)
}

// Result reads what the scores of a run say.
func (s *RunService) Result(ctx context.Context, id string, how RunRead) (*RunResult, error) {
	return one[RunResult](
		ctx,
		s.c,
		Request{Method: http.MethodGet, Path: path("runs", id, "result"), Query: how.query(url.Values{}), Repeatable: true},
	)
}

// Scores reads the events of a run that have metrics, a page of them if the query has one.
func (s *RunService) Scores(ctx context.Context, id string, q ScoreQuery) (*List[RunScores], error) {
	v := q.query(url.Values{})
	setFilters(v, "filters", q.Filters)
	setRange(v, q.DateRange)
	return readEvents[RunScores](ctx, s.c, Request{Method: http.MethodGet, Path: path("runs", id, "metrics"), Query: v, Repeatable: true})
}

// AllScores walks over all events of a run that have metrics, from a page on.
func (s *RunService) AllScores(ctx context.Context, id string, q ScoreQuery) iter.Seq2[RunScores, error] {
	return all(q.Page, nil, func(p Page) (*List[RunScores], error) { q.Page = p; return s.Scores(ctx, id, q) })
}

// Compare compares a new run with an old one.
func (s *RunService) Compare(ctx context.Context, newRun, oldRun string, how RunRead) (*RunComparison, error) {
	return one[RunComparison](
		ctx,
		s.c,
		Request{Method: http.MethodGet, Path: path("runs", newRun, "compare-with", oldRun), Query: how.query(url.Values{}), Repeatable: true},
	)
}

// CompareEvents reads a page of pairs of events of two runs.
func (s *RunService) CompareEvents(ctx context.Context, newRun, oldRun string, q PairQuery) (*List[EventPair], error) {
	v := q.query(url.Values{"run_id_1": {newRun}, "run_id_2": {oldRun}})
	set(v, "event_name", q.EventName)
	set(v, "event_type", q.EventType)
	setFilters(v, "filter", q.Filters)
	return readEvents[EventPair](ctx, s.c, Request{Method: http.MethodGet, Path: "/v1/runs/compare/events", Query: v, Repeatable: true})
}

// AllPairs walks over all pairs of events of two runs, from a page on.
func (s *RunService) AllPairs(ctx context.Context, newRun, oldRun string, q PairQuery) iter.Seq2[EventPair, error] {
	return all(q.Page, nil, func(p Page) (*List[EventPair], error) { q.Page = p; return s.CompareEvents(ctx, newRun, oldRun, q) })
}

// Schema returns the fields that the events of runs have; of the range only whole days count.
func (s *RunService) Schema(ctx context.Context, r DateRange) (*Schema, error) {
	return schema(ctx, s.c, "/v1/runs/schema", r, "")
}

// RunSchema is Schema for the events of one run.
func (s *RunService) RunSchema(ctx context.Context, id string, r DateRange) (*Schema, error) {
	return schema(ctx, s.c, path("runs", id, "schema"), r, "")
}
