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
		{"a wrapper is no twin", `{"a":1,"cost_source":"computed"}`, true, twin, `{"a":1,"aggregate_usage":{"cost_source":"computed"}}`, ""},
		{"said by its sender", `{"duplicate_of":null}`, false, twin, `{"duplicate_of":null}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := Event{Type: TypeModel, Metadata: json.RawMessage(tt.sent)}
			e.Correct(tt.wrapper, tt.twin)
			if tt.wrapper != (e.Type == TypeChain) || string(e.Metadata) != tt.want {
				t.Errorf("corrected to %s %s, want %s", e.Type, e.Metadata, tt.want)
			}
			once := e
			e.Restore()
			if want := max(tt.back, tt.sent); tt.back != "" && string(e.Metadata) != tt.back || tt.back == "" && string(e.Metadata) != tt.sent || e.Type != TypeModel {
				t.Errorf("restored to %s %s, want %s", e.Type, e.Metadata, want)
			}
			e.Correct(tt.wrapper, tt.twin)
			if d := cmp.Diff(once, e); d != "" {
				t.Errorf("corrected again (-once +again)\n%s", d)
			}
		})
	}
	for _, typ := range []Type{TypeTool, TypeChain, TypeGeneric, TypeSession} {
		e := Event{Type: typ, Metadata: json.RawMessage(`{"cost":1}`)}
		e.Correct(true, twin)
		if e.Type != typ || string(e.Metadata) != `{"cost":1}` {
			t.Errorf("%s became %s %s", typ, e.Type, e.Metadata)
		}
	}
}

func TestWrappers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		parent []int32
		models string // M: model call
		want   string // W: wrapper
	}{
		{"none", nil, "", ""},
		{"alone", []int32{-1}, "M", "."},
		{"through others", []int32{-1, 0, 1}, "M.M", "W.."},
		{"children first", []int32{1, 2, -1}, "M.M", "..W"},
		{"beside", []int32{-1, 0, 0}, ".MM", "..."},
		{"three deep", []int32{-1, 0, 1}, "MMM", "WW."},
		{"two branches", []int32{-1, 0, 0, 1, 2}, "MMMMM", "WWW.."},
		{"a gap", []int32{-1, -1}, "MM", ".."},
		{"its own parent", []int32{0}, "M", "."},
		{"a cycle begins at its earliest", []int32{1, 0}, "MM", "W."},
		{"below a cycle", []int32{1, 0, 1}, ".MM", ".W."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			model := make([]bool, len(tt.models))
			for i := range tt.models {
				model[i] = tt.models[i] == 'M'
			}
			got := ""
			for _, w := range Wrappers(tt.parent, model, func(a, b int32) bool { return a < b }) {
				got += map[bool]string{true: "W", false: "."}[w]
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTwins(t *testing.T) {
	t.Parallel()
	call := func(id byte, scope uint32, end float64, depth int) Call {
		return Call{ID: uuid.UUID{id}, Scope: scope, End: end, Depth: func() int { return depth }}
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
		{"one more than pairs", []Call{call(1, 1, 1, 0), call(2, 1, 2, 0), call(3, 2, 3, 0), call(4, 2, 4, 0), call(5, 2, 5, 0)}, []byte{0, 0, 1, 2, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []byte
			for _, id := range Twins(tt.calls) {
				got = append(got, id[0])
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}
