package spangrovereceiver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/fault/verdict"
	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/project"
)

const (
	idA = "11111111-1111-4111-8111-111111111111"
	idB = "22222222-2222-4222-8222-222222222222"
)

func TestEveryWritePathIsMounted(t *testing.T) {
	r := start(t, options{})
	var want = map[string]bool{}
	for _, pattern := range mount.WritePatterns() {
		want[pattern] = true
		if r.api.routes[pattern] == nil {
			t.Errorf("%s is not mounted", pattern)
		}
	}
	for pattern := range r.api.routes {
		if !want[pattern] {
			t.Errorf("%s is mounted, but the API does not know it as a write path", pattern)
		}
	}
}

func TestNativeWrites(t *testing.T) {
	r := start(t, options{})
	ev := `{"event_type":"tool","event_id":"` + idA + `","session_id":"` + idB + `","inputs":{"n":9007199254740993}}`
	quotedEvent, _ := json.Marshal(ev)
	model := `{"model":"m","provider":"p","messages":[{"role":"user"}],"response":{},"duration":1,"usage":{},"event_id":"` + idA + `","session_id":"` + idB + `"}`
	created := `{"success":true,"event_id":"` + idA + `"}`
	batch := `{"event_ids":["` + idA + `"],"session_id":"` + idB + `","success":true}`
	for _, tt := range []struct {
		paths  []string
		body   string
		answer string
		events int
	}{
		{[]string{"/events", "/v1/events"}, ev, created, 1},
		{[]string{"/events", "/v1/events"}, `{"event":` + ev + `}`, created, 1},
		{[]string{"/events", "/v1/events"}, `{"event":` + string(quotedEvent) + `}`, created, 1},
		{[]string{"/events/model", "/v1/events/model"}, `{"model_event":` + model + `}`, created, 1},
		{[]string{"/events/batch", "/v1/events/batch"}, `{"events":[` + ev + `]}`, batch, 1},
		{[]string{"/events/batch", "/v1/events/batch"}, `{"single_session":true,"session_properties":{"session_name":"s"},"events":[` + ev + `]}`, batch, 2},
		{[]string{"/events/batch"}, `{"is_single_session":true,"session":{},"events":[` + ev + `]}`, batch, 2},
		{[]string{"/events/model/batch", "/v1/events/model/batch"}, `{"model_events":[` + model + `]}`, batch, 1},
		{[]string{"/session/" + idB + "/traces", "/v1/session/" + idB + "/traces"}, `{"logs":[` + ev + `]}`, `{"success":true}`, 1},
		{[]string{"/sessions/" + idB + "/events/batch", "/v1/sessions/" + idB + "/events/batch"}, `{"events":[` + ev + `]}`, `{"success":true}`, 1},
		{[]string{"/events/batch"}, `{"events":[]}`, `{"event_ids":[],"session_id":"","success":true}`, 0},
	} {
		for _, path := range tt.paths {
			r.traces.Reset()
			got := post(t, r.apiURL+path, text(tt.body), "Authorization", "Bearer ingest")
			if got.status != http.StatusOK || got.body != tt.answer || got.header.Get("Content-Type") != "application/json" {
				t.Errorf("%s %.60s: %d %s", path, tt.body, got.status, got.body)
			}
			events := r.events(t)
			if len(events) != tt.events {
				t.Errorf("%s %.60s: %d events", path, tt.body, len(events))
			}
			for _, e := range events {
				if e.SessionID.String() != idB {
					t.Errorf("%s: session %s", path, e.SessionID)
				}
			}
			for _, td := range r.traces.AllTraces() {
				if v, _ := td.ResourceSpans().At(0).Resource().Attributes().Get(project.AttrProjectID); v.Str() != "p-acme" {
					t.Errorf("%s: project %q", path, v.Str())
				}
			}
		}
	}
}

func TestSessionStartAnswersWhatIsStored(t *testing.T) {
	r := start(t, options{})
	id := uuid.MustParse(idA)
	r.api.stored[id] = event.Event{ID: id, SessionID: id, Type: event.TypeSession, Name: "stored", Source: "s", Metadata: json.RawMessage(`{"merged":true}`)}
	for _, path := range []string{"/session/start", "/v1/session/start", "/sessions", "/v1/sessions"} {
		for key, name := range map[string]string{"Bearer full": "stored", "": "stored", "Bearer ingest": "sent"} { // nobody: the default project answers
			got := post(t, r.apiURL+path, text(`{"session":{"session_id":"`+idA+`","session_name":"sent"}}`), "Authorization", key)
			var answer map[string]any
			if err := json.Unmarshal([]byte(got.body), &answer); err != nil {
				t.Fatalf("%s: %d %s: %v", path, got.status, got.body, err)
			}
			for k, want := range map[string]any{
				"event_id": idA, "session_id": idA, "event_name": name, "event_type": "session",
				"org_id": "o-1", "workspace_id": "w-1", "project_id": "p-acme",
			} {
				if answer[k] != want {
					t.Errorf("%s: %s is %v, want %v", path, k, answer[k], want)
				}
			}
			if strings.Contains(got.body, "null") {
				t.Errorf("%s: a null in %s", path, got.body)
			}
		}
	}
	got := post(t, r.apiURL+"/session/start", text(``), "Authorization", "Bearer ingest")
	if got.status != 200 || !strings.Contains(got.body, `"event_name":"unknown"`) {
		t.Errorf("what cannot be read back: %+v", got)
	}
}

// Published clients name the project everywhere, also where the key decides.
func TestNativeWritesAcceptTheProjectAsParameter(t *testing.T) {
	r := start(t, options{})
	got := post(t, r.apiURL+"/v1/events?project=p&tenant=t", text(`{"event_type":"tool","inputs":{}}`), "Authorization", "Bearer ingest")
	if got.status != 200 || r.traces.SpanCount() != 1 {
		t.Errorf("%d %s, %d spans", got.status, got.body, r.traces.SpanCount())
	}
}

func TestNativeErrors(t *testing.T) {
	r := start(t, options{})
	r.api.maxBody = 4 << 10
	good := `{"event_type":"tool","inputs":{}}`
	for _, tt := range []struct {
		name, path, body, key string
		fail                  error
		status                int
		want                  string // in the body
	}{
		{"not JSON", "/events", `{`, "ingest", nil, 400, `"errorCode":"VALIDATION_ERROR"`},
		{"a missing field", "/v1/events", `{"event_type":"tool"}`, "ingest", nil, 400, `"message":"inputs: is required`},
		{"strict", "/v1/events/batch", `{"events":[` + good + `,{"event_type":"tool","inputs":{},"project":"p"}]}`, "ingest", nil, 400, `events[1].project`},
		{"a parameter", "/events?sync=true", good, "ingest", nil, 400, `unknown parameter \"sync\"; none is allowed here`},
		{"a parameter of a batch", "/v1/events/batch?strict=1", `{"events":[` + good + `]}`, "ingest", nil, 400, `unknown parameter`},
		{"a parameter of a session", "/session/start?name=x", `{}`, "ingest", nil, 400, `unknown parameter`},
		{"half a batch", "/events/batch", `{"events":[` + good + `,{}]}`, "ingest", nil, 400, `events[1].event_type`},
		{"a session that is not a UUID", "/session/mine/traces", `{}`, "ingest", nil, 400, `session_id`},
		{"a key that only reads", "/events", good, "read", nil, 403, `"errorCode":"FORBIDDEN"`},
		{"too large", "/events", strings.Repeat(" ", 8<<10) + good, "ingest", nil, 413, `"errorCode":"PAYLOAD_TOO_LARGE"`},
		{"invalid downstream", "/events", good, "ingest", verdict.Pipeline(fault.InvalidField("inputs", "no")), 400, `"message":"inputs: no"`},
		{"invalid by status", "/events", good, "ingest", consumererror.NewPermanent(status.Error(codes.InvalidArgument, "told so")), 400, `told so`},
		{"conflict", "/events", good, "ingest", verdict.Pipeline(fault.New(fault.Conflict, "taken")), 409, `"errorCode":"CONFLICT"`},
		{"busy", "/events", good, "ingest", verdict.Pipeline(fault.New(fault.Unavailable, "busy")), 503, `"errorCode":"UNAVAILABLE"`},
		{"over the memory limit", "/events", good, "ingest", fmt.Errorf("data refused due to high memory usage"), 503, `"errorCode":"UNAVAILABLE"`},
		{"exhausted", "/events", good, "ingest", status.Error(codes.ResourceExhausted, "slow down"), 503, `slow down`},
		{"a bare permanent error", "/events", good, "ingest", consumererror.NewPermanent(fmt.Errorf("secret")), 500, `"message":"internal error"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r.traces.Reset()
			r.fail = tt.fail
			got := post(t, r.apiURL+tt.path, text(tt.body), "Authorization", "Bearer "+tt.key)
			if got.status != tt.status || !strings.Contains(got.body, tt.want) || !strings.Contains(got.body, `"success":false`) {
				t.Errorf("%d %s", got.status, got.body)
			}
			if (got.header.Get("Retry-After") != "") != (tt.status == 503) {
				t.Errorf("Retry-After %q", got.header.Get("Retry-After"))
			}
			if r.traces.SpanCount() != 0 {
				t.Error("something was pushed")
			}
		})
	}
}
