package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// queryAPI asks a server of ours. A call returns how many things came back, so that
// an empty answer is not taken for a fast one. Without a base URL there is
// nothing to ask (the sink).
type queryAPI struct {
	base  string
	token string
	c     *http.Client
}

func newQueryAPI(base, token string) *queryAPI {
	return &queryAPI{base: strings.TrimRight(base, "/"), token: token,
		c: &http.Client{Timeout: 120 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 8}}}
}

func (a *queryAPI) none() bool { return a.base == "" }

func (a *queryAPI) do(ctx context.Context, method, path string, body any) (int, []byte, error) {
	var r io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		r = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, r)
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	resp, err := a.c.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("HTTP %d: %.200s", resp.StatusCode, b)
	}
	return resp.StatusCode, b, err
}

type filter struct {
	Field    string `json:"field"`
	Operator string `json:"operator"`
	Value    string `json:"value"`
	Type     string `json:"type"`
}

type found struct {
	Events []json.RawMessage `json:"events"`
	Total  int64             `json:"totalEvents"`
}

func (a *queryAPI) search(ctx context.Context, limit int, projections []string, filters ...filter) (*found, error) {
	if filters == nil {
		filters = []filter{}
	}
	in := map[string]any{"filters": filters, "limit": limit, "page": 1}
	if projections != nil {
		in["projections"] = projections
	}
	_, b, err := a.do(ctx, http.MethodPost, "/v1/events/search", in)
	if err != nil {
		return nil, err
	}
	var r found
	return &r, json.Unmarshal(b, &r)
}

// count returns the number of events below their sessions: those that spans made.
func (a *queryAPI) count(ctx context.Context) (int64, error) {
	r, err := a.search(ctx, 1, []string{"event_id"}, filter{"event_type", "is not", "session", "string"})
	if err != nil {
		return 0, err
	}
	return r.Total, nil
}

// trace fetches a session's tree and counts the events below the session. The
// session's id is the session.id attribute of the spans.
func (a *queryAPI) trace(ctx context.Context, g *SpanGenerator, t int) (int, error) {
	status, b, err := a.do(ctx, http.MethodGet, "/v1/sessions/"+g.SessionUUID(t), nil)
	if err != nil {
		if status == http.StatusNotFound {
			return 0, nil
		}
		return 0, err
	}
	// Only count the nodes: decoding the tree is the client's work.
	return bytes.Count(b, []byte(`"event_id":`)) - 1, nil
}

// latest fetches the newest n sessions.
func (a *queryAPI) latest(ctx context.Context, n int) (int, error) {
	return a.events(ctx, n, nil, filter{"event_type", "is", "session", "string"})
}

// attr fetches whole events of one user.
func (a *queryAPI) attr(ctx context.Context, user string, n int) (int, error) {
	return a.events(ctx, n, nil, filter{"user_properties.user_id", "is", user, "string"})
}

// headFields are what a list shows of an event: everything but the payload.
var headFields = []string{"event_id", "session_id", "parent_id", "event_type", "event_name", "source",
	"start_time", "end_time", "duration", "error", "metadata", "metrics", "feedback", "user_properties"}

// heads fetches n filtered events without their payload.
func (a *queryAPI) heads(ctx context.Context, n int) (int, error) {
	return a.events(ctx, n, headFields, filter{"event_type", "is", "model", "string"})
}

func (a *queryAPI) events(ctx context.Context, n int, projections []string, filters ...filter) (int, error) {
	r, err := a.search(ctx, n, projections, filters...)
	if err != nil {
		return 0, err
	}
	return len(r.Events), nil
}
