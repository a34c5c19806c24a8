package event

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

func logPartAt(ms uint64, kind LogPartKind, content string) LogPart {
	return LogPart{Kind: kind, Nanos: ms * 1e6, Content: json.RawMessage(content)}
}

// shown returns what log parts can change of an event.
func shown(e *Event) string {
	errText := "-"
	if e.Error != nil {
		errText = *e.Error
	}
	cold := e.ColdMetadata
	return fmt.Sprintf("inputs %s\noutputs %s\nconfig %s\nmetadata %s\ncold %s\nmetrics %s\nerror %s", e.Inputs, e.Outputs, e.Config, e.Metadata, cold, e.Metrics, errText)
}

func TestMergeLogs(t *testing.T) {
	t.Parallel()
	failed := unnamedError
	for _, tt := range []struct {
		name  string
		event Event
		parts []LogPart
		want  string
	}{
		{"messages in order of time, and the answer beside what the span says",
			Event{Type: TypeModel, Outputs: json.RawMessage(`{"finish_reason":"stop"}`)},
			[]LogPart{
				logPartAt(3, LogOutput, `{"index":0,"messages":[{"role":"assistant","content":"A","finish_reason":"length"}]}`),
				logPartAt(2, LogInput, `[{"role":"user","content":"Q"}]`), logPartAt(1, LogInput, `[{"role":"system","content":"S"}]`),
			},
			`inputs {"chat_history":[{"role":"system","content":"S"},{"role":"user","content":"Q"}]}
outputs {"finish_reason":"stop","role":"assistant","content":"A"}
config 
metadata 
cold {"from_logs":{"count":3,"fields":["inputs.chat_history","outputs.content","outputs.role"]}}
metrics 
error -`},
		{"messages at one instant go as conversations go",
			Event{Type: TypeModel},
			[]LogPart{logPartAt(1, LogInput, `[{"role":"tool","content":"3"}]`), logPartAt(1, LogInput, `[{"role":"user","content":"2"}]`), logPartAt(1, LogInput, `[{"role":"system","content":"1"}]`)},
			`inputs {"chat_history":[{"role":"system","content":"1"},{"role":"user","content":"2"},{"role":"tool","content":"3"}]}
outputs 
config 
metadata 
cold {"from_logs":{"count":3,"fields":["inputs.chat_history"]}}
metrics 
error -`},
		{"what the span says itself is neither replaced nor repeated, and what differs is kept",
			Event{Type: TypeModel, Inputs: json.RawMessage(`{"chat_history":[{"role":"user","content":"Q"}]}`), Outputs: json.RawMessage(`{"content":"A"}`)},
			[]LogPart{
				logPartAt(1, LogInput, `[{"role":"user","content":"Q"}]`), logPartAt(2, LogInput, `[{"role":"user","content":"other"}]`),
				logPartAt(3, LogOutput, `{"index":0,"messages":[{"role":"assistant","content":"A"}]}`), logPartAt(4, LogOutput, `{"index":0,"messages":[{"role":"assistant","content":"B"}]}`),
			},
			`inputs {"chat_history":[{"role":"user","content":"Q"}]}
outputs {"content":"A"}
config 
metadata 
cold {"logs":[{"time":2,"message":{"role":"user","content":"other"}},{"time":4,"message":{"role":"assistant","content":"B"}}],"from_logs":{"count":4,"lists":{"logs":2}}}
metrics 
error -`},
		{"several answers are choices, in the order of their index",
			Event{Type: TypeModel},
			[]LogPart{
				logPartAt(1, LogOutput, `{"index":1,"messages":[{"role":"assistant","content":"second"}]}`),
				logPartAt(2, LogOutput, `{"index":0,"messages":[{"role":"assistant","content":"first"}]}`),
			},
			`inputs 
outputs {"role":"assistant","content":"first","choices":[{"role":"assistant","content":"second"}]}
config 
metadata 
cold {"from_logs":{"count":2,"fields":["outputs.choices","outputs.content","outputs.role"]}}
metrics 
error -`},
		{"what a tool of the provider gave back is no answer",
			Event{Type: TypeModel},
			[]LogPart{logPartAt(1, LogOutput, `{"index":0,"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"s"}]},{"role":"tool","content":"r","tool_call_id":"s"}]}`)},
			`inputs 
outputs {"role":"assistant","tool_calls":[{"id":"s"}],"chat_history":[{"role":"assistant","content":null,"tool_calls":[{"id":"s"}]},{"role":"tool","content":"r","tool_call_id":"s"}]}
config 
metadata 
cold {"from_logs":{"count":1,"fields":["outputs.chat_history","outputs.role","outputs.tool_calls"]}}
metrics 
error -`},
		{"fields, of which the first wins, and what belongs to none",
			Event{Type: TypeModel, Config: json.RawMessage(`{"model":"m"}`), Metadata: json.RawMessage(`{"prompt_tokens":1}`)},
			[]LogPart{
				logPartAt(1, LogFields, `{"name":"details","config":{"model":"m","seed":1},"metadata":{"prompt_tokens":2,"system":"x"},"attributes":{"a":1}}`),
				logPartAt(2, LogFields, `{"name":"details","config":{"seed":2}}`),
			},
			`inputs 
outputs 
config {"model":"m","seed":1}
metadata {"prompt_tokens":1}
cold {"logs":[{"name":"details","time":1,"metadata":{"prompt_tokens":2},"attributes":{"a":1}},{"name":"details","time":2,"config":{"seed":2}}],"system":"x","from_logs":{"count":2,"fields":["config.seed","metadata.system"],"lists":{"logs":2}}}
metrics 
error -`},
		{"evaluations, exceptions and logs follow those of the span",
			Event{Type: TypeTool, Error: &failed, ColdMetadata: json.RawMessage(`{"evaluations":[{"name":"a"}]}`)},
			[]LogPart{
				logPartAt(1, LogEvaluation, `{"name":"tone","value":0.50}`), logPartAt(2, LogEvaluation, `{"name":"tone","value":0.75}`), logPartAt(2, LogEvaluation, `{"name":"kind","label":"good"}`),
				logPartAt(3, LogException, `{"type":"E","message":"broken"}`), logPartAt(4, LogRecord, `{"name":"x"}`),
			},
			`inputs 
outputs 
config 
metadata 
cold {"evaluations":[{"name":"a"},{"name":"tone","value":0.50},{"name":"kind","label":"good"},{"name":"tone","value":0.75}],"exceptions":[{"type":"E","message":"broken"}],"logs":[{"name":"x"}],"from_logs":{"count":5,"fields":["error","metrics.kind","metrics.tone"],"lists":{"evaluations":3,"exceptions":1,"logs":1}}}
metrics {"tone":0.50,"kind":"good"}
error broken`},
		{"a tool's arguments and result",
			Event{Type: TypeTool},
			[]LogPart{logPartAt(1, LogInput, `[{"role":"tool","content":"{\"city\":\"Lisbon\"}"}]`), logPartAt(2, LogOutput, `{"messages":[{"role":"assistant","content":"{\"celsius\":21}"}]}`)},
			`inputs {"city":"Lisbon"}
outputs {"result":{"celsius":21}}
config 
metadata 
cold {"from_logs":{"count":2,"fields":["inputs.city","outputs.result"]}}
metrics 
error -`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			once := tt.event
			if !once.MergeLogs(nil, tt.parts) {
				t.Error("nothing changed")
			}
			if d := cmp.Diff(tt.want, shown(&once)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if once.MergeLogs(tt.parts, append(tt.parts, tt.parts[0])) {
				t.Error("a log part sent again changed the event")
			}
			for round := range 20 {
				r := rand.New(rand.NewPCG(1, uint64(round)))
				e := tt.event
				var known []LogPart
				for _, i := range r.Perm(len(tt.parts)) {
					e.MergeLogs(known, append(known[:len(known):len(known)], tt.parts[i]))
					known = append(known, tt.parts[i])
				}
				if d := cmp.Diff(tt.want, shown(&e)); d != "" {
					t.Fatalf("one by one (-want +got):\n%s", d)
				}
			}
			back := once
			if !back.WithoutLogs(tt.parts) {
				t.Error("cannot be taken back")
			}
			if d := cmp.Diff(shown(&tt.event), shown(&back)); d != "" {
				t.Errorf("taken back (-want +got):\n%s", d)
			}
		})
	}
}

// TestMergeLogsLate holds that log parts which come when the first ones are no longer known fill only
// what is empty, and repeat nothing.
func TestMergeLogsLate(t *testing.T) {
	t.Parallel()
	first := []LogPart{logPartAt(1, LogInput, `[{"role":"user","content":"Q"}]`), logPartAt(2, LogRecord, `{"name":"x"}`)}
	e := Event{Type: TypeModel}
	e.MergeLogs(nil, first)
	late := []LogPart{logPartAt(5, LogInput, `[{"role":"user","content":"late"}]`), logPartAt(2, LogRecord, `{"name":"x"}`),
		logPartAt(6, LogOutput, `{"messages":[{"role":"assistant","content":"A"}]}`)}
	e.MergeLogs(nil, late)
	if got := string(e.Inputs); got != `{"chat_history":[{"role":"user","content":"Q"}]}` {
		t.Errorf("inputs %s", got)
	}
	if got := string(rawjson.Get(e.Outputs, "content")); got != `"A"` {
		t.Errorf("outputs %s", e.Outputs)
	}
	if got := string(rawjson.Get(e.ColdMetadata, "logs")); got != `[{"name":"x"},{"time":5,"message":{"role":"user","content":"late"}}]` {
		t.Errorf("logs %s", got)
	}
}

// FuzzMergeLogs holds that no content of a log part panics or makes text that is no JSON, and that
// what log parts did can be taken back.
func FuzzMergeLogs(f *testing.F) {
	f.Add(uint8(1), `[{"role":"user","content":"Q"}]`, `{"chat_history":[]}`, `{"a":1}`)
	f.Add(uint8(2), `{"index":0,"messages":[{"content":"A"}]}`, `{}`, `{"content":""}`)
	f.Add(uint8(3), `{"config":{"a":1},"outputs":5}`, `{}`, `null`)
	f.Fuzz(func(t *testing.T, kind uint8, content, inputs, cold string) {
		for _, s := range []*string{&content, &inputs, &cold} {
			clean, _, err := rawjson.Clean([]byte(*s))
			if err != nil {
				return
			}
			*s = string(clean)
		}
		if rawjson.KindOf([]byte(inputs)) != '{' || rawjson.KindOf([]byte(cold)) != '{' || rawjson.Get([]byte(cold), keyFromLogs) != nil {
			return
		}
		e := Event{Type: TypeModel, Inputs: json.RawMessage(inputs), ColdMetadata: json.RawMessage(cold)}
		parts := []LogPart{{Kind: LogPartKind(kind % 7), Content: json.RawMessage(content)}}
		e.MergeLogs(nil, parts)
		again := e
		if again.MergeLogs(parts, parts) {
			t.Errorf("not stable:\n%s\n%s", shown(&e), shown(&again))
		}
		for _, raw := range []json.RawMessage{e.Inputs, e.Outputs, e.Config, e.Metadata, e.ColdMetadata, e.Metrics} {
			if len(raw) > 0 && !json.Valid(raw) {
				t.Errorf("not JSON: %s", raw)
			}
		}
	})
}
