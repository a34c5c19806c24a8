package wire

import (
	"encoding/json"
	"testing"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
)

// FuzzDecodeWrites holds for every decoder: no panic, errors are the sender's fault, and what
// is accepted is valid events whose fields are valid JSON.
func FuzzDecodeWrites(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `{"event":{"event_type":"tool","inputs":{}}}`, `{"event":"{\"event_type\":\"tool\",\"inputs\":{}}"}`,
		`{"session":{"session_name":"s","metadata":{"a":"\ud800"}}}`,
		`{"events":[{"event_type":"tool","inputs":{"a":"\u0000"},"event_id":"` + idA + `"}],"single_session":true,"session_properties":{"session_name":"n"}}`,
		`{"model_event":{"model":"m","provider":"p","messages":[{}],"response":{},"duration":1,"usage":{}}}`,
		`{"model_events":[{"model":"m","provider":"p","messages":[{}],"response":{},"duration":1,"usage":{}}]}`,
		`{"logs":[],"events":[{"event_type":"session","inputs":{},"inputs":{"b":1}}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		one := func(e event.Incoming, err error) { checkDecoded(t, []event.Incoming{e}, err) }
		all := func(b Batch, err error) { checkDecoded(t, b.Events, err) }
		one(DecodeEvent(body, arrival))
		one(DecodeModelEvent(body, arrival))
		one(DecodeSessionStart(body, arrival))
		all(DecodeBatch(body, Lenient, arrival))
		all(DecodeBatch(body, Strict, arrival))
		all(DecodeModelBatch(body, arrival))
		all(DecodeSessionTraces(body, idA, arrival))
		all(DecodeSessionEvents(body, idA, arrival))
	})
}

func checkDecoded(t *testing.T, events []event.Incoming, err error) {
	t.Helper()
	if err != nil {
		if fault.Of(err) != fault.Invalid {
			t.Fatalf("not the sender's fault: %v", err)
		}
		return
	}
	for _, e := range events {
		if err := e.Validate(); err != nil {
			t.Fatal(err)
		}
		for _, raw := range []json.RawMessage{e.Inputs, e.Outputs, e.Config, e.Metadata, e.Metrics, e.Feedback, e.UserProperties, e.ChildrenIDs} {
			if raw != nil && !json.Valid(raw) {
				t.Fatalf("not JSON: %q", raw)
			}
		}
	}
}
