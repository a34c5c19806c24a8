package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// The states of evaluations.
const (
	EvaluationWaiting = "waiting" // also while an engine works on it
	EvaluationPaused  = "paused"  // with its backfill
	EvaluationDone    = "done"
	EvaluationFailed  = "failed" // the event or the metric allows no score
	EvaluationDead    = "dead"   // the engine broke too often
)

// MetricEvaluation is that a version of a metric scores a stored event, and what came of it.
type MetricEvaluation struct {
	ID            string          `json:"id"`
	MetricID      string          `json:"metric_id"`
	MetricVersion string          `json:"metric_version"` // v1, v2 and so on
	EventID       string          `json:"event_id"`
	BackfillID    string          `json:"backfill_id"` // empty: it came with the event
	State         string          `json:"state"`
	Attempts      int             `json:"attempts"`
	Score         json.RawMessage `json:"score"`   // number, boolean or string; nil if there is none
	Passed        *bool           `json:"passed"`  // nil: the threshold says nothing of it
	Failure       string          `json:"failure"` // the sort of failure
	Explanation   string          `json:"explanation"`
	Cost          float64         `json:"cost"` // in US dollars
	LatencyMS     float64         `json:"latency_ms"`
	CreatedAt     time.Time       `json:"created_at"`
	DueAt         time.Time       `json:"due_at,omitzero"`      // of one that waits: not before
	FinishedAt    time.Time       `json:"finished_at,omitzero"` // zero if there is no result yet
}

// EvaluationQuery narrows evaluations; what is empty does not count.
type EvaluationQuery struct {
	ID         string `json:"id,omitempty"`
	EventID    string `json:"event_id,omitempty"`
	MetricID   string `json:"metric_id,omitempty"`
	BackfillID string `json:"backfill_id,omitempty"`
	State      string `json:"state,omitempty"`
	Failure    string `json:"failure,omitempty"`
}

// EvaluationService is what can be done with evaluations.
type EvaluationService struct{ c *Client }

// List reads a page of evaluations, newest first: those before the one with an id, if it is not
// empty, and at most limit, of which 0 is the server's default. next is the before of the next
// page, empty after the last.
func (s *EvaluationService) List(
	ctx context.Context,
	q EvaluationQuery,
	before string,
	limit int,
) (list []MetricEvaluation, next string, err error) {
	v := url.Values{}
	for name, text := range map[string]string{"id": q.ID, "event_id": q.EventID, "metric_id": q.MetricID, "backfill_id": q.BackfillID,
		"state": q.State, "failure": q.Failure, "before": before} {
		set(v, name, text)
	}
	setInt(v, "limit", int64(limit))
	var answer struct {
		Evaluations []MetricEvaluation `json:"evaluations"`
		Next        string             `json:"next"`
	}
	err = s.c.Call(ctx, Request{Method: http.MethodGet, Path: path("evaluations"), Query: v, Repeatable: true}, &answer)
	return answer.Evaluations, answer.Next, err
}

// All walks over all evaluations that match, newest first. It ends after the first error, which
// comes with a zero item.
func (s *EvaluationService) All(ctx context.Context, q EvaluationQuery) iter.Seq2[MetricEvaluation, error] {
	return follow("", func(before string) ([]MetricEvaluation, string, error) { return s.List(ctx, q, before, 0) })
}

// Retry makes evaluations that failed or are dead, and match, wait anew, and counts them.
func (s *EvaluationService) Retry(ctx context.Context, q EvaluationQuery) (int, error) {
	var answer struct {
		Retried int `json:"retried"`
	}
	err := s.c.Call(ctx, Request{Method: http.MethodPost, Path: path("evaluations", "retry"), Body: q, Repeatable: true}, &answer)
	return answer.Retried, err
}

// The states of backfills. The last two are final.
const (
	BackfillRunning   = "running"
	BackfillPaused    = "paused"
	BackfillDone      = "done"
	BackfillCancelled = "cancelled"
)

// Backfill is that a version of a metric scores past events, and how far it has come.
type Backfill struct {
	ID            string    `json:"id"`
	MetricID      string    `json:"metric_id"`
	MetricVersion string    `json:"metric_version"`
	State         string    `json:"state"`
	RunID         string    `json:"evaluation_id"` // empty: not of a run
	Limit         int       `json:"limit"`         // 0: all
	Total         int       `json:"total"`         // events that it was about when it was made
	Looked        int       `json:"looked"`
	Skipped       int       `json:"skipped"` // of those looked at, scored by the version before
	Waiting       int       `json:"waiting"`
	Paused        int       `json:"paused"`
	Done          int       `json:"done"`
	Failed        int       `json:"failed"`
	Dead          int       `json:"dead"`
	CreatedAt     time.Time `json:"created_at"`
	UpdatedAt     time.Time `json:"updated_at,omitzero"`
}

// BackfillInput chooses past events. Filters of nil are the metric's own.
type BackfillInput struct {
	Filters   []Filter
	DateRange DateRange
	RunID     string
	Limit     int // the newest so many; 0: all
}

// BackfillService is what can be done with the backfills of metrics.
type BackfillService struct{ c *Client }

// Create has the metric's deployed version score past events.
func (s *BackfillService) Create(ctx context.Context, metricID string, in BackfillInput) (*Backfill, error) {
	body := struct {
		Filters   []Filter `json:"filters,omitzero"`
		DateRange any      `json:"dateRange,omitempty"`
		RunID     string   `json:"evaluation_id,omitempty"`
		Limit     int      `json:"limit,omitempty"`
	}{in.Filters, in.DateRange.wire(), in.RunID, in.Limit}
	return one[Backfill](ctx, s.c, Request{Method: http.MethodPost, Path: path("metrics", metricID, "backfills"), Body: body})
}

// List reads a page of a metric's backfills, oldest first.
func (s *BackfillService) List(ctx context.Context, metricID string, p Page) (*List[Backfill], error) {
	var answer struct {
		Backfills []Backfill `json:"backfills"`
	}
	h, err := s.c.CallHeader(
		ctx,
		Request{Method: http.MethodGet, Path: path("metrics", metricID, "backfills"), Query: p.query(url.Values{}), Repeatable: true},
		&answer,
	)
	if err != nil {
		return nil, err
	}
	return &List[Backfill]{answer.Backfills, total(h)}, nil
}

// Get reads a backfill and its progress.
func (s *BackfillService) Get(ctx context.Context, metricID, id string) (*Backfill, error) {
	return one[Backfill](ctx, s.c, Request{Method: http.MethodGet, Path: path("metrics", metricID, "backfills", id), Repeatable: true})
}

// Pause stops work on a backfill until it is resumed.
func (s *BackfillService) Pause(ctx context.Context, metricID, id string) (*Backfill, error) {
	return s.move(ctx, metricID, id, "pause")
}

// Resume goes on with a paused backfill.
func (s *BackfillService) Resume(ctx context.Context, metricID, id string) (*Backfill, error) {
	return s.move(ctx, metricID, id, "resume")
}

// Cancel ends a backfill. What it has scored stays.
func (s *BackfillService) Cancel(ctx context.Context, metricID, id string) (*Backfill, error) {
	return s.move(ctx, metricID, id, "cancel")
}

func (s *BackfillService) move(ctx context.Context, metricID, id, verb string) (*Backfill, error) {
	return one[Backfill](ctx, s.c, Request{Method: http.MethodPost, Path: path("metrics", metricID, "backfills", id, verb), Repeatable: true})
}
