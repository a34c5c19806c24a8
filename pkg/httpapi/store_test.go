package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/httpapi"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store"
)

// numbered returns the id of event n of the tests' session; 0 is the session itself.
func numbered(n int) uuid.UUID {
	if n == 0 {
		return sessionID
	}
	return uuid.MustParse(fmt.Sprintf("22222222-2222-4222-8222-%012d", n))
}

// stored returns the API over a real store that holds one session: the events 1 to 5, of which 2 and
// 3 stand below 1, 4 below 3, and 5 below an event that is not there.
func stored(t *testing.T) http.Handler { t.Helper(); return storedWith(t, store.Options{}) }

// openStore opens a store with a project.
func openStore(t *testing.T, o store.Options, name string) (*store.Store, project.Project) {
	t.Helper()
	s, err := store.OpenSQLite(t.Context(), t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	p, err := s.EnsureProject(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s, p
}

func storedWith(t *testing.T, o store.Options) http.Handler {
	t.Helper()
	s, p := openStore(t, o, "shop")
	batch := event.Batch{Events: []event.Incoming{{Started: true, Event: event.Event{
		ID: sessionID, SessionID: sessionID, Type: event.TypeSession, Name: "checkout",
		Start: 1_790_000_000_000, Metadata: json.RawMessage(`{"tier":"gold"}`),
	}}}}
	for i, parent := range []int{0, 1, 1, 3, 99} {
		batch.Events = append(batch.Events, event.Incoming{Event: event.Event{
			ID: numbered(i + 1), SessionID: sessionID, ParentID: numbered(parent), Type: event.TypeModel, Name: fmt.Sprint(i + 1),
			Start: 1_790_000_000_000 + float64(i) + 0.5, Duration: 2, Inputs: json.RawMessage(`{"q":9007199254740993}`),
			Outputs: json.RawMessage(`"text"`), Metadata: json.RawMessage(`{"cost":0.25,"prompt_tokens":3}`),
		}})
	}
	for i := range batch.Events {
		batch.Events[i].Complete(time.UnixMilli(1_790_000_000_000))
	}
	if err := s.Put(t.Context(), p.ID, batch); err != nil {
		t.Fatal(err)
	}
	server := httpapi.New(httpapi.Deps{Store: s})
	mux := http.NewServeMux()
	for _, r := range server.Routes() {
		mux.Handle(r.Pattern(), r.Handler)
	}
	return mux
}

type node struct {
	EventID  string         `json:"event_id"`
	Name     string         `json:"event_name"`
	Metadata map[string]any `json:"metadata"`
	Children []node         `json:"children"`
}

// tree returns what a request shows, as "name(child child)", an orphan with an asterisk.
func tree(t *testing.T, h http.Handler, request string) (string, node) {
	t.Helper()
	status, body := ask(t, h, request, "")
	var n node
	if err := json.Unmarshal([]byte(body), &n); err != nil || status != 200 {
		t.Fatalf("%s: %d %s", request, status, body)
	}
	var draw func(n node) string
	draw = func(n node) string {
		s := n.Name
		if n.Metadata["orphan"] == true {
			s += "*"
		}
		var below []string
		for _, c := range n.Children {
			below = append(below, draw(c))
		}
		if below != nil {
			s += "(" + strings.Join(below, " ") + ")"
		}
		return s
	}
	return draw(n), n
}

func TestTreesOfAStore(t *testing.T) {
	t.Parallel()
	h := stored(t)
	const whole = "checkout(1(2 3(4)) 5*)"
	for _, tt := range []struct{ request, want string }{
		{"GET /sessions/" + sessionID.String(), whole},
		{"GET /v1/sessions/" + strings.ToUpper(sessionID.String()), whole},
		{"GET /session/" + sessionID.String(), whole},
		{"GET /v1/session/" + sessionID.String(), whole},
		{"GET /events/" + sessionID.String(), whole},
		{"GET /v1/events/" + numbered(3).String(), "3(4)"},
		{"GET /v1/events/" + numbered(4).String(), "4"},
	} {
		if got, _ := tree(t, h, tt.request); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.request, got, tt.want)
		}
	}
	_, root := tree(t, h, "GET /sessions/"+sessionID.String())
	want := map[string]any{
		"tier": "gold", "num_events": 5.0, "num_model_events": 5.0, "has_feedback": false,
		"cost": 1.25, "prompt_tokens": 15.0, "completion_tokens": 0.0, "total_tokens": 15.0,
	}
	if diff := cmp.Diff(want, root.Metadata); diff != "" {
		t.Errorf("totals of the session (-want +got)\n%s", diff)
	}
	for _, request := range []string{"GET /sessions/" + numbered(1).String(), "GET /events/" + numbered(77).String()} {
		if status, body := ask(t, h, request, ""); status != 404 || !strings.Contains(body, "NOT_FOUND") {
			t.Errorf("%s: %d %s", request, status, body)
		}
	}
}

func TestSearchOfAStore(t *testing.T) {
	t.Parallel()
	h := stored(t)
	id := func(n int) string { return numbered(n).String() }
	for _, tt := range []struct{ request, body, want string }{
		{"POST /v1/events/search", `{"limit":2,"projections":["inputs.q","start_time"],"filters":[{"field":"event_type","operator":"is","value":"model"}]}`,
			`{"events":[{"event_id":"` + id(5) + `","start_time":1790000000004.5,"inputs":{"q":9007199254740993}},` +
				`{"event_id":"` + id(4) + `","start_time":1790000000003.5,"inputs":{"q":9007199254740993}}],"totalEvents":5,"count":5}`},
		{"GET /events?projections=event_name&filters[0][field]=parent_id&filters[0][operator]=is&filters[0][value]=" + id(1) + "&page=2&limit=1", "",
			`{"events":[{"event_id":"` + id(2) + `","event_name":"2"}],"totalEvents":2,"count":2}`},
		{"POST /events/export", `{"dateRange":{"$gte":1790000000004},"projections":["event_id"]}`,
			`{"events":[{"event_id":"` + id(5) + `"}],"totalEvents":1,"count":1}`},
		{"GET /v1/events?dateRange[$lte]=2020-01-01", "", `{"events":[],"totalEvents":0,"count":0}`},
	} {
		status, body := ask(t, h, tt.request, tt.body)
		if status != 200 {
			t.Errorf("%s: %d", tt.request, status)
		}
		if diff := cmp.Diff(tt.want, body); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.request, diff)
		}
	}
}

// Past the bound of waiting updates an ingest key is answered alike whether the event is stored, and
// with what is to be tried again.
func TestFullStoreTellsIngestKeysNothing(t *testing.T) {
	t.Parallel()
	h := storedWith(t, store.Options{MaxPending: 1})
	update := func(scope project.Scope, n int) (int, string) {
		w := httptest.NewRecorder()
		ctx := project.WithIdentity(t.Context(), project.Identity{Project: project.Project{ID: 1}, Scope: scope})
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "PUT", "/events/"+numbered(n).String(), strings.NewReader(`{"metadata":{"k":1}}`)))
		return w.Code, w.Body.String()
	}
	if status, body := update(project.ScopeIngest, 50); status != 200 {
		t.Fatalf("an early update: %d %s", status, body)
	}
	status, known := update(project.ScopeIngest, 1)
	again, unknown := update(project.ScopeIngest, 60)
	if status != 429 || again != status || known != unknown {
		t.Errorf("of a stored event %d %s, of another %d %s", status, known, again, unknown)
	}
	if _, body := ask(t, h, "GET /events/"+numbered(1).String(), ""); !strings.Contains(body, `"k":1`) {
		t.Errorf("the update of the stored event is lost: %s", body)
	}
	for n, want := range map[int]int{1: 200, 60: 404} {
		if status, body := update(project.ScopeFull, n); status != want {
			t.Errorf("a full key, event %d: %d %s", n, status, body)
		}
	}
}

func TestChangesOfAStore(t *testing.T) {
	t.Parallel()
	h := stored(t)
	must := func(request, body, want string) {
		t.Helper()
		if status, got := ask(t, h, request, body); status != 200 || got != want {
			t.Errorf("%s: %d %s, want %s", request, status, got, want)
		}
	}
	one, session := numbered(1).String(), sessionID.String()
	must("PUT /events", `{"event_id":"`+one+`","metadata":{"cost":1.50,"new":null},"outputs":{"a":1.0},"children_ids":[]}`,
		`{"success":true,"event_id":"`+one+`"}`)
	must("PUT /v1/events/"+session, `{"feedback":{"ground_truth":"yes"}}`, `{"success":true,"event_id":"`+session+`"}`)
	must("PUT /v1/events/"+numbered(50).String(), `{"metrics":{"a":1}}`, `{"success":true,"event_id":"`+numbered(50).String()+`","pending":true}`)

	if _, body := ask(t, h, "GET /events/"+one, ""); !strings.Contains(body, `"outputs":{"a":1.0},"metadata":{"cost":1.50,"prompt_tokens":3,"new":null}`) {
		t.Errorf("after the update: %s", body)
	}
	if _, root := tree(t, h, "GET /sessions/"+session); root.Metadata["has_feedback"] != true || root.Metadata["cost"] != 2.5 {
		t.Errorf("totals after the updates: %v", root.Metadata)
	}

	must("DELETE /events/"+numbered(3).String(), "", `{"success":true,"deleted":"`+numbered(3).String()+`"}`)
	if got, _ := tree(t, h, "GET /sessions/"+session); got != "checkout(1(2) 4* 5*)" {
		t.Errorf("after deleting 3: %s", got)
	}
	must("DELETE /v1/events/"+session, "", `{"success":true,"deleted":"`+session+`"}`)
	for _, request := range []string{
		"GET /sessions/" + session, "DELETE /sessions/" + session, "GET /events/" + one, "DELETE /events/" + one,
	} {
		if status, body := ask(t, h, request, ""); status != 404 {
			t.Errorf("%s after the session is gone: %d %s", request, status, body)
		}
	}
}

// Whoever has an answer that is still right is told so, and sent nothing.
func TestNotModified(t *testing.T) {
	t.Parallel()
	h := stored(t)
	status, body := ask(t, h, "POST /v1/configurations", `{"name":"greeting","provider":"openai","parameters":{"call_type":"chat","model":"small"}}`)
	id, ok := rawjson.Text(rawjson.Path([]byte(body), "insertedId"))
	if status != http.StatusOK || !ok {
		t.Fatalf("%d %s", status, body)
	}
	get := func(path string, has ...string) (int, string, int) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
		for _, tag := range has {
			r.Header.Add("If-None-Match", tag)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Header().Get("ETag"), w.Body.Len()
	}
	for _, path := range []string{"/v1/configurations/" + id, "/v1/events/" + numbered(1).String() + "/fields/inputs"} {
		code, tag, length := get(path)
		if code != http.StatusOK || !strings.HasPrefix(tag, `W/"`) || length == 0 {
			t.Fatalf("%s: %d %s, %d bytes", path, code, tag, length)
		}
		for _, has := range [][]string{{tag}, {strings.TrimPrefix(tag, "W/")}, {`"other", ` + tag}, {`"other"`, tag}, {"*"}} {
			if code, again, length := get(path, has...); code != http.StatusNotModified || again != tag || length != 0 {
				t.Errorf("%s with %q: %d %s, %d bytes", path, has, code, again, length)
			}
		}
		if code, _, _ := get(path, `"other"`); code != http.StatusOK {
			t.Errorf("%s with another tag: %d", path, code)
		}
	}
	path := "/v1/configurations/" + id
	_, before, _ := get(path)
	if _, older, _ := get("/configurations/" + id); older == before {
		t.Errorf("both forms of the answer have the tag %s", before)
	}
	if status, body := ask(t, h, "PUT "+path, `{"name":"greeting","provider":"openai","parameters":{"call_type":"chat","model":"large"}}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	if code, after, _ := get(path, before); code != http.StatusOK || after == before {
		t.Errorf("after a change: %d %s, before %s", code, after, before)
	}
	if code, first, _ := get(path+"?version=1", before); code != http.StatusNotModified || first != before {
		t.Errorf("the first version: %d %s, before %s", code, first, before)
	}
}
