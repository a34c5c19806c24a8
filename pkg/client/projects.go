package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Project is a separate space of sessions, events and everything else.
type Project struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Type        string    `json:"type,omitempty"` // evaluation, completion or nothing
	OrgID       string    `json:"org_id"`
	WorkspaceID string    `json:"workspace_id"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

// ProjectInput is a project to be created.
type ProjectInput struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Type        string `json:"type,omitempty"`
}

// ProjectUpdate changes a project. What is nil stays as it is.
type ProjectUpdate struct {
	Name        *string `json:"name,omitempty"`
	Description *string `json:"description,omitempty"`
	Type        *string `json:"type,omitempty"`
}

// ProjectQuery chooses projects, oldest first.
type ProjectQuery struct {
	Name string // exactly this name, if not empty
	Page
}

// ProjectService is what can be done with projects. All but List and All need a key of scope
// admin.
type ProjectService struct{ c *Client }

// List reads a page of projects: the key's own, or all for a key of scope admin.
func (s *ProjectService) List(ctx context.Context, q ProjectQuery) (*List[Project], error) {
	v := q.query(url.Values{})
	set(v, "name", q.Name)
	var list []Project
	h, err := s.c.CallHeader(ctx, Request{Method: http.MethodGet, Path: "/v1/projects", Query: v, Repeatable: true}, &list)
	if err != nil {
		return nil, err
	}
	return &List[Project]{list, total(h)}, nil
}

// All walks over all projects from a page on.
func (s *ProjectService) All(ctx context.Context, q ProjectQuery) iter.Seq2[Project, error] {
	return all(q.Page, func(x *Project) string { return x.ID }, func(p Page) (*List[Project], error) { q.Page = p; return s.List(ctx, q) })
}

// Create creates a project.
func (s *ProjectService) Create(ctx context.Context, in ProjectInput) (*Project, error) {
	return one[Project](ctx, s.c, Request{Method: http.MethodPost, Path: "/v1/projects", Body: &in})
}

// Update changes a project and returns the updated one.
func (s *ProjectService) Update(ctx context.Context, id string, u ProjectUpdate) (*Project, error) {
	body := struct {
		ID string `json:"project_id"`
		ProjectUpdate
	}{id, u}
	return one[Project](ctx, s.c, Request{Method: http.MethodPut, Path: "/v1/projects", Body: body, Repeatable: true})
}

// Limits bound what a project may use. nil is not set, so that the server's default holds; 0 lifts
// the bound, and for a burst is as many as one second brings.
type Limits struct {
	RequestsPerSecond    *float64 `json:"requests_per_second,omitempty"`     // of all keys together
	RequestBurst         *int64   `json:"request_burst,omitempty"`           // how many may come at once
	KeyRequestsPerSecond *float64 `json:"key_requests_per_second,omitempty"` // of each key
	KeyRequestBurst      *int64   `json:"key_request_burst,omitempty"`       // how many of a key may come at once
	BytesPerSecond       *int64   `json:"bytes_per_second,omitempty"`        // of request bodies, after decompression
	ByteBurst            *int64   `json:"byte_burst,omitempty"`              // how many may come at once
	StoredBytes          *int64   `json:"stored_bytes,omitempty"`            // that may be stored
	EvaluationSlots      *int64   `json:"evaluation_slots,omitempty"`        // evaluations that may run at once
	JudgeUSDPerDay       *float64 `json:"judge_usd_per_day,omitempty"`       // that judges may cost a UTC day
}

// ProjectLimits are the limits of a project.
type ProjectLimits struct {
	ProjectID string `json:"project_id"`
	Own       Limits `json:"limits"`    // those that were set for it
	Effective Limits `json:"effective"` // all of them, the server's defaults among them
	Usage     struct {
		StoredBytes int64 `json:"stored_bytes"`
	} `json:"usage"` // what the project has stored
}

// Limits reads the limits of a project.
func (s *ProjectService) Limits(ctx context.Context, id string) (*ProjectLimits, error) {
	return one[ProjectLimits](ctx, s.c, Request{Method: http.MethodGet, Path: path("projects", id, "limits"), Repeatable: true})
}

// SetLimits sets the limits of a project that are not nil, gives those that are named in reset
// (such as stored_bytes) back to the server's default, and leaves the others as they are.
func (s *ProjectService) SetLimits(ctx context.Context, id string, l Limits, reset ...string) (*ProjectLimits, error) {
	body, err := change(&l, reset)
	if err != nil {
		return nil, err
	}
	return one[ProjectLimits](ctx, s.c, Request{Method: http.MethodPut, Path: path("projects", id, "limits"), Body: body, Repeatable: true})
}

// Retention says for how many whole days, in UTC and beside today, events are kept. nil is not set, so that the server's
// default holds; 0 keeps for good.
type Retention struct {
	EventDays   *int64 `json:"event_days,omitempty"`   // sessions with all their events, from the last one on
	PayloadDays *int64 `json:"payload_days,omitempty"` // inputs, outputs, config and attributes of each event

	Bytes        *int64 `json:"bytes,omitempty"`         // that events may take; past it the oldest sessions go
	PayloadFirst *bool  `json:"payload_first,omitempty"` // for Bytes, the oldest payloads go before any session
}

// ProjectRetention is the rule of a project.
type ProjectRetention struct {
	ProjectID string    `json:"project_id"`
	Own       Retention `json:"retention"` // what was set for it
	Effective Retention `json:"effective"` // all of it, with the server's defaults
}

// Retention reads for how long a project's events are kept.
func (s *ProjectService) Retention(ctx context.Context, id string) (*ProjectRetention, error) {
	return one[ProjectRetention](ctx, s.c, Request{Method: http.MethodGet, Path: path("projects", id, "retention"), Repeatable: true})
}

// SetRetention sets what of a project's rule is not nil, gives those members that are named in reset (such as event_days) back to the
// server's default, and leaves the others as they are. What the rule does not keep is removed in the background, and
// cannot be brought back.
func (s *ProjectService) SetRetention(ctx context.Context, id string, r Retention, reset ...string) (*ProjectRetention, error) {
	body, err := change(&r, reset)
	if err != nil {
		return nil, err
	}
	return one[ProjectRetention](ctx, s.c, Request{Method: http.MethodPut, Path: path("projects", id, "retention"), Body: body, Repeatable: true})
}

// Removal is what a rule would remove.
type Removal struct {
	ProjectID string    `json:"project_id"`
	Rule      Retention `json:"rule"`
	Removes   struct {
		Sessions int64 `json:"sessions"`
		Events   int64 `json:"events"`   // session events among them
		Payloads int64 `json:"payloads"` // events whose payload would go and which would stay otherwise
		Bytes    int64 `json:"bytes"`
	} `json:"removes"`
}

// PreviewRetention counts what the rule would remove that SetRetention would set.
func (s *ProjectService) PreviewRetention(ctx context.Context, id string, r Retention, reset ...string) (*Removal, error) {
	body, err := change(&r, reset)
	if err != nil {
		return nil, err
	}
	return one[Removal](ctx, s.c, Request{Method: http.MethodPost, Path: path("projects", id, "retention", "preview"), Body: body, Repeatable: true})
}

// ProjectRule is a project with its rule of retention.
type ProjectRule struct {
	ProjectID string    `json:"project_id"`
	Name      string    `json:"name"`
	Own       Retention `json:"retention"` // what was set for it
	Effective Retention `json:"effective"` // all of it, the server's defaults among them
}

// ListRetention reads the rules of a page of the projects that the key may know of.
func (s *ProjectService) ListRetention(ctx context.Context, p Page) ([]ProjectRule, error) {
	var answer struct {
		Projects []ProjectRule `json:"projects"`
	}
	err := s.c.Call(ctx, Request{Method: http.MethodGet, Path: "/v1/server/retention", Query: p.query(url.Values{}), Repeatable: true}, &answer)
	return answer.Projects, err
}

// Usage is what takes the space of a project, in bytes.
type Usage struct {
	ProjectID    string     `json:"project_id"`
	Name         string     `json:"name"`
	StoredBytes  int64      `json:"stored_bytes"` // all of it, as of the limit
	Sessions     int64      `json:"sessions"`
	Events       int64      `json:"events"` // session events among them
	HeadBytes    int64      `json:"head_bytes"`
	PayloadBytes int64      `json:"payload_bytes"`
	LogBytes     int64      `json:"log_bytes"`
	Days         []DayUsage `json:"days"`
}

// DayUsage is what the events take that began on a day.
type DayUsage struct {
	Day          string `json:"day"` // such as 2026-01-31, in UTC
	Events       int64  `json:"events"`
	HeadBytes    int64  `json:"head_bytes"`
	PayloadBytes int64  `json:"payload_bytes"`
}

// Usage counts what takes the space of a project.
func (s *ProjectService) Usage(ctx context.Context, id string) (*Usage, error) {
	return one[Usage](ctx, s.c, Request{Method: http.MethodGet, Path: path("projects", id, "usage"), Repeatable: true})
}

// UsageList is what projects have stored, and what the database takes on disk.
type UsageList struct {
	DatabaseBytes int64 `json:"database_bytes"`
	Projects      []struct {
		ProjectID   string `json:"project_id"`
		Name        string `json:"name"`
		Events      int64  `json:"events"`
		StoredBytes int64  `json:"stored_bytes"`
	} `json:"projects"`
}

// ListUsage reads what a page of the projects has stored.
func (s *ProjectService) ListUsage(ctx context.Context, p Page) (*UsageList, error) {
	return one[UsageList](ctx, s.c, Request{Method: http.MethodGet, Path: "/v1/usage", Query: p.query(url.Values{}), Repeatable: true})
}

// Index is what a project has in segments, which answer searches and charts. Events that wait, are not sealed or have changed are read
// from rows instead.
type Index struct {
	ProjectID         string `json:"project_id"`
	Name              string `json:"name"`
	Rebuilding        bool   `json:"rebuilding"` // segments wait to be built anew
	Segments          int64  `json:"segments"`
	Events            int64  `json:"events"` // in segments, session events among them
	WaitingSegments   int64  `json:"waiting_segments"`
	WaitingEvents     int64  `json:"waiting_events"`
	UnsealedEvents    int64  `json:"unsealed_events"`     // that came after the last segment
	ChangedEvents     int64  `json:"changed_events"`      // changed or deleted since their segment was built
	WaitingTextEvents int64  `json:"waiting_text_events"` // in segments that wait for an index of words
	Bytes             int64  `json:"bytes"`
}

// Index counts what a project has in segments.
func (s *ProjectService) Index(ctx context.Context, id string) (*Index, error) {
	return one[Index](ctx, s.c, Request{Method: http.MethodGet, Path: path("projects", id, "index"), Repeatable: true})
}

// RebuildIndex has the segments of a project built anew, in the background. Index tells how far it has come.
func (s *ProjectService) RebuildIndex(ctx context.Context, id string) (*Index, error) {
	return one[Index](ctx, s.c, Request{Method: http.MethodPost, Path: path("projects", id, "index", "rebuild"), Repeatable: true})
}

// change returns the members of v that are set, and null for those that are named in reset.
func change(v any, reset []string) (map[string]any, error) {
	body := map[string]any{}
	for _, name := range reset {
		body[name] = nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return body, json.Unmarshal(text, &body)
}

// Delete deletes a project with its keys and all its data.
func (s *ProjectService) Delete(ctx context.Context, id string) error {
	q := url.Values{"project_id": {id}}
	return s.c.Call(ctx, Request{Method: http.MethodDelete, Path: "/v1/projects", Query: q, Repeatable: true, deletes: true}, nil)
}
