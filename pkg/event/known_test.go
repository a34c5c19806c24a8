package event

import (
	"encoding/json"
	"testing"
)

func TestFilledFromDuplicates(t *testing.T) {
	t.Parallel()
	know := func(metadata, config string) Known {
		return (&Event{Type: TypeModel, Metadata: json.RawMessage(metadata), Config: json.RawMessage(config)}).Known()
	}
	for _, tt := range []struct {
		name         string
		metadata     string
		accounts     [][]Known
		want, config string
		fields       string
	}{
		{"nothing known", `{"a":1}`, [][]Known{{know(`{"b":2}`, `{"temperature":1}`)}}, `{"a":1}`, ``, ``},
		{"tokens, cost, id and model", `{"a":1}`, [][]Known{{know(`{"prompt_tokens":3,"input_tokens":3,"cost":0.5,"cost_source":"computed","response_id":"r","b":2}`, `{"model":"m"}`)}},
			`{"a":1,"prompt_tokens":3,"input_tokens":3,"cost":0.5,"cost_source":"computed","response_id":"r"}`, `{"model":"m"}`,
			`["config.model","metadata.cost","metadata.cost_source","metadata.input_tokens","metadata.prompt_tokens","metadata.response_id"]`},
		{"tokens of its own", `{"completion_tokens":4}`, [][]Known{{know(`{"prompt_tokens":3,"reasoning_tokens":1}`, ``)}},
			`{"completion_tokens":4,"reasoning_tokens":1}`, ``, `["metadata.reasoning_tokens"]`},
		{"two that report it: the first", `{"a":1}`, [][]Known{{know(`{"cost":1}`, ``)}, {know(`{"cost":2,"total_tokens":5}`, ``)}}, `{"a":1,"total_tokens":5,"cost":1}`, ``,
			`["metadata.cost","metadata.total_tokens"]`},
		{"several that each report a part", `{"a":1}`, [][]Known{{know(`{"total_tokens":1,"cost":0.25,"response_id":"r1"}`, ``), know(`{"total_tokens":2,"response_id":"r2"}`, ``)}},
			`{"a":1,"total_tokens":3,"cost":0.25}`, ``, `["metadata.cost","metadata.total_tokens"]`},
		{"the answer's model, which stands with what is read seldom", `{"a":1}`,
			[][]Known{{(&Event{Type: TypeModel, ColdMetadata: json.RawMessage(`{"response_model":"m-1","scope":{}}`)}).Known()}},
			`{"a":1,"response_model":"m-1"}`, ``, `["metadata.response_model"]`},
		{"several models", `{"a":1}`, [][]Known{{know(`{"response_model":"m"}`, ``), know(`{"response_model":"n"}`, ``)}}, `{"a":1}`, ``, ``},
		{"a name of the sender's", `{"from_duplicates":0}`, [][]Known{{know(`{"cost":1}`, ``)}}, `{"from_duplicates":0}`, ``, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := Event{Type: TypeModel, Metadata: json.RawMessage(tt.metadata), ColdMetadata: json.RawMessage(`{"x":1}`)}
			sent := e
			check := func(what string) {
				t.Helper()
				fields := string(e.ColdMetadata)
				if tt.fields != "" {
					fields = `{"x":1,"from_duplicates":` + tt.fields + `}`
				}
				if string(e.Metadata) != tt.want || string(e.Config) != tt.config || string(e.ColdMetadata) != fields || e.Filled != (tt.fields != "") {
					t.Errorf("%s: %s %s %s", what, e.Metadata, e.Config, e.ColdMetadata)
				}
			}
			e.Correct(Correction{Known: JoinKnown(tt.accounts)})
			check("filled")
			e.Recorrect(Correction{}, true)
			check("kept")
			e.Apply(&Update{Metadata: json.RawMessage(`{}`)})
			check("updated")
			if tt.fields != "" && string(e.Known().Metadata) == string(JoinKnown(tt.accounts).Metadata) {
				t.Error("it reports what it was given")
			}
			e.Restore()
			if !e.Same(&sent) && tt.config == "" {
				t.Errorf("restored: %s %s %s", e.Metadata, e.Config, e.ColdMetadata)
			}
		})
	}
}
