package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Queue is an annotation queue: events that wait for people to give them scores.
type Queue struct {
	ID                string       `json:"id"`
	Name              string       `json:"name"`
	Description       string       `json:"description"`
	Filters           EventFilters `json:"filters"` // events that match enter
	Enabled           bool         `json:"enabled"` // new ones do, too
	AnnotatorsPerItem int          `json:"annotators_per_item"`
	LeaseSeconds      int          `json:"lease_seconds"` // how long a claim lasts
	Metrics           []string     `json:"metrics"`       // that each annotation must have; none: any of people
	Counts            QueueCounts  `json:"counts"`
	CreatedAt         time.Time    `json:"created_at"`
	UpdatedAt         time.Time    `json:"updated_at,omitzero"` // zero if it never changed
}

// QueueCounts is how many items of a queue are in each state.
type QueueCounts struct {
	Waiting  int `json:"waiting"`
	Done     int `json:"done"`
	Disputed int `json:"disputed"` // annotators are tied: those that ask for one more person, and those that one more has not settled
	Held     int `json:"held"`     // those that lack annotations, disputed ones among them, and that somebody has claimed
}

// QueueProgress is how far an annotator is with a queue.
type QueueProgress struct {
	Annotated    int `json:"annotated"`
	Skipped      int `json:"skipped"`
	Open         int `json:"open"`           // items that this annotator may have, also the one that is claimed
	HeldByOthers int `json:"held_by_others"` // items that this annotator could have if others had not claimed them
}

// QueueAnnotator is what an annotator of a queue has done.
type QueueAnnotator struct {
	Annotator string    `json:"annotator"`
	Annotated int       `json:"annotated"`
	Skipped   int       `json:"skipped"`
	Held      int       `json:"held"`             // items that this annotator has claimed
	LastAt    time.Time `json:"last_at,omitzero"` // when this annotator last annotated; zero: never
}

// QueueInput is a queue to be created, of which Name is required, or changed: what is empty is the
// server's default, or stays as it is. Filters make a queue look at all events again; those with an
// empty FilterArray choose none.
type QueueInput struct {
	Name              string        `json:"name,omitempty"`
	Description       *string       `json:"description,omitempty"`
	Filters           *EventFilters `json:"filters,omitempty"`
	Enabled           *bool         `json:"enabled,omitempty"`
	AnnotatorsPerItem int           `json:"annotators_per_item,omitempty"`
	LeaseSeconds      int           `json:"lease_seconds,omitempty"`
	Metrics           []string      `json:"metrics,omitzero"` // empty, not nil: any
	AddEventIDs       []string      `json:"add_event_ids,omitempty"`
	RemoveEventIDs    []string      `json:"remove_event_ids,omitempty"` // of a change; before others are added
}

// QueueQuery chooses queues, oldest first.
type QueueQuery struct {
	Enabled *bool // nil does not count
	Page
}

// The states of an item.
const (
	ItemWaiting  = "waiting"
	ItemDone     = "done"
	ItemDisputed = "disputed"
	ItemRemoved  = "removed"
)

// QueueItem is an event in a queue.
type QueueItem struct {
	EventID          string    `json:"event_id"`
	State            string    `json:"state"`
	AnnotatorsNeeded int       `json:"annotators_needed"` // one more while they are tied
	AnnotatorsDone   int       `json:"annotators_done"`
	AddedAt          time.Time `json:"added_at"`
	Claims           []struct {
		Annotator string    `json:"annotator"`
		ExpiresAt time.Time `json:"expires_at"`
	} `json:"claims"`
	// Settlement is what somebody decided, whatever the annotators say; nil: nobody has. It stands in lists, and in the answer to Settle.
	Settlement *Annotation `json:"settlement,omitempty"`
	// SkippedBy, Annotations and Scores stand only in lists, and in the answers to Settle and Unsettle.
	SkippedBy   []string     `json:"skipped_by,omitempty"`
	Annotations []Annotation `json:"annotations,omitempty"`
	Scores      Object       `json:"scores,omitempty"` // what was written on the event
}

// Annotation is what a person says of an item.
type Annotation struct {
	Annotator string    `json:"annotator"`
	Scores    Object    `json:"scores"` // by name of a HUMAN metric
	Comment   string    `json:"comment,omitempty"`
	CreatedAt time.Time `json:"created_at,omitzero"` // the server's, as UpdatedAt
	UpdatedAt time.Time `json:"updated_at,omitzero"` // zero if it never changed
}

// QueueItems is a page of items.
type QueueItems struct {
	List[QueueItem]
	CaughtUp bool // the queue has looked at all events that there are
}

// NextItem is an item that was claimed, with its event; both are nil if there is none for the
// annotator. If CaughtUp is false, not all events were looked at, and asking again may bring one.
type NextItem struct {
	Item  *QueueItem `json:"item"`
	Event *Event     `json:"event"`
	// Annotation is what the annotator said of the item before, only in the answer to Claim; nil: nothing.
	Annotation *Annotation   `json:"annotation,omitempty"`
	Progress   QueueProgress `json:"progress"`
	Counts     QueueCounts   `json:"counts"`
	CaughtUp   bool          `json:"caught_up"`
}

// Agreement is how far annotators agree. Kappa is Cohen's, nil where it is not defined.
type Agreement struct {
	Pairs    int      `json:"pairs"`
	Observed *float64 `json:"observed_agreement"` // part of the pairs that are equal
	Kappa    *float64 `json:"kappa"`
	Reason   string   `json:"reason"` // why there is no Kappa
}

// MetricAgreement is how far the annotators of a queue agree on a metric.
type MetricAgreement struct {
	Name    string `json:"name"`
	Weights string `json:"weights"` // squared where all scores are numbers, otherwise none
	Agreement
	// Of is each pair of annotators.
	Of []struct {
		Annotators []string `json:"annotators"`
		Agreement
	} `json:"of"`
}

// QueueService is what can be done with annotation queues.
type QueueService struct{ c *Client }

// List reads a page of queues.
func (s *QueueService) List(ctx context.Context, q QueueQuery) (*List[Queue], error) {
	v := q.query(url.Values{})
	if q.Enabled != nil {
		v.Set("enabled", strconv.FormatBool(*q.Enabled))
	}
	var answer struct {
		Queues []Queue `json:"queues"`
	}
	h, err := s.c.CallHeader(ctx, Request{Method: http.MethodGet, Path: path("queues"), Query: v, Repeatable: true}, &answer)
	if err != nil {
		return nil, err
	}
	return &List[Queue]{answer.Queues, total(h)}, nil
}

// All walks over all queues from a page on.
func (s *QueueService) All(ctx context.Context, q QueueQuery) iter.Seq2[Queue, error] {
	return all(q.Page, func(x *Queue) string { return x.ID }, func(p Page) (*List[Queue], error) { q.Page = p; return s.List(ctx, q) })
}

// Create creates a queue.
func (s *QueueService) Create(ctx context.Context, in QueueInput) (*Queue, error) {
	body := struct {
		*QueueInput
		EventIDs    []string `json:"event_ids,omitempty"`
		AddEventIDs []string `json:"add_event_ids,omitempty"` // hides the input's
	}{QueueInput: &in, EventIDs: in.AddEventIDs}
	return s.one(ctx, Request{Method: http.MethodPost, Path: path("queues"), Body: body})
}

// Get reads a queue.
func (s *QueueService) Get(ctx context.Context, id string) (*Queue, error) {
	return one[Queue](ctx, s.c, Request{Method: http.MethodGet, Path: path("queues", id), Repeatable: true})
}

// Update changes a queue and the events in it, all or nothing.
func (s *QueueService) Update(ctx context.Context, id string, in QueueInput) (*Queue, error) {
	return s.one(ctx, Request{Method: http.MethodPut, Path: path("queues", id), Body: &in, Repeatable: true})
}

func (s *QueueService) one(ctx context.Context, r Request) (*Queue, error) {
	var answer struct {
		Queue Queue `json:"queue"`
	}
	if err := s.c.Call(ctx, r, &answer); err != nil {
		return nil, err
	}
	return &answer.Queue, nil
}

// Delete deletes a queue with its items and their annotations; scores on events stay.
func (s *QueueService) Delete(ctx context.Context, id string) error {
	return s.c.Call(ctx, Request{Method: http.MethodDelete, Path: path("queues", id), Repeatable: true, deletes: true}, nil)
}

// Items reads a page of a queue's items in a state, or if that is empty in all but ItemRemoved.
func (s *QueueService) Items(ctx context.Context, id, state string, p Page) (*QueueItems, error) {
	v := p.query(url.Values{})
	set(v, "state", state)
	return s.items(ctx, id, v)
}

func (s *QueueService) items(ctx context.Context, id string, v url.Values) (*QueueItems, error) {
	var answer struct {
		Items    []QueueItem `json:"items"`
		CaughtUp bool        `json:"caught_up"`
	}
	h, err := s.c.CallHeader(ctx, Request{Method: http.MethodGet, Path: path("queues", id, "items"), Query: v, Repeatable: true}, &answer)
	if err != nil {
		return nil, err
	}
	return &QueueItems{List[QueueItem]{answer.Items, total(h)}, answer.CaughtUp}, nil
}

// The differences of annotators.
const (
	Unsettled = "unsettled" // annotators gave different scores, and nobody has settled it
	Settled   = "settled"   // somebody has
)

// Differences reads a page of the items of a queue that are Unsettled or Settled.
func (s *QueueService) Differences(ctx context.Context, id, differ string, p Page) (*QueueItems, error) {
	v := p.query(url.Values{})
	v.Set("differ", differ)
	return s.items(ctx, id, v)
}

// Annotators reads a page of what each annotator of a queue has done, by name.
func (s *QueueService) Annotators(ctx context.Context, id string, p Page) (*List[QueueAnnotator], error) {
	var answer struct {
		Annotators []QueueAnnotator `json:"annotators"`
	}
	r := Request{Method: http.MethodGet, Path: path("queues", id, "annotators"), Query: p.query(url.Values{}), Repeatable: true}
	h, err := s.c.CallHeader(ctx, r, &answer)
	if err != nil {
		return nil, err
	}
	return &List[QueueAnnotator]{answer.Annotators, total(h)}, nil
}

// Claim claims one item for an annotator, or renews the claim. Whoever has annotated it gets it without one, with what was said then.
func (s *QueueService) Claim(ctx context.Context, id, eventID, annotator string) (*NextItem, error) {
	r := Request{Method: http.MethodPost, Path: path("queues", id, "items", eventID, "claim"), Body: Object{"annotator": annotator}, Repeatable: true}
	return one[NextItem](ctx, s.c, r)
}

// Withdraw takes back what an annotator said of an item, and gives the annotator a claim on it again.
func (s *QueueService) Withdraw(ctx context.Context, id, eventID, annotator string) (*QueueItem, error) {
	v := url.Values{"annotator": {annotator}}
	return s.item(ctx, Request{Method: http.MethodDelete, Path: path("queues", id, "items", eventID, "annotations"), Query: v})
}

// Settle stores what a person decides of an item, whatever its annotators said, in place of an earlier settlement. Scores that are left out
// stay as the annotators have them.
func (s *QueueService) Settle(ctx context.Context, id, eventID string, a Annotation) (*QueueItem, error) {
	a.CreatedAt, a.UpdatedAt = time.Time{}, time.Time{}
	return s.item(ctx, Request{Method: http.MethodPut, Path: path("queues", id, "items", eventID, "settlement"), Body: &a, Repeatable: true})
}

// Unsettle takes a settlement back.
func (s *QueueService) Unsettle(ctx context.Context, id, eventID string) (*QueueItem, error) {
	return s.item(ctx, Request{Method: http.MethodDelete, Path: path("queues", id, "items", eventID, "settlement")})
}

// Next claims the next item for an annotator. Asked again, it gives the same one for a new lease.
func (s *QueueService) Next(ctx context.Context, id, annotator string) (*NextItem, error) {
	return one[NextItem](
		ctx,
		s.c,
		Request{Method: http.MethodPost, Path: path("queues", id, "next"), Body: Object{"annotator": annotator}, Repeatable: true},
	)
}

// Annotate stores an annotator's scores of an item, in place of that annotator's earlier ones.
func (s *QueueService) Annotate(ctx context.Context, id, eventID string, a Annotation) (*QueueItem, error) {
	a.CreatedAt, a.UpdatedAt = time.Time{}, time.Time{}
	return s.item(ctx, Request{Method: http.MethodPost, Path: path("queues", id, "items", eventID, "annotations"), Body: &a, Repeatable: true})
}

// Release returns an annotator's claim; with skip the item is not offered to that one again.
func (s *QueueService) Release(ctx context.Context, id, eventID, annotator string, skip bool) (*QueueItem, error) {
	return s.item(
		ctx,
		Request{
			Method: http.MethodPost,
			Path:   path("queues", id, "items", eventID, "release"),
			Body:   Object{"annotator": annotator, "skip": skip},
		},
	)
}

func (s *QueueService) item(ctx context.Context, r Request) (*QueueItem, error) {
	var answer struct {
		Item QueueItem `json:"item"`
	}
	if err := s.c.Call(ctx, r, &answer); err != nil {
		return nil, err
	}
	return &answer.Item, nil
}

// Agreement returns how far the annotators of a queue agree, by metric.
func (s *QueueService) Agreement(ctx context.Context, id string) ([]MetricAgreement, error) {
	var answer struct {
		Metrics []MetricAgreement `json:"metrics"`
	}
	err := s.c.Call(ctx, Request{Method: http.MethodGet, Path: path("queues", id, "agreement"), Repeatable: true}, &answer)
	return answer.Metrics, err
}
