package event

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

func TestCorrectAndRestore(t *testing.T) {
	t.Parallel()
	twin := uuid.MustParse("6b0f2c1e-0f5d-4d53-9a52-0d1f4a3f8a11")
	const mark = `"duplicate_of":"6b0f2c1e-0f5d-4d53-9a52-0d1f4a3f8a11"`
	for _, tt := range []struct {
		name, sent string
		wrapper    bool
		twin       uuid.UUID
		want, back string // back: as it is restored, if not as sent
	}{
		{"nothing", `{"a":1}`, false, uuid.Nil, `{"a":1}`, ""},
		{"wrapper without counts", `{"a":1}`, true, uuid.Nil, `{"a":1}`, ""},
		{"wrapper", `{"a":1,"prompt_tokens":3,"input_tokens":3,"total_tokens":9,"b":2}`, true, uuid.Nil,
			`{"a":1,"b":2,"aggregate_usage":{"prompt_tokens":3,"total_tokens":9}}`, `{"a":1,"b":2,"prompt_tokens":3,"input_tokens":3,"total_tokens":9}`},
		{"two names that differ", `{"prompt_tokens":3,"input_tokens":4}`, true, uuid.Nil, `{"aggregate_usage":{"prompt_tokens":3,"input_tokens":4}}`, `{"prompt_tokens":3,"input_tokens":4}`},
		{"reported cost", `{"cost":1.50,"cost_source":"reported"}`, true, uuid.Nil, `{"aggregate_usage":{"cost":1.50}}`, ""},
		{"computed cost", `{"cost":1.50,"cost_source":"computed"}`, true, uuid.Nil, `{"aggregate_usage":{"cost":1.50,"cost_source":"computed"}}`, ""},
		{"an aggregate of the sender's own", `{"aggregate_usage":{"x":1},"cost":1,"cost_source":"c"}`, true, uuid.Nil,
			`{"aggregate_usage":{"cost":1,"cost_source":"c","x":1}}`, `{"cost":1,"cost_source":"c","aggregate_usage":{"x":1}}`},
		{"twin", `{"a":1}`, false, twin, `{"a":1,` + mark + `}`, ""},
		{"inside the event that tells its call", `{"a":1,"cost_source":"computed"}`, true, twin,
			`{"a":1,` + mark + `,"aggregate_usage":{"cost_source":"computed"}}`, `{"a":1,"cost_source":"computed"}`},
		{"said by its sender", `{"duplicate_of":null}`, false, twin, `{"duplicate_of":null}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := Event{Type: TypeModel, Metadata: json.RawMessage(tt.sent)}
			e.Correct(Correction{Wrapper: tt.wrapper, DuplicateOf: tt.twin})
			if tt.wrapper != (e.Type == TypeChain) || string(e.Metadata) != tt.want {
				t.Errorf("corrected to %s %s, want %s", e.Type, e.Metadata, tt.want)
			}
			once := e
			e.Restore()
			if want := max(tt.back, tt.sent); tt.back != "" && string(e.Metadata) != tt.back || tt.back == "" && string(e.Metadata) != tt.sent || e.Type != TypeModel {
				t.Errorf("restored to %s %s, want %s", e.Type, e.Metadata, want)
			}
			e.Correct(Correction{Wrapper: tt.wrapper, DuplicateOf: tt.twin})
			if d := cmp.Diff(once, e); d != "" {
				t.Errorf("corrected again (-once +again)\n%s", d)
			}
		})
	}
	for _, typ := range []Type{TypeTool, TypeChain, TypeGeneric, TypeSession} {
		e := Event{Type: typ, Metadata: json.RawMessage(`{"cost":1}`)}
		e.Correct(Correction{Wrapper: true, DuplicateOf: twin})
		if e.Type != typ || string(e.Metadata) != `{"cost":1}` {
			t.Errorf("%s became %s %s", typ, e.Type, e.Metadata)
		}
	}
}

func TestAccounts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		parent []int32
		models string // M: model call, T: one with tools, C: one with messages
		want   string // W: wrapper, I: inner
		of     []int32
	}{
		{"none", nil, "", "", nil},
		{"alone", []int32{-1}, "M", ".", []int32{-1}},
		{"through others", []int32{-1, 0, 1}, "M.M", "W..", []int32{2, -1, -1}},
		{"children first", []int32{1, 2, -1}, "M.M", "..W", []int32{-1, -1, 0}},
		{"beside", []int32{-1, 0, 0}, ".MM", "...", []int32{-1, -1, -1}},
		{"three deep", []int32{-1, 0, 1}, "MMM", "WW.", []int32{2, 2, -1}},
		{"two branches", []int32{-1, 0, 0, 1, 2}, "MMMMM", "WWW..", []int32{-1, 3, 4, -1, -1}},
		{"a gap", []int32{-1, -1}, "MM", "..", []int32{-1, -1}},
		{"its own parent", []int32{0}, "M", ".", []int32{-1}},
		{"a cycle begins at its earliest", []int32{1, 0}, "MM", "W.", []int32{1, -1}},
		{"below a cycle", []int32{1, 0, 1}, ".MM", ".W.", []int32{-1, 2, -1}},
		{"content outside", []int32{-1, 0}, "CM", ".I", []int32{-1, 0}},
		{"content inside", []int32{-1, 0}, "MC", "W.", []int32{1, -1}},
		{"content in both", []int32{-1, 0}, "CC", "W.", []int32{1, -1}},
		{"content in the middle", []int32{-1, 0, 1, 2}, "MC.M", "W..I", []int32{1, -1, -1, 1}},
		{"content around several", []int32{-1, 0, 0, 2}, "CM.M", ".I.I", []int32{-1, 0, -1, 0}},
		{"content around one with and one without", []int32{-1, 0, 0}, "CMC", "W..", []int32{-1, -1, -1}},
		{"messages before tools", []int32{-1, 0, 1}, "CTM", ".II", []int32{-1, 0, 0}},
		{"tools before nothing", []int32{-1, 0, 1}, "MTM", "W.I", []int32{1, -1, 1}},
		{"tools inside messages", []int32{-1, 0, 1}, "TCT", "W.I", []int32{1, -1, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spans := make([]Span, len(tt.models))
			for i := range spans {
				spans[i] = Span{tt.parent[i], tt.models[i] != '.', map[byte]Content{'T': ToolsOnly, 'C': Messages}[tt.models[i]]}
			}
			got := ""
			var of []int32
			for _, a := range Accounts(spans, func(a, b int32) bool { return a < b }) {
				switch {
				case a.Inner && a.Wrapper:
					got += "I"
				case a.Wrapper:
					got += "W"
				default:
					got += "."
				}
				of = append(of, a.Of)
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if d := cmp.Diff(tt.of, of); d != "" {
				t.Errorf("stands for the call (-want +got)\n%s", d)
			}
		})
	}
}

func TestContent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		e    Event
		want Content
	}{
		{Event{}, NoContent},
		{Event{Inputs: json.RawMessage(`{"chat_history":[]}`), Outputs: json.RawMessage(`{"role":"assistant","finish_reason":"stop","content":null}`),
			Config: json.RawMessage(`{"model":"m","tools":[]}`)}, NoContent},
		{Event{Config: json.RawMessage(`{"tools":[{"name":"f"}]}`)}, ToolsOnly},
		{Event{Inputs: json.RawMessage(`{"chat_history":[{"role":"user"}]}`), Config: json.RawMessage(`{"tools":[{"name":"f"}]}`)}, Messages},
		{Event{Inputs: json.RawMessage(`{"a":"","b":[ ],"c":{ },"d":null}`)}, NoContent},
		{Event{Inputs: json.RawMessage(`{"a":[ ],"b":{"x":1}}`)}, Messages},
		{Event{Inputs: json.RawMessage(`{"a\"b":[1]}`)}, Messages},
		{Event{Inputs: json.RawMessage(`{ "a" : "x" }`)}, Messages},
		{Event{Inputs: json.RawMessage(`{"a":0}`)}, Messages},
		{Event{Inputs: json.RawMessage(`{"a":"x"}`)}, Messages},
		{Event{Outputs: json.RawMessage(`{"role":"assistant","content":"Yes."}`)}, Messages},
		{Event{Outputs: json.RawMessage(`"Yes."`)}, Messages},
	} {
		if got := tt.e.Content(); got != tt.want {
			t.Errorf("inputs %s, outputs %s, config %s: got %d, want %d", tt.e.Inputs, tt.e.Outputs, tt.e.Config, got, tt.want)
		}
	}
}

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
		{"two that tell it: the first", `{"a":1}`, [][]Known{{know(`{"cost":1}`, ``)}, {know(`{"cost":2,"total_tokens":5}`, ``)}}, `{"a":1,"total_tokens":5,"cost":1}`, ``,
			`["metadata.cost","metadata.total_tokens"]`},
		{"several that each tell a part", `{"a":1}`, [][]Known{{know(`{"total_tokens":1,"cost":0.25,"response_id":"r1"}`, ``), know(`{"total_tokens":2,"response_id":"r2"}`, ``)}},
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
				t.Error("it tells what it was told")
			}
			e.Restore()
			if !e.Same(&sent) && tt.config == "" {
				t.Errorf("restored: %s %s %s", e.Metadata, e.Config, e.ColdMetadata)
			}
		})
	}
}

func TestTwins(t *testing.T) {
	t.Parallel()
	call := func(id byte, scope uint32, end float64, depth int) Call {
		return Call{ID: uuid.UUID{id}, Scope: scope, End: end, Depth: func() int { return depth }}
	}
	full := func(c Call) Call {
		c.Content = Messages
		return c
	}
	for _, tt := range []struct {
		name  string
		calls []Call
		want  []byte // of which it is a duplicate
	}{
		{"later ended", []Call{call(1, 1, 9, 0), call(2, 2, 5, 0)}, []byte{2, 0}},
		{"at once: the deeper counts", []Call{call(1, 1, 5, 1), call(2, 2, 5, 2)}, []byte{2, 0}},
		{"else the smaller id", []Call{call(2, 1, 5, 1), call(1, 2, 5, 1)}, []byte{1, 0}},
		{"one instrumentor", []Call{call(1, 1, 5, 0), call(2, 1, 6, 0)}, []byte{0, 0}},
		{"three instrumentors", []Call{call(1, 1, 5, 0), call(2, 2, 6, 0), call(3, 3, 7, 0)}, []byte{0, 1, 1}},
		{"pairs", []Call{call(1, 1, 1, 0), call(2, 2, 2, 0), call(3, 1, 3, 0), call(4, 2, 4, 0)}, []byte{0, 1, 0, 3}},
		{"content before time", []Call{full(call(1, 1, 9, 0)), call(2, 2, 5, 0)}, []byte{0, 1}},
		{"content in both", []Call{full(call(1, 1, 9, 0)), full(call(2, 2, 5, 0))}, []byte{2, 0}},
		{"the first with content of three", []Call{call(1, 1, 5, 0), full(call(2, 2, 6, 0)), full(call(3, 3, 7, 0))}, []byte{2, 0, 2}},
		{"pairs, content once in each", []Call{call(1, 1, 1, 0), full(call(2, 2, 2, 0)), full(call(3, 1, 3, 0)), call(4, 2, 4, 0)}, []byte{2, 0, 0, 3}},
		{"one more than pairs", []Call{call(1, 1, 1, 0), call(2, 1, 2, 0), call(3, 2, 3, 0), call(4, 2, 4, 0), call(5, 2, 5, 0)}, []byte{0, 0, 1, 2, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []byte
			for _, id := range DuplicatesOf(tt.calls) {
				got = append(got, id[0])
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}
