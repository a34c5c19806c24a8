package dataset

import (
	"encoding/json"
	"fmt"
	"testing"
)

func show(p Datapoint) string {
	return fmt.Sprintf("%s %s %s %s", p.Inputs, p.History, p.GroundTruth, p.Metadata)
}

func TestRows(t *testing.T) {
	t.Parallel()
	m := Mapping{Inputs: []string{"q", "both", "q"}, History: []string{"chat", "also"}, GroundTruth: []string{"a", "both", "deep.key"}}
	for _, tt := range []struct{ row, want string }{
		{`{}`, `{} [] {} {}`},
		{`{"q":9007199254740993,"a":{"x":1.50},"rest":null}`, `{"q":9007199254740993} [] {"a":{"x":1.50}} {"rest":null}`},
		{`{"both":[1],"chat":[{"role":"user"},"hi",[]],"also":{"role":"bot"}}`, `{"both":[1]} [{"role":"user"},{"chat":"hi"},{"chat":[]},{"role":"bot"}] {"both":[1]} {}`},
		{`{"q":null,"chat":null,"also":7}`, `{"q":null} [{"also":7}] {} {}`},
		{`{"deep":{"key":1},"deep.key":2}`, `{} [] {"deep.key":2} {"deep":{"key":1}}`},
	} {
		if got := show(m.Rows()(json.RawMessage(tt.row))); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.row, got, tt.want)
		}
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	const event = `{"event_id":"e","event_name":"n","inputs":{"q":1,"list":[{"x":2}],"null":null,"a.b":3},"outputs":"text","metadata":{"a":{"b":null},"a.b":4,"test.unique_id":"u1","resource":{"sdk.language":"go"}}}`
	for _, tt := range []struct {
		m    Mapping
		want string
	}{
		{Mapping{}, `{"q":1,"list":[{"x":2}],"null":null,"a.b":3} [] {"outputs":"text"} {}`},
		{Mapping{Inputs: []string{"inputs.q", "inputs.list.0.x", "event_name"}}, `{"q":1,"x":2,"event_name":"n"} [] {} {}`},
		{Mapping{Inputs: []string{"metadata.test.unique_id", "metadata.resource.sdk.language"}}, `{"unique_id":"u1","language":"go"} [] {} {}`},
		{Mapping{Inputs: []string{"inputs.a.b", "inputs.null", "inputs.list.1.x"}, GroundTruth: []string{"metadata.a.b", "outputs"}}, `{"b":3} [] {"b":4,"outputs":"text"} {}`},
		{Mapping{History: []string{"inputs.list", "outputs", "inputs.none"}}, `{} [{"x":2},{"outputs":"text"}] {} {}`},
	} {
		p := tt.m.FromEvent("e", json.RawMessage(event))
		if got := show(p); got != tt.want || p.LinkedEvent != "e" {
			t.Errorf("%+v:\n got %s of %q\nwant %s", tt.m, got, p.LinkedEvent, tt.want)
		}
	}
	object := (&Mapping{}).FromEvent("e", json.RawMessage(`{"inputs":{},"outputs":{"a":1}}`))
	if got, want := show(object), `{} [] {"a":1} {}`; got != want {
		t.Errorf("outputs that are an object: %s, want %s", got, want)
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		m    Mapping
		want string
	}{
		{Mapping{}, ""},
		{Mapping{Inputs: []string{"a.x", "b.y", "a.x"}, GroundTruth: []string{"c.x"}, History: []string{"a.x", "b.x"}}, ""},
		{Mapping{Inputs: []string{"a", ""}}, `inputs[1]: "" is not a path such as inputs.question`},
		{Mapping{History: []string{".a"}}, `history[0]: ".a" is not a path such as inputs.question`},
		{Mapping{GroundTruth: []string{"a.x", "b", "b.x"}}, `ground_truth[2]: ends in the same key as "a.x"`},
	} {
		got := ""
		if err := tt.m.CheckPaths(); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.m, got, tt.want)
		}
	}
}

// FuzzMapping holds that whatever stands in a row, its parts are JSON of the kinds they must be.
func FuzzMapping(f *testing.F) {
	f.Add(`{"q":1,"chat":[1,{"a":"\u00e9"}]}`, "q", "chat")
	f.Add(`{"a":{"b":[0]}}`, "a.b.0", "a.b")
	f.Fuzz(func(t *testing.T, row, entry, other string) {
		if !json.Valid([]byte(row)) {
			return
		}
		m := Mapping{Inputs: []string{entry, other}, History: []string{other}, GroundTruth: []string{entry}}
		check := func(p Datapoint) {
			var object map[string]any
			var list []map[string]any
			for _, part := range []json.RawMessage{p.Inputs, p.GroundTruth, p.Metadata} {
				if err := json.Unmarshal(part, &object); err != nil {
					t.Fatalf("%s of %q: %v", part, row, err)
				}
			}
			if err := json.Unmarshal(p.History, &list); err != nil {
				t.Fatalf("%s of %q: %v", p.History, row, err)
			}
		}
		if row[0] == '{' {
			check(m.Rows()(json.RawMessage(row)))
		}
		if m.CheckPaths() == nil {
			check(m.FromEvent("e", json.RawMessage(row)))
		}
	})
}
