package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/wire"
)

var (
	sessionID = uuid.MustParse("11111111-1111-4111-8111-111111111111")
	eventID   = uuid.MustParse("22222222-2222-4222-8222-222222222222")
	shop      = &project.Project{ID: 7, PublicID: "prj_1", OrgID: "org_1", WorkspaceID: "ws_1", Name: "shop"}
)

func TestAppendEvent(t *testing.T) {
	t.Parallel()
	errorText := `no "luck"`
	const whose = `"project":"shop","project_id":"prj_1","org_id":"org_1","workspace_id":"ws_1","tenant":"org_1"`
	for _, tt := range []struct {
		name string
		e    event.Event
		want string
	}{
		{
			"everything, digit for digit",
			event.Event{
				ID: eventID, SessionID: sessionID, ParentID: sessionID, Type: event.TypeModel, Name: "chat", Source: "dev",
				Error: &errorText, Start: 1795213764357.25, End: 1795213764359, Duration: 1.75,
				ChildrenIDs: json.RawMessage(`["a"]`), Config: json.RawMessage(`{"t":1.0}`),
				Inputs: json.RawMessage(`{"n":9007199254740993}`), Outputs: json.RawMessage(`[1,"x"]`),
				Metadata: json.RawMessage(`{"b":1,"a":2}`), Metrics: json.RawMessage(`{"m":1e2}`),
				Feedback: json.RawMessage(`{"f":null}`), UserProperties: json.RawMessage(`{"u":"v"}`),
			},
			`{"event_id":"22222222-2222-4222-8222-222222222222","session_id":"11111111-1111-4111-8111-111111111111",` +
				`"parent_id":"11111111-1111-4111-8111-111111111111","event_type":"model","event_name":"chat","source":"dev",` +
				`"error":"no \"luck\"","start_time":1795213764357.25,"end_time":1795213764359,"duration":1.75,` + whose +
				`,"children_ids":["a"],"config":{"t":1.0},"inputs":{"n":9007199254740993},"outputs":[1,"x"],` +
				`"metadata":{"b":1,"a":2},"metrics":{"m":1e2},"feedback":{"f":null},"user_properties":{"u":"v"}}`,
		},
		{
			"a bare session: nothing is null",
			event.Event{ID: sessionID, SessionID: sessionID, Type: event.TypeSession, Name: "unknown", Source: "unknown", Start: 5, End: 5},
			`{"event_id":"11111111-1111-4111-8111-111111111111","session_id":"11111111-1111-4111-8111-111111111111",` +
				`"event_type":"session","event_name":"unknown","source":"unknown","start_time":5,"end_time":5,"duration":0,` + whose +
				`,"children_ids":[],"config":{},"inputs":{},"outputs":{},"metadata":{},"metrics":{},"feedback":{},"user_properties":{}}`,
		},
		{
			"null outputs are left out",
			event.Event{ID: eventID, SessionID: sessionID, ParentID: sessionID, Type: event.TypeTool, Outputs: json.RawMessage("null")},
			`{"event_id":"22222222-2222-4222-8222-222222222222","session_id":"11111111-1111-4111-8111-111111111111",` +
				`"parent_id":"11111111-1111-4111-8111-111111111111","event_type":"tool","event_name":"","source":"",` +
				`"start_time":0,"end_time":0,"duration":0,` + whose +
				`,"children_ids":[],"config":{},"inputs":{},"metadata":{},"metrics":{},"feedback":{},"user_properties":{}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := wire.AppendEvent(nil, &tt.e, shop)
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if !json.Valid(got) {
				t.Errorf("not JSON: %s", got)
			}
		})
	}
}
