package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// The types of events.
const (
	EventModel   = "model"
	EventTool    = "tool"
	EventChain   = "chain"
	EventSession = "session"
	EventGeneric = "generic"
)

// Event is an event as the server has it. With a projection, what was not asked for is empty.
type Event struct {
	EventID        string   `json:"event_id"`
	SessionID      string   `json:"session_id,omitempty"`
	ParentID       string   `json:"parent_id,omitempty"` // empty on a session
	EventType      string   `json:"event_type,omitempty"`
	EventName      string   `json:"event_name,omitempty"`
	Source         string   `json:"source,omitempty"`
	Error          string   `json:"error,omitempty"`
	StartTime      float64  `json:"start_time,omitzero"` // Unix milliseconds, as EndTime; see Time
	EndTime        float64  `json:"end_time,omitzero"`
	Duration       float64  `json:"duration,omitzero"` // milliseconds
	Project        string   `json:"project,omitempty"` // name
	ProjectID      string   `json:"project_id,omitempty"`
	OrgID          string   `json:"org_id,omitempty"`
	WorkspaceID    string   `json:"workspace_id,omitempty"`
	Tenant         string   `json:"tenant,omitempty"` // the same as OrgID
	ChildrenIDs    []string `json:"children_ids,omitempty"`
	Config         Object   `json:"config,omitempty"`
	Inputs         Object   `json:"inputs,omitempty"`
	Outputs        any      `json:"outputs,omitempty"` // any JSON value
	Metadata       Object   `json:"metadata,omitempty"`
	Metrics        Object   `json:"metrics,omitempty"`
	Feedback       Object   `json:"feedback,omitempty"`
	UserProperties Object   `json:"user_properties,omitempty"`

	PayloadExpired bool `json:"payload_expired,omitempty"` // a rule of retention has removed Inputs, Outputs and Config

	Snippets []Snippet `json:"snippets,omitempty"` // of a search that asked for them
}

// Input returns the event as one to be created, here or on another server.
func (e *Event) Input() EventInput {
	return EventInput{
		EventID: e.EventID, SessionID: e.SessionID, ParentID: e.ParentID, EventType: e.EventType, EventName: e.EventName,
		Source: e.Source, Error: e.Error, StartTime: e.StartTime, EndTime: e.EndTime, Duration: e.Duration,
		ChildrenIDs: e.ChildrenIDs, Config: e.Config, Inputs: e.Inputs, Outputs: e.Outputs, Metadata: e.Metadata,
		Metrics: e.Metrics, Feedback: e.Feedback, UserProperties: e.UserProperties,
	}
}

// Node is an event with those below it, by start time.
type Node struct {
	Event
	Children []*Node `json:"children"`
}

// EventInput is an event to be created.
type EventInput struct {
	// EventID is made by the client if it is empty, and so is SessionID, which makes a session
	// of its own. ParentID is the session if empty.
	EventID        string   `json:"event_id,omitempty"`
	SessionID      string   `json:"session_id,omitempty"`
	ParentID       string   `json:"parent_id,omitempty"`
	EventType      string   `json:"event_type,omitempty"` // required
	EventName      string   `json:"event_name,omitempty"`
	Source         string   `json:"source,omitempty"`
	Error          string   `json:"error,omitempty"`
	StartTime      float64  `json:"start_time,omitzero"` // Unix milliseconds, see Millis; now if 0
	EndTime        float64  `json:"end_time,omitzero"`   // StartTime and Duration if 0
	Duration       float64  `json:"duration,omitzero"`   // milliseconds; EndTime less StartTime if 0
	ChildrenIDs    []string `json:"children_ids,omitempty"`
	Config         Object   `json:"config,omitempty"`
	Inputs         Object   `json:"inputs"`
	Outputs        any      `json:"outputs,omitempty"` // any JSON value
	Metadata       Object   `json:"metadata,omitempty"`
	Metrics        Object   `json:"metrics,omitempty"`
	Feedback       Object   `json:"feedback,omitempty"`
	UserProperties Object   `json:"user_properties,omitempty"`
}

// prepare completes what makes the event the same one when it is sent again.
func (e *EventInput) prepare() {
	if e.EventType == EventSession {
		e.EventID = or(e.EventID, or(e.SessionID, newSessionID()))
	}
	e.EventID = or(e.EventID, newID())
	if e.Inputs == nil {
		e.Inputs = Object{}
	}
}

// ownSession sets a session on the event if it has none.
func (e *EventInput) ownSession() {
	switch {
	case e.SessionID != "":
	case e.EventType == EventSession:
		e.SessionID = e.EventID
	default:
		e.SessionID = newSessionID()
	}
}

// ModelEventInput is the call of a model, which the server stores as an event of type model:
// what was asked in config, messages and template inputs in inputs, the response in outputs,
// usage and cost in metadata.
type ModelEventInput struct {
	Model           string   `json:"model"`
	Provider        string   `json:"provider"`
	Messages        []Object `json:"messages"`
	Response        Object   `json:"response"`
	Usage           Object   `json:"usage"`
	Cost            float64  `json:"cost,omitzero"`
	Hyperparameters Object   `json:"hyperparameters,omitempty"`
	Template        any      `json:"template,omitempty"` // text, or an array of messages
	TemplateInputs  Object   `json:"template_inputs,omitempty"`
	Tools           any      `json:"tools,omitempty"`
	ToolChoice      any      `json:"tool_choice,omitempty"`
	ResponseFormat  any      `json:"response_format,omitempty"`
	ModelName       string   `json:"model_name,omitempty"`
	ModelVersion    string   `json:"model_version,omitempty"`

	// The fields of any event, as in EventInput.
	EventID        string  `json:"event_id,omitempty"`
	SessionID      string  `json:"session_id,omitempty"`
	ParentID       string  `json:"parent_id,omitempty"`
	EventName      string  `json:"event_name,omitempty"`
	Source         string  `json:"source,omitempty"`
	Error          string  `json:"error,omitempty"`
	StartTime      float64 `json:"start_time,omitzero"`
	EndTime        float64 `json:"end_time,omitzero"`
	Duration       float64 `json:"duration"`
	Metadata       Object  `json:"metadata,omitempty"`
	Metrics        Object  `json:"metrics,omitempty"`
	Feedback       Object  `json:"feedback,omitempty"`
	UserProperties Object  `json:"user_properties,omitempty"`
}

// prepare completes what makes the event the same one when it is sent again.
func (e *ModelEventInput) prepare() {
	e.EventID = or(e.EventID, newID())
	if e.Messages == nil {
		e.Messages = []Object{}
	}
	if e.Response == nil {
		e.Response = Object{}
	}
	if e.Usage == nil {
		e.Usage = Object{}
	}
}

// EventUpdate changes an event. Objects are merged one level deep: each key replaces that key,
// and a nil value sets null. What is empty stays as it is.
type EventUpdate struct {
	Inputs         Object   `json:"inputs,omitempty"`
	Config         Object   `json:"config,omitempty"`
	Metadata       Object   `json:"metadata,omitempty"`
	Metrics        Object   `json:"metrics,omitempty"`
	Feedback       Object   `json:"feedback,omitempty"`
	UserProperties Object   `json:"user_properties,omitempty"`
	Outputs        any      `json:"outputs,omitempty"`      // replaces the outputs
	Duration       *float64 `json:"duration,omitempty"`     // milliseconds
	EndTime        *float64 `json:"end_time,omitempty"`     // Unix milliseconds
	ChildrenIDs    []string `json:"children_ids,omitempty"` // replaces them
}

// Updated is what came of an update.
type Updated struct {
	EventID string `json:"event_id"`
	Pending bool   `json:"pending"` // there is no such event yet; the update waits for it
}

// Batch is events that are created together, all of them or none.
type Batch struct {
	Events []EventInput
	// OneSession puts all events into one session, which is made of Session.
	OneSession bool
	Session    SessionInput
}

// Batched is what a batch made.
type Batched struct {
	EventIDs  []string `json:"event_ids"` // in the order of the events
	SessionID string   `json:"session_id"`
}

// EventService is what can be done with events.
type EventService struct{ c *Client }

// Create creates an event and gives its id.
func (s *EventService) Create(ctx context.Context, e EventInput) (string, error) {
	e.prepare()
	e.ownSession()
	body, err := s.c.record(e.EventID, &e)
	if err != nil {
		return "", err
	}
	return s.create(ctx, "/v1/events", body)
}

func (s *EventService) create(ctx context.Context, path string, body any) (string, error) {
	var answer struct {
		ID string `json:"event_id"`
	}
	err := s.c.Call(ctx, Request{Method: http.MethodPost, Path: path, Body: body, Repeatable: true}, &answer)
	return answer.ID, err
}

// CreateModel creates an event from the call of a model and gives its id.
func (s *EventService) CreateModel(ctx context.Context, e ModelEventInput) (string, error) {
	e.prepare()
	e.SessionID = or(e.SessionID, newSessionID())
	body, err := s.c.record(e.EventID, &e)
	if err != nil {
		return "", err
	}
	return s.create(ctx, "/v1/events/model", map[string]any{"model_event": body})
}

// CreateBatch creates events, all or none. A request takes 20 MB; split what is more.
func (s *EventService) CreateBatch(ctx context.Context, b Batch) (*Batched, error) {
	body := wireBatch{OneSession: b.OneSession, Events: make([]json.RawMessage, len(b.Events))}
	for i, e := range b.Events {
		e.prepare()
		if !b.OneSession {
			e.ownSession()
		}
		var err error
		if body.Events[i], err = s.c.record(e.EventID, &e); err != nil {
			return nil, fmt.Errorf("events[%d]: %w", i, err)
		}
	}
	if b.OneSession {
		session := b.Session
		session.SessionID = or(session.SessionID, common(b.Events))
		body.Session = &session
	}
	return s.batch(ctx, "/v1/events/batch", body)
}

// CreateModelBatch creates events from calls of models, all or none. session may be nil; if it
// is not, all events are put into one session, which is made of it.
func (s *EventService) CreateModelBatch(ctx context.Context, events []ModelEventInput, session *SessionInput) (*Batched, error) {
	body := wireBatch{OneSession: session != nil, ModelEvents: make([]json.RawMessage, len(events))}
	for i, e := range events {
		e.prepare()
		if session == nil {
			e.SessionID = or(e.SessionID, newSessionID())
		}
		var err error
		if body.ModelEvents[i], err = s.c.record(e.EventID, &e); err != nil {
			return nil, fmt.Errorf("events[%d]: %w", i, err)
		}
	}
	if session != nil {
		own := *session
		own.SessionID = or(own.SessionID, newSessionID())
		body.Session = &own
	}
	return s.batch(ctx, "/v1/events/model/batch", body)
}

type wireBatch struct {
	Events      []json.RawMessage `json:"events,omitzero"`
	ModelEvents []json.RawMessage `json:"model_events,omitzero"`
	OneSession  bool              `json:"single_session,omitempty"`
	Session     *SessionInput     `json:"session_properties,omitempty"`
}

func (s *EventService) batch(ctx context.Context, path string, body wireBatch) (*Batched, error) {
	return one[Batched](ctx, s.c, Request{Method: http.MethodPost, Path: path, Body: body, Repeatable: true})
}

// common returns the session that all events name, a new one if they do not agree.
func common(events []EventInput) string {
	for i := range events {
		if events[i].SessionID != events[0].SessionID {
			return newSessionID()
		}
	}
	if len(events) == 0 {
		return newSessionID()
	}
	return or(events[0].SessionID, newSessionID())
}

// Update changes an event, or a session by its id. An update may come before its event.
func (s *EventService) Update(ctx context.Context, id string, u EventUpdate) (*Updated, error) {
	body, err := s.c.record(id, &u)
	if err != nil {
		return nil, err
	}
	return one[Updated](ctx, s.c, Request{Method: http.MethodPut, Path: path("events", id), Body: body, Repeatable: true})
}

// Get reads an event with those below it. The id of a session gives the session's tree.
func (s *EventService) Get(ctx context.Context, id string) (*Node, error) {
	return one[Node](ctx, s.c, Request{Method: http.MethodGet, Path: path("events", id), Repeatable: true})
}

// Delete deletes an event; those below it stay. The id of a session deletes the whole session.
func (s *EventService) Delete(ctx context.Context, id string) error {
	return s.c.Call(ctx, Request{Method: http.MethodDelete, Path: path("events", id), Repeatable: true, deletes: true}, nil)
}

// DeleteCopies is Delete, and also returns which datapoints were made of what is deleted, or, with purge, deletes
// those, too.
func (s *EventService) DeleteCopies(ctx context.Context, id string, purge bool) (*Deletion, error) {
	return deletion(ctx, s.c, path("events", id), purge)
}

// Search reads a page of events. A limit over 1000 is refused.
func (s *EventService) Search(ctx context.Context, q EventQuery) (*List[Event], error) {
	return events(ctx, s.c, "/v1/events/search", q.wire())
}

// Export is Search, in which a limit over 1000 means 1000.
func (s *EventService) Export(ctx context.Context, q EventQuery) (*List[Event], error) {
	body := q.wire()
	body.Project = q.Project
	return events(ctx, s.c, "/v1/events/export", body)
}

func events(ctx context.Context, c *Client, path string, q wireQuery) (*List[Event], error) {
	return readEvents[Event](ctx, c, Request{Method: http.MethodPost, Path: path, Body: q, Repeatable: true})
}

// readEvents sends a request whose answer is a page under "events".
func readEvents[T any](ctx context.Context, c *Client, r Request) (*List[T], error) {
	var answer struct {
		Events []T `json:"events"`
		Total  int `json:"totalEvents"`
	}
	if err := c.Call(ctx, r, &answer); err != nil {
		return nil, err
	}
	return &List[T]{answer.Events, answer.Total}, nil
}

// ChartQuery defines what a chart shows. Zero values are the server's defaults.
type ChartQuery struct {
	Metric          string // the field summed up, such as metadata.cost; duration by default
	GroupBy         string // a dotted field
	Bucket          string // auto, second, minute, hour, day, week or month, or a step such as 10m; hour by default
	Aggregation     string // average, sum, count, min, max, median, p50, p75, p90, p95 or p99; average by default
	DateRange       DateRange
	Filters         []Filter
	RunID           string // only events of this experiment run
	OnlyExperiments bool   // only events of experiment runs
	Fill            bool   // also the buckets without events
	Timezone        string // where days, weeks and months begin; UTC by default
}

// Chart is one number a bucket of start time and group.
type Chart struct {
	Points []ChartPoint `json:"events"`
	Total  int          `json:"totalEvents"` // events that entered
	Bucket string       `json:"bucket"`      // the name of the bucket
}

// ChartPoint is a number of a chart.
type ChartPoint struct {
	Bucket time.Time `json:"bucket"`
	Group  *string   `json:"group"` // nil: the events without the field, or a chart without groups
	Other  bool      `json:"other"` // the point is that of all groups that are not shown
	Value  *float64  `json:"value"` // nil: no event has a value
	Count  int       `json:"count"` // of events
}

// ChartSetQuery asks for several charts of one range, in the same buckets.
type ChartSetQuery struct {
	Series    []ChartSeries // 1 to 50
	Filters   []Filter      // of all series, beside their own
	DateRange DateRange     // up to now if it has no end, from the first event on if it has no beginning
	Bucket    string        // as of a chart; auto by default
	Timezone  string        // where days, weeks and months begin; UTC by default
	Previous  bool          // also the period of the same length before the range, which has a beginning
}

// ChartSeries is one of several charts.
type ChartSeries struct {
	Name        string   `json:"name,omitempty"`
	Metric      string   `json:"metric,omitempty"` // as of a ChartQuery, and so are the next ones
	Aggregation string   `json:"aggregation,omitempty"`
	GroupBy     string   `json:"groupBy,omitempty"`
	Groups      int      `json:"groups,omitempty"` // how many groups are shown, at most 50; 50 if it is 0
	Filters     []Filter `json:"filters,omitempty"`
}

// ChartSet is the answer to a ChartSetQuery: for each row of a series a value a bucket.
type ChartSet struct {
	Bucket   string        `json:"bucket"`           // the name of the bucket
	Buckets  []time.Time   `json:"buckets"`          // when they begin
	Previous []time.Time   `json:"previous_buckets"` // those that they are compared with
	Series   []SeriesChart `json:"series"`
}

// SeriesChart is what came of one series: a row, or one a group.
type SeriesChart struct {
	Name          string      `json:"name"`
	Rows          []SeriesRow `json:"rows"`
	Total         int         `json:"total"` // events that entered
	PreviousTotal int         `json:"previous_total"`
	Error         string      `json:"error"` // why there are no rows; empty: there are
}

// SeriesRow has the values of a group by bucket; nil: no event has a value.
type SeriesRow struct {
	Group          *string    `json:"group"` // nil: the events without the field, or a series without groups
	Other          bool       `json:"other"` // the row is that of all groups that are not shown
	Values         []*float64 `json:"values"`
	Counts         []int      `json:"counts"` // events that entered
	Previous       []*float64 `json:"previous"`
	PreviousCounts []int      `json:"previous_counts"`
}

// ValueQuery asks which values a field of events has.
type ValueQuery struct {
	Field     string // dotted path, such as config.model
	Prefix    string // values begin with it, without regard to case
	Filters   []Filter
	DateRange DateRange
	RunID     string // only events of this experiment run
	Limit     int    // at most 100; 20 if it is 0
}

// Values are those of a field among the newest events that match.
type Values struct {
	Values   []ValueCount `json:"values"`    // the most frequent first
	LookedAt int          `json:"looked_at"` // how many events were looked at, which the server bounds
	Complete bool         `json:"complete"`  // these are all that match
	LeftOut  int          `json:"left_out"`  // events whose value is an object, an array, or longer than 500 bytes
}

// ValueCount is a value as text and how many events have it.
type ValueCount struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

// Values counts the values of a field.
func (s *EventService) Values(ctx context.Context, q ValueQuery) (*Values, error) {
	body := struct {
		Field     string   `json:"field"`
		Prefix    string   `json:"prefix,omitempty"`
		Filters   []Filter `json:"filters,omitempty"`
		DateRange any      `json:"dateRange,omitempty"`
		RunID     string   `json:"evaluation_id,omitempty"`
		Limit     int      `json:"limit,omitempty"`
	}{q.Field, q.Prefix, q.Filters, q.DateRange.wire(), q.RunID, q.Limit}
	return one[Values](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/events/values", Body: body, Repeatable: true})
}

// Chart reads a chart of events.
func (s *EventService) Chart(ctx context.Context, q ChartQuery) (*Chart, error) {
	v := url.Values{}
	set(v, "metric", q.Metric)
	set(v, "groupBy", q.GroupBy)
	set(v, "bucket", q.Bucket)
	set(v, "aggregation", q.Aggregation)
	setRange(v, q.DateRange)
	setFilters(v, "filters", q.Filters)
	set(v, "evaluation_id", q.RunID)
	setBool(v, "only_experiments", q.OnlyExperiments)
	setBool(v, "fill", q.Fill)
	set(v, "timezone", q.Timezone)
	return one[Chart](ctx, s.c, Request{Method: http.MethodGet, Path: "/v1/events/chart", Query: v, Repeatable: true})
}

// Charts reads several charts of one range.
func (s *EventService) Charts(ctx context.Context, q ChartSetQuery) (*ChartSet, error) {
	body := struct {
		Series    []ChartSeries `json:"series"`
		Filters   []Filter      `json:"filters,omitempty"`
		DateRange any           `json:"dateRange,omitempty"`
		Bucket    string        `json:"bucket,omitempty"`
		Timezone  string        `json:"timezone,omitempty"`
		Previous  bool          `json:"previous,omitempty"`
	}{q.Series, q.Filters, q.DateRange.wire(), q.Bucket, q.Timezone, q.Previous}
	return one[ChartSet](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/events/chart", Body: body, Repeatable: true})
}

// Schema returns the fields that events have. runID, if it is not empty, asks for those of the
// events of a run; of the range only whole days count.
func (s *EventService) Schema(ctx context.Context, r DateRange, runID string) (*Schema, error) {
	return schema(ctx, s.c, "/v1/events/schema", r, runID)
}
