package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// The types of metrics: who gives the score.
const (
	MetricPython    = "PYTHON"    // code
	MetricLLM       = "LLM"       // a model
	MetricHuman     = "HUMAN"     // a person
	MetricComposite = "COMPOSITE" // other metrics, by weight
	// MetricExpression is an expression over the event.
	MetricExpression = "EXPRESSION"
)

// Metric defines an evaluator: what gives an event a score, and which scores pass. Its fields
// are those of its deployed version.
type Metric struct {
	ID string `json:"id"`
	MetricDefinition
	Version   string    `json:"version"` // v1, v2 and so on
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at,omitzero"` // zero if it never changed
}

// MetricDefinition is what a version of a metric says. In one to be created, Name, Type and
// Criteria are required, and what is empty is the server's default.
type MetricDefinition struct {
	Name     string `json:"name,omitempty"`
	Type     string `json:"type,omitempty"`
	Criteria string `json:"criteria"` // code of PYTHON, prompt of LLM, text for people, aggregation of COMPOSITE, expression of EXPRESSION
	MetricDetails
}

// MetricDetails are the parts of a metric that may be left out.
type MetricDetails struct {
	Description        string        `json:"description,omitempty"`
	ReturnType         string        `json:"return_type,omitempty"` // float, boolean, string or categorical
	EnabledInProd      *bool         `json:"enabled_in_prod,omitempty"`
	NeedsGroundTruth   *bool         `json:"needs_ground_truth,omitempty"`
	SamplingPercentage *float64      `json:"sampling_percentage,omitempty"`
	ModelProvider      string        `json:"model_provider,omitempty"`
	ModelName          string        `json:"model_name,omitempty"`
	Scale              *int          `json:"scale,omitempty"` // highest score
	Threshold          *Threshold    `json:"threshold,omitempty"`
	Categories         []Category    `json:"categories,omitempty"`
	ChildMetrics       []ChildMetric `json:"child_metrics,omitempty"` // of COMPOSITE
	Filters            *EventFilters `json:"filters,omitempty"`       // which events it is for
	EventName          string        `json:"event_name,omitempty"`
	EventType          string        `json:"event_type,omitempty"`
}

// Threshold defines which scores pass: those that meet every part that applies to their kind.
type Threshold struct {
	Min               *float64 `json:"min,omitempty"`
	Max               *float64 `json:"max,omitempty"`
	PassWhen          any      `json:"pass_when,omitempty"` // a boolean or number, the score itself
	PassingCategories []string `json:"passing_categories,omitempty"`
}

// Category is a possible score of a categorical metric.
type Category struct {
	Category string   `json:"category"`
	Score    *float64 `json:"score"`
}

// ChildMetric is a part of a composite metric.
type ChildMetric struct {
	ID     string   `json:"id,omitempty"`
	Name   string   `json:"name"` // under which the event has its score
	Weight float64  `json:"weight"`
	Scale  *float64 `json:"scale,omitempty"` // its highest score
}

// EventFilters are the filters of a metric.
type EventFilters struct {
	FilterArray []Filter `json:"filterArray"`
}

// MetricUpdate changes a metric. What is empty stays as it is.
type MetricUpdate struct {
	Name     string  `json:"name,omitempty"`
	Type     string  `json:"type,omitempty"`
	Criteria *string `json:"criteria,omitempty"`
	MetricDetails
}

// MetricQuery chooses metrics, oldest first. What is empty does not count.
type MetricQuery struct {
	Type, ID string
	Page
}

// MetricVersion is a version of a metric.
type MetricVersion struct {
	Name     string           `json:"name"` // v1, v2 and so on
	SHA      string           `json:"full_sha"`
	Message  string           `json:"message"`
	Date     time.Time        `json:"date"`
	Deployed bool             `json:"deployed"` // it is the current one
	Content  MetricDefinition `json:"content"`
}

// MetricVersionInput is a version to be created.
type MetricVersionInput struct {
	Message string           `json:"message"`
	Content MetricDefinition `json:"content"`
	Deploy  bool             `json:"deploy_immediately,omitempty"`
}

// MetricRun is what came of a run of a metric.
type MetricRun struct {
	Success     bool    `json:"success"` // false if there should be a score but there is none
	Loading     bool    `json:"loading"` // the server still makes the engine ready, as Explanation says
	Result      any     `json:"result"`  // the score: json.Number, bool, string, or nil
	Explanation string  `json:"explanation"`
	Failure     string  `json:"failure,omitempty"` // the kind of reason that there is no score: refused, unparsed, timeout and so on
	Passed      *bool   `json:"passed,omitempty"`  // nil if the threshold says nothing of the score
	Cost        float64 `json:"cost,omitempty"`    // of a judge, in US dollars
	// Prompt is what a judge was sent, the fields of the event filled in; of two questions, the first.
	Prompt []struct {
		Role    string `json:"role"` // system or user
		Content string `json:"content"`
	} `json:"prompt,omitempty"`
}

// AgreementQuery chooses labels to compare a metric's scores with. Only With is required.
type AgreementQuery struct {
	With      string // field of events that has the label: feedback.rating, metrics.<name of a HUMAN metric>
	Version   string // only scores of this version, such as v2; empty: the score that the event has now
	Filters   []Filter
	DateRange DateRange
	Page      // of the cases
}

// LabelAgreement is how far a metric agrees with people's labels. What is not defined is nil.
type LabelAgreement struct {
	Labelled int  `json:"labelled"` // events with the label that were looked at
	Complete bool `json:"complete"` // there are no others
	Scored   int  `json:"scored"`   // those of them that have a score
	Compared int  `json:"compared"`
	Unlike   int  `json:"unlike"` // pairs that cannot be compared
	// Classes is of truth values, texts and what counts as whether it passes; nil if there are none.
	Classes *struct {
		Compared    int      `json:"compared"`
		Agreed      int      `json:"agreed"`
		Accuracy    float64  `json:"accuracy"`
		Kappa       *float64 `json:"kappa"`        // Cohen's
		ByThreshold int      `json:"by_threshold"` // those compared by whether they pass
		Omitted     int      `json:"omitted"`      // values beyond those listed
		Values      []struct {
			Value     any      `json:"value"` // bool or string
			Labelled  int      `json:"labelled"`
			Given     int      `json:"given"`
			Both      int      `json:"both"`
			Precision *float64 `json:"precision"`
			Recall    *float64 `json:"recall"`
			F1        *float64 `json:"f1"`
		} `json:"values"`
	} `json:"classes"`
	// Numbers is of pairs of two numbers; nil if there are none.
	Numbers *struct {
		Compared               int      `json:"compared"`
		Correlation            *float64 `json:"correlation"`     // Pearson's
		Kappa                  *float64 `json:"kappa"`           // weighted by squared differences
		MeanDifference         *float64 `json:"mean_difference"` // score less label
		MeanAbsoluteDifference *float64 `json:"mean_absolute_difference"`
	} `json:"numbers"`
	Disagreements int `json:"disagreements"`
	// Cases is a page of the disagreements.
	Cases []struct {
		EventID     string  `json:"event_id"`
		SessionID   string  `json:"session_id"`
		EventName   string  `json:"event_name"`
		StartTime   float64 `json:"start_time"` // Unix milliseconds
		Label       any     `json:"label"`      // bool, json.Number or string
		Score       any     `json:"score"`
		Explanation string  `json:"explanation"` // of the score
	} `json:"cases"`
}

// MetricCoverage is what a metric has scored of the events that it is for, and what became of its evaluations.
type MetricCoverage struct {
	Matching  int              `json:"matching"` // events that the metric is for
	Scored    int              `json:"scored"`   // those of them with a score
	Online    EvaluationCounts `json:"online"`
	Backfills EvaluationCounts `json:"backfills"`
}

// EvaluationCounts is how many evaluations are in each state.
type EvaluationCounts struct {
	Waiting  int     `json:"waiting"`
	Paused   int     `json:"paused"`
	Done     int     `json:"done"`
	Failed   int     `json:"failed"`
	Dead     int     `json:"dead"`
	Cost     float64 `json:"cost"` // of judges, in US dollars
	Failures []struct {
		Failure string `json:"failure"`
		Count   int    `json:"count"`
	} `json:"failures"`
}

// LibraryMetric is a ready-made metric, of which Enable makes one of the project.
type LibraryMetric struct {
	MetricDefinition
	Parameters []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Required    bool   `json:"required"`
		Default     any    `json:"default"`
	} `json:"parameters"`
	// Examples are events with the score that the metric should give.
	Examples []struct {
		Event      Object `json:"event"`
		Parameters Object `json:"parameters"`
		Score      any    `json:"score"` // json.Number, bool or string
	} `json:"examples"`
}

// MetricEnabling makes a metric of a ready-made one. What MetricUpdate gives replaces what the
// library says.
type MetricEnabling struct {
	From       string `json:"from"` // name in the library
	Parameters Object `json:"parameters,omitempty"`
	MetricUpdate
}

// MetricService is what can be done with metrics.
type MetricService struct{ c *Client }

// List reads a page of metrics.
func (s *MetricService) List(ctx context.Context, q MetricQuery) (*List[Metric], error) {
	v := q.query(url.Values{})
	set(v, "type", q.Type)
	set(v, "id", q.ID)
	var answer struct {
		Metrics []Metric `json:"metrics"`
	}
	h, err := s.c.CallHeader(ctx, Request{Method: http.MethodGet, Path: "/v1/metrics", Query: v, Repeatable: true}, &answer)
	if err != nil {
		return nil, err
	}
	return &List[Metric]{answer.Metrics, total(h)}, nil
}

// All walks over all metrics from a page on.
func (s *MetricService) All(ctx context.Context, q MetricQuery) iter.Seq2[Metric, error] {
	return all(q.Page, func(x *Metric) string { return x.ID }, func(p Page) (*List[Metric], error) { q.Page = p; return s.List(ctx, q) })
}

// Create creates a metric and gives its id.
func (s *MetricService) Create(ctx context.Context, d MetricDefinition) (string, error) {
	var answer struct {
		ID string `json:"metric_id"`
	}
	err := s.c.Call(ctx, Request{Method: http.MethodPost, Path: "/v1/metrics", Body: &d}, &answer)
	return answer.ID, err
}

// Update changes a metric. A change makes a version, which is deployed at once.
func (s *MetricService) Update(ctx context.Context, id string, u MetricUpdate) error {
	return s.c.Call(ctx, Request{Method: http.MethodPut, Path: path("metrics", id), Body: &u, Repeatable: true}, nil)
}

// Delete deletes a metric with its versions.
func (s *MetricService) Delete(ctx context.Context, id string) error {
	return s.c.Call(ctx, Request{Method: http.MethodDelete, Path: path("metrics", id), Repeatable: true, deletes: true}, nil)
}

// Run runs a metric over an event, which may be any part of one, mostly with inputs, outputs,
// feedback and metrics. Nothing is stored. While the server makes the engine ready, it waits, at most for
// three minutes.
func (s *MetricService) Run(ctx context.Context, d MetricDefinition, event any) (*MetricRun, error) {
	return s.run(ctx, &d, event)
}

// RunReady is Run for a ready-made metric, as Enable would make it.
func (s *MetricService) RunReady(ctx context.Context, in MetricEnabling, event any) (*MetricRun, error) {
	return s.run(ctx, &in, event)
}

func (s *MetricService) run(ctx context.Context, metric, event any) (*MetricRun, error) {
	body := struct {
		Metric any `json:"metric"`
		Event  any `json:"event,omitempty"`
	}{metric, event}
	for end := time.Now().Add(longestLoading); ; {
		r, err := one[MetricRun](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/metrics/run", Body: body, Repeatable: true})
		if err != nil || !r.Loading || time.Now().After(end) {
			return r, err
		}
		again := time.NewTimer(loadingPause)
		select {
		case <-ctx.Done():
			again.Stop()
			return r, ctx.Err()
		case <-again.C:
		}
	}
}

// longestLoading is how long Run waits for an engine that the server makes ready, and loadingPause how
// long it waits before it asks again.
const (
	longestLoading = 3 * time.Minute
	loadingPause   = time.Second
)

// Library reads the ready-made metrics.
func (s *MetricService) Library(ctx context.Context) ([]LibraryMetric, error) {
	var answer struct {
		Metrics []LibraryMetric `json:"metrics"`
	}
	err := s.c.Call(ctx, Request{Method: http.MethodGet, Path: "/v1/metrics/library", Repeatable: true}, &answer)
	return answer.Metrics, err
}

// Enable makes a metric of the project from a ready-made one and gives its id, or that of the same metric if the project has it already.
func (s *MetricService) Enable(ctx context.Context, in MetricEnabling) (string, error) {
	var answer struct {
		ID string `json:"metric_id"`
	}
	err := s.c.Call(ctx, Request{Method: http.MethodPost, Path: "/v1/metrics/library", Body: &in, Repeatable: true}, &answer)
	return answer.ID, err
}

// Versions reads a page of a metric's versions, newest first.
func (s *MetricService) Versions(ctx context.Context, id string, p Page) (*List[MetricVersion], error) {
	var answer struct {
		Data []MetricVersion `json:"data"`
	}
	h, err := s.c.CallHeader(
		ctx,
		Request{Method: http.MethodGet, Path: path("metrics", id, "versions"), Query: p.query(url.Values{}), Repeatable: true},
		&answer,
	)
	if err != nil {
		return nil, err
	}
	return &List[MetricVersion]{answer.Data, total(h)}, nil
}

// AllVersions walks over all versions of a metric, newest first.
func (s *MetricService) AllVersions(ctx context.Context, id string) iter.Seq2[MetricVersion, error] {
	return all(Page{}, nil, func(p Page) (*List[MetricVersion], error) { return s.Versions(ctx, id, p) })
}

// Agreement compares a metric's scores with people's labels, of the newest 10,000 events that have the label.
func (s *MetricService) Agreement(ctx context.Context, id string, q AgreementQuery) (*LabelAgreement, error) {
	v := q.query(url.Values{})
	set(v, "with", q.With)
	set(v, "version", q.Version)
	setFilters(v, "filters", q.Filters)
	setRange(v, q.DateRange)
	return one[LabelAgreement](ctx, s.c, Request{Method: http.MethodGet, Path: path("metrics", id, "agreement"), Query: v, Repeatable: true})
}

// Coverage counts what a metric has scored and what that cost, in the last 7 days if the range is empty.
func (s *MetricService) Coverage(ctx context.Context, id string, r DateRange) (*MetricCoverage, error) {
	v := url.Values{}
	setRange(v, r)
	return one[MetricCoverage](ctx, s.c, Request{Method: http.MethodGet, Path: path("metrics", id, "coverage"), Query: v, Repeatable: true})
}

// CreateVersion creates a version of a metric. It takes effect only once it is deployed.
func (s *MetricService) CreateVersion(ctx context.Context, id string, in MetricVersionInput) (*MetricVersion, error) {
	return s.version(ctx, Request{Method: http.MethodPost, Path: path("metrics", id, "versions"), Body: &in})
}

// DeployVersion deploys a version of a metric, named as v2 or by its SHA.
func (s *MetricService) DeployVersion(ctx context.Context, id, name string) (*MetricVersion, error) {
	return s.version(ctx, Request{Method: http.MethodPost, Path: path("metrics", id, "versions", name, "deploy"), Repeatable: true})
}

func (s *MetricService) version(ctx context.Context, r Request) (*MetricVersion, error) {
	var answer struct {
		Data MetricVersion `json:"data"`
	}
	if err := s.c.Call(ctx, r, &answer); err != nil {
		return nil, err
	}
	return &answer.Data, nil
}
