package event

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

func TestCorrectAndRestore(t *testing.T) {
	t.Parallel()
	original := uuid.MustParse("6b0f2c1e-0f5d-4d53-9a52-0d1f4a3f8a11")
	const mark = `"duplicate_of":"6b0f2c1e-0f5d-4d53-9a52-0d1f4a3f8a11"`
	for _, tt := range []struct {
		name, sent string
		wrapper    bool
		duplicate  uuid.UUID
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
		{"duplicate", `{"a":1}`, false, original, `{"a":1,` + mark + `}`, ""},
		{"inside the event that reports its call", `{"a":1,"cost_source":"computed"}`, true, original,
			`{"a":1,` + mark + `,"aggregate_usage":{"cost_source":"computed"}}`, `{"a":1,"cost_source":"computed"}`},
		{"said by its sender", `{"duplicate_of":null}`, false, original, `{"duplicate_of":null}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := Event{Type: TypeModel, Metadata: json.RawMessage(tt.sent)}
			e.Correct(Correction{Wrapper: tt.wrapper, DuplicateOf: tt.duplicate})
			if tt.wrapper != (e.Type == TypeChain) || string(e.Metadata) != tt.want {
				t.Errorf("corrected to %s %s, want %s", e.Type, e.Metadata, tt.want)
			}
			once := e
			e.Restore()
			if want := max(tt.back, tt.sent); tt.back != "" && string(e.Metadata) != tt.back || tt.back == "" && string(e.Metadata) != tt.sent || e.Type != TypeModel {
				t.Errorf("restored to %s %s, want %s", e.Type, e.Metadata, want)
			}
			e.Correct(Correction{Wrapper: tt.wrapper, DuplicateOf: tt.duplicate})
			if d := cmp.Diff(once, e); d != "" {
				t.Errorf("corrected again (-once +again)\n%s", d)
			}
		})
	}
	for _, typ := range []Type{TypeTool, TypeChain, TypeGeneric, TypeSession} {
		e := Event{Type: typ, Metadata: json.RawMessage(`{"cost":1}`)}
		e.Correct(Correction{Wrapper: true, DuplicateOf: original})
		if e.Type != typ || string(e.Metadata) != `{"cost":1}` {
			t.Errorf("%s became %s %s", typ, e.Type, e.Metadata)
		}
	}
}
