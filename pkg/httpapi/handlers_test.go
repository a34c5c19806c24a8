package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
)

func TestErrorsAreAnsweredByKind(t *testing.T) {
	t.Parallel()
	const id = "22222222-2222-4222-8222-222222222222"
	for _, tt := range []struct {
		err    error
		status int
		code   string
	}{
		{fault.New(fault.NotFound, "no event"), 404, "NOT_FOUND"},
		{&fault.Error{Kind: fault.Unavailable, Msg: "busy"}, 503, "UNAVAILABLE"},
		{context.DeadlineExceeded, 504, "TIMEOUT"},
		{errors.New("secret cause"), 500, "INTERNAL_ERROR"},
	} {
		for _, request := range []string{
			"GET /sessions/" + id, "DELETE /sessions/" + id, "GET /events", "POST /events/search", "POST /events/export",
			"GET /events/" + id, "PUT /events/" + id, "DELETE /events/" + id,
		} {
			status, body := ask(t, serve(&fake{err: tt.err}), request, "")
			var got struct {
				StatusCode int
				Message    string
				Success    *bool
				ErrorCode  string
			}
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Errorf("%s: %v in %s", request, err, body)
				continue
			}
			if status != tt.status || got.StatusCode != tt.status || got.ErrorCode != tt.code || got.Success == nil || *got.Success {
				t.Errorf("%s with %v: %d %s", request, tt.err, status, body)
			}
			if strings.Contains(body, "secret") {
				t.Errorf("%s shows the cause: %s", request, body)
			}
		}
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ request, body, message string }{
		{"GET /sessions/no", "", `session_id: \"no\" is not a UUID`},
		{"DELETE /session/no", "", "session_id: "},
		{"GET /v1/events/chartt", "", "event_id: "},
		{"GET /events/00000000-0000-0000-0000-000000000000", "", "event_id: "},
		{"PUT /events/no", "{}", "event_id: "},
		{"DELETE /events/no", "", "event_id: "},
		{"PUT /events", "{}", "event_id: is required"},
		{"PUT /events", `{"event_id":"22222222-2222-4222-8222-222222222222","metadata":[]}`, "metadata: must be an object, not an array"},
		{"POST /events/search", "[]", "the body must be a JSON object"},
		{"POST /events/search", "{", "the body is not valid JSON"},
		{"POST /events/search", `{"limit":1001}`, "limit: must be at most 1000"},
		{"POST /events/export", `{"limit":0}`, "limit: must be 1 or more"},
		{"GET /events?limit=1001", "", "limit: must be at most 1000"},
		{"GET /events?page=0", "", "page: must be 1 or more"},
		{"GET /events?filters[0][field]=a&filters[0", "", "filters[0: its brackets do not match"},
	} {
		t.Run(tt.request, func(t *testing.T) {
			t.Parallel()
			status, body := ask(t, serve(&fake{}), tt.request, tt.body)
			if status != 400 || !strings.Contains(body, `"VALIDATION_ERROR"`) || !strings.Contains(body, `"message":"`+tt.message) {
				t.Errorf("%d %s; want %s", status, body, tt.message)
			}
		})
	}
}

func TestLargeBody(t *testing.T) {
	t.Parallel()
	h := serve(&fake{})
	bounded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 10)
		h.ServeHTTP(w, r)
	})
	for _, request := range []string{"PUT /events", "POST /events/search"} {
		if status, body := ask(t, bounded, request, `{"metadata":{"a":"12345"}}`); status != 413 || !strings.Contains(body, "PAYLOAD_TOO_LARGE") {
			t.Errorf("%s: %d %s", request, status, body)
		}
	}
}

func TestSearchDecodesEveryForm(t *testing.T) {
	t.Parallel()
	model := []query.Filter{{Field: "event_type", Operator: "is", Type: "string", Value: json.RawMessage(`"model"`)}}
	from := 1_799_996_400_000.0
	for _, tt := range []struct {
		request, body string
		want          query.Search
	}{
		{"POST /v1/events/search", ``, query.Search{Limit: 1000, Page: 1}},
		{"POST /v1/events/export", `{"project":"any","limit":7500}`, query.Search{Limit: 1000, Page: 1}},
		{"POST /events/search", `{"filters":[{"field":"event_type","operator":"is","value":"model"}],"limit":"7","page":2.0,"dateRange":"1h"}`,
			query.Search{Filters: model, From: &from, Limit: 7, Page: 2}},
		{"GET /events?filters[0][field]=event_type&filters[0][operator]=is&filters[0][value]=model&limit=7&page=2&dateRange=1h", ``,
			query.Search{Filters: model, From: &from, Limit: 7, Page: 2}},
		{"GET /v1/events?dateRange=%7B%27$gte%27:%201799996400000.0%7D&evaluation_id=r", ``,
			query.Search{From: &from, RunID: "r", Limit: 1000, Page: 1}},
		{"POST /events/search", `{"filters":[{"field":"project","operator":"is","value":"shop"}]}`, query.Search{Limit: 1000, Page: 1}},
	} {
		f := &fake{set: &event.Set{Total: 3}}
		status, body := ask(t, serve(f), tt.request, tt.body)
		if status != 200 || body != `{"events":[],"totalEvents":3,"count":3}` {
			t.Errorf("%s: %d %s", tt.request, status, body)
		}
		if diff := cmp.Diff(tt.want, f.search, cmpopts.IgnoreUnexported(query.Filter{})); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.request, diff)
		}
	}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		request, body string
		pending       bool
		want          string
	}{
		{"PUT /events", `{"event_id":"22222222-2222-4222-8222-222222222222","metrics":{"a":1}}`, false,
			`{"success":true,"event_id":"22222222-2222-4222-8222-222222222222"}`},
		{"PUT /v1/events/22222222-2222-4222-8222-222222222222", `{"metrics":{"a":1}}`, true,
			`{"success":true,"event_id":"22222222-2222-4222-8222-222222222222","pending":true}`},
	} {
		f := &fake{pending: tt.pending}
		status, body := ask(t, serve(f), tt.request, tt.body)
		if status != 200 || body != tt.want {
			t.Errorf("%s: %d %s", tt.request, status, body)
		}
		if diff := cmp.Diff(event.Update{EventID: eventID, Metrics: json.RawMessage(`{"a":1}`)}, f.update); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.request, diff)
		}
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	for _, request := range []string{"DELETE /v1/events/" + eventID.String(), "DELETE /session/" + eventID.String()} {
		f := &fake{}
		status, body := ask(t, serve(f), request, "")
		if status != 200 || body != `{"success":true,"deleted":"22222222-2222-4222-8222-222222222222"}` {
			t.Errorf("%s: %d %s", request, status, body)
		}
		if diff := cmp.Diff([]uuid.UUID{eventID}, f.deleted); diff != "" {
			t.Errorf("%s (-want +got)\n%s", request, diff)
		}
	}
}

// breaking returns a set whose events from the given one on cannot be loaded.
func breaking(n, from int) *event.Set {
	set := &event.Set{Total: n, Events: make([]event.Event, n)}
	set.Load = func(_ context.Context, i int) (event.Event, error) {
		if i >= from {
			return event.Event{}, errors.New("chunk lost")
		}
		return event.Event{ID: eventID, Type: event.TypeTool, Inputs: json.RawMessage(`{"t":"` + strings.Repeat("x", 1000) + `"}`)}, nil
	}
	return set
}

func TestAFailureBeforeTheAnswerBeganIsAnError(t *testing.T) {
	t.Parallel()
	status, body := ask(t, serve(&fake{set: breaking(5, 3)}), "POST /events/search", "")
	if status != 500 || !strings.Contains(body, "INTERNAL_ERROR") || strings.Contains(body, "chunk") {
		t.Errorf("%d %s", status, body)
	}
}

// A cut answer must not look like a whole one to any client.
func TestAFailureWithinTheAnswerBreaksTheConnection(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(serve(&fake{set: breaking(500, 400)}))
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/events/search", bytes.NewReader(nil))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err == nil {
		t.Errorf("%d bytes came with status %d and no error", len(body), answer.StatusCode)
	}
}

func TestOpenAPIIsServed(t *testing.T) {
	t.Parallel()
	for _, request := range []string{"GET /openapi.yaml", "GET /v1/openapi.yaml"} {
		if status, body := ask(t, serve(&fake{}), request, ""); status != 200 || !strings.HasPrefix(body, "openapi: 3.1.0") {
			t.Errorf("%s: %d", request, status)
		}
	}
}
