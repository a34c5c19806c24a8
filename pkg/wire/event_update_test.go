package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/wire"
)

func TestDecodeUpdate(t *testing.T) {
	t.Parallel()
	number := func(f float64) *float64 { return &f }
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	const id = `"event_id":"22222222-2222-4222-8222-222222222222"`
	for _, tt := range []struct {
		name, body string
		path       uuid.UUID
		want       event.Update
	}{
		{"everything", `{` + id + `,"inputs":{"i":1},"config":{"c":1},"metadata":{"m":null},"metrics":{"s":1.0},"feedback":{"f":1},` +
			`"user_properties":{"u":1},"outputs":{"o":9007199254740993},"duration":1.5,"end_time":1795213764357.0,"children_ids":["a"],"unknown":{"x":1}}`,
			uuid.Nil, event.Update{
				EventID: eventID, Inputs: raw(`{"i":1}`), Config: raw(`{"c":1}`), Metadata: raw(`{"m":null}`), Metrics: raw(`{"s":1.0}`),
				Feedback: raw(`{"f":1}`), UserProperties: raw(`{"u":1}`), Outputs: raw(`{"o":9007199254740993}`),
				Duration: number(1.5), EndTime: number(1795213764357), ChildrenIDs: raw(`["a"]`),
			}},
		{"outputs may be a scalar", `{` + id + `,"outputs":"done"}`, uuid.Nil, event.Update{EventID: eventID, Outputs: raw(`"done"`)}},
		{"outputs may be an array", `{` + id + `,"outputs":[1]}`, uuid.Nil, event.Update{EventID: eventID, Outputs: raw(`[1]`)}},
		{"null is left out", `{` + id + `,"outputs":null,"metadata":null,"duration":null,"children_ids":null}`, uuid.Nil, event.Update{EventID: eventID}},
		{"the id of the path", ``, eventID, event.Update{EventID: eventID}},
		{"the id of the path, not that of the body", `{"event_id":"x","metrics":{"a":1}}`, eventID, event.Update{EventID: eventID, Metrics: raw(`{"a":1}`)}},
		{"a byte order mark", "\xef\xbb\xbf{" + id + "}", uuid.Nil, event.Update{EventID: eventID}},
		{"what cannot be stored is marked", `{` + id + `,"feedback":{"f":"a\u0000b"}}`, uuid.Nil,
			event.Update{EventID: eventID, Feedback: raw("{\"f\":\"a\uFFFDb\"}"), Metadata: raw(`{"replaced_characters":1}`)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := wire.DecodeUpdate([]byte(tt.body), tt.path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestDecodeUpdateRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ body, message string }{
		{``, "event_id: is required"},
		{`{"metadata":{}}`, "event_id: is required"},
		{`{"event_id":5}`, "event_id: must be a UUID"},
		{`{"event_id":"no"}`, `event_id: "no" is not a UUID`},
		{`{"event_id":"00000000-0000-0000-0000-000000000000"}`, "event_id: "},
		{`[]`, "the body must be a JSON object, not an array"},
		{`{"metadata":`, "the body is not valid JSON"},
		{`{"inputs":[]}`, "inputs: must be an object, not an array"},
		{`{"config":"x"}`, "config: must be an object"},
		{`{"metadata":1}`, "metadata: must be an object"},
		{`{"metrics":true}`, "metrics: must be an object"},
		{`{"feedback":"x"}`, "feedback: must be an object"},
		{`{"user_properties":[]}`, "user_properties: must be an object"},
		{`{"duration":"5"}`, "duration: must be a number"},
		{`{"duration":-1}`, "duration: must be milliseconds"},
		{`{"end_time":1e300}`, "end_time: must be milliseconds"},
		{`{"children_ids":{}}`, "children_ids: must be an array"},
		{`{"children_ids":["a",2]}`, "children_ids[1]: must be a string"},
		{`{"metrics":{"a":1e999}}`, "the body is number outside the range of a double"},
	} {
		t.Run(tt.body, func(t *testing.T) {
			t.Parallel()
			_, err := wire.DecodeUpdate([]byte(tt.body), uuid.Nil)
			if err == nil || fault.Of(err) != fault.Invalid || !strings.HasPrefix(err.Error(), tt.message) {
				t.Errorf("got %v; want %s", err, tt.message)
			}
		})
	}
}
