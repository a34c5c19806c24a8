package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Alert is an alert on a figure of the project's events, with its state.
type Alert struct {
	ID            string         `json:"id"`
	Name          string         `json:"name"`
	Description   string         `json:"description"`
	Enabled       bool           `json:"enabled"`
	ChartID       string         `json:"chart_id"` // empty: Metric, Func and Query say what is measured
	Metric        string         `json:"metric"`
	Func          string         `json:"func"` // how it is summed up
	Query         []Filter       `json:"query"`
	Compare       string         `json:"compare"` // value or week_before
	Op            string         `json:"op"`      // above or below
	Threshold     float64        `json:"threshold"`
	WindowMinutes int            `json:"window_minutes"`
	EveryMinutes  int            `json:"every_minutes"`
	ForMinutes    int            `json:"for_minutes"`
	MinEvents     int64          `json:"min_events"`
	Timezone      string         `json:"timezone"`
	NotifyNoData  bool           `json:"notify_no_data"`
	SilencedUntil time.Time      `json:"silenced_until,omitzero"`
	Channels      []AlertChannel `json:"channels"`
	Condition     string         `json:"condition"` // when it fires, in words
	Status        AlertStatus    `json:"status"`
	NextAt        time.Time      `json:"next_at,omitzero"` // when it is evaluated next
	CreatedAt     time.Time      `json:"created_at"`
	UpdatedAt     time.Time      `json:"updated_at,omitzero"` // zero if it never changed
	// Warnings say what in it may not work, such as a metric that no event has had. Only Create and Update give them.
	Warnings []string `json:"-"`
}

// AlertChannel is where notices go. Addresses of webhooks and secrets are never read back.
type AlertChannel struct {
	ID     string   `json:"id,omitempty"`
	Type   string   `json:"type"`             // webhook, slack or email
	Host   string   `json:"host,omitempty"`   // the address without what is secret in it
	Signed bool     `json:"signed,omitempty"` // there is a secret
	To     []string `json:"to,omitempty"`     // of e-mail
	URL    string   `json:"url,omitempty"`    // only sent
	Secret string   `json:"secret,omitempty"` // only sent: base64 of 24 to 64 bytes
}

// AlertReading is what an alert has measured.
type AlertReading struct {
	Value         *float64 `json:"value"`
	Events        int64    `json:"events"`
	Before        *float64 `json:"before"` // a week before
	EventsBefore  int64    `json:"events_before"`
	ChangePercent *float64 `json:"change_percent"`
	Error         string   `json:"error"` // why nothing could be measured
}

// AlertStatus is where an alert stands.
type AlertStatus struct {
	AlertReading
	State        string    `json:"state"` // ok, firing or no_data; empty: it has not been evaluated, or is off
	Since        time.Time `json:"since,omitzero"`
	EvaluatedAt  time.Time `json:"evaluated_at,omitzero"`
	PendingSince time.Time `json:"pending_since,omitzero"`
	Incident     string    `json:"incident"`
}

// AlertInput is an alert to be made, of which a name and a metric or a chart are required, or changed: what is nil stays as it is.
type AlertInput struct {
	Name          *string         `json:"name,omitempty"`
	Description   *string         `json:"description,omitempty"`
	Enabled       *bool           `json:"enabled,omitempty"`
	ChartID       *string         `json:"chart_id,omitempty"`
	Metric        *string         `json:"metric,omitempty"`
	Func          *string         `json:"func,omitempty"`
	Query         []Filter        `json:"query,omitempty"`
	Compare       *string         `json:"compare,omitempty"`
	Op            *string         `json:"op,omitempty"`
	Threshold     *float64        `json:"threshold,omitempty"`
	WindowMinutes *int            `json:"window_minutes,omitempty"`
	EveryMinutes  *int            `json:"every_minutes,omitempty"`
	ForMinutes    *int            `json:"for_minutes,omitempty"`
	MinEvents     *int64          `json:"min_events,omitempty"`
	Timezone      *string         `json:"timezone,omitempty"`
	NotifyNoData  *bool           `json:"notify_no_data,omitempty"`
	SilencedUntil *time.Time      `json:"silenced_until,omitempty"` // one of the past: it is silent no longer
	Channels      *[]AlertChannel `json:"channels,omitempty"`       // all of them; one with an ID keeps what is left out
}

// AlertChange is an entry of an alert's history.
type AlertChange struct {
	AlertReading
	At       time.Time `json:"at"`
	From     string    `json:"from"` // empty: it had no state
	To       string    `json:"to"`   // empty: it was switched off
	Incident string    `json:"incident"`
	Silenced bool      `json:"silenced"`
}

// AlertNotice is what one channel was told, and what became of it.
type AlertNotice struct {
	ID         string    `json:"id"`
	Kind       string    `json:"kind"`  // firing, resolved, no_data or test
	State      string    `json:"state"` // waiting, sent or failed
	ChannelID  string    `json:"channel_id"`
	Type       string    `json:"type"`
	Where      string    `json:"where"`
	Incident   string    `json:"incident"`
	Title      string    `json:"title"`
	Text       string    `json:"text"`
	Attempts   int       `json:"attempts"`
	Status     int       `json:"status"` // the last HTTP status, or SMTP's reply; 0: there was none
	Error      string    `json:"error"`
	NextAt     time.Time `json:"next_at,omitzero"`
	CreatedAt  time.Time `json:"created_at,omitzero"`
	FinishedAt time.Time `json:"finished_at,omitzero"`
}

// AlertTest is what came of a test.
type AlertTest struct {
	Success bool `json:"success"` // all receivers took it
	Reading struct {
		AlertReading
		State string `json:"state"` // as it would be by this reading alone
	} `json:"reading"`
	Notices []AlertNotice `json:"notices"`
}

// AlertService is what can be done with alerts.
type AlertService struct{ c *Client }

// List reads a page of alerts, oldest first.
func (s *AlertService) List(ctx context.Context, p Page) (*List[Alert], error) {
	return dataList[Alert](ctx, s.c, path("alerts"), p)
}

// All walks over all alerts.
func (s *AlertService) All(ctx context.Context) iter.Seq2[Alert, error] {
	return all(Page{}, func(x *Alert) string { return x.ID }, func(p Page) (*List[Alert], error) { return s.List(ctx, p) })
}

// Create makes an alert, which is evaluated at once.
func (s *AlertService) Create(ctx context.Context, in AlertInput) (*Alert, error) {
	return s.one(ctx, Request{Method: http.MethodPost, Path: path("alerts"), Body: in})
}

// Get reads an alert with its state.
func (s *AlertService) Get(ctx context.Context, id string) (*Alert, error) {
	return s.one(ctx, Request{Method: http.MethodGet, Path: path("alerts", id), Repeatable: true})
}

// Update changes an alert and returns the updated one.
func (s *AlertService) Update(ctx context.Context, id string, u AlertInput) (*Alert, error) {
	return s.one(ctx, Request{Method: http.MethodPut, Path: path("alerts", id), Body: u, Repeatable: true})
}

func (s *AlertService) one(ctx context.Context, r Request) (*Alert, error) {
	var answer struct {
		Data     Alert    `json:"data"`
		Warnings []string `json:"warnings"`
	}
	if err := s.c.Call(ctx, r, &answer); err != nil {
		return nil, err
	}
	answer.Data.Warnings = answer.Warnings
	return &answer.Data, nil
}

// Delete deletes an alert with its history.
func (s *AlertService) Delete(ctx context.Context, id string) error {
	return s.c.Call(ctx, Request{Method: http.MethodDelete, Path: path("alerts", id), Repeatable: true, deletes: true}, nil)
}

// Test measures now and sends a notice to each channel, once.
func (s *AlertService) Test(ctx context.Context, id string) (*AlertTest, error) {
	var answer AlertTest
	if err := s.c.Call(ctx, Request{Method: http.MethodPost, Path: path("alerts", id, "test")}, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// History reads how the state of an alert has changed, newest first, a page of what is kept.
func (s *AlertService) History(ctx context.Context, id string, p Page) (*List[AlertChange], error) {
	return dataList[AlertChange](ctx, s.c, path("alerts", id, "history"), p)
}

// Notices reads the notices of an alert and what became of them, newest first, a page of what is kept.
func (s *AlertService) Notices(ctx context.Context, id string, p Page) (*List[AlertNotice], error) {
	return dataList[AlertNotice](ctx, s.c, path("alerts", id, "notices"), p)
}

// dataList reads a page of a list whose items stand under data.
func dataList[T any](ctx context.Context, c *Client, at string, p Page) (*List[T], error) {
	var answer struct {
		Data []T `json:"data"`
	}
	h, err := c.CallHeader(ctx, Request{Method: http.MethodGet, Path: at, Query: p.query(url.Values{}), Repeatable: true}, &answer)
	if err != nil {
		return nil, err
	}
	return &List[T]{answer.Data, total(h)}, nil
}
