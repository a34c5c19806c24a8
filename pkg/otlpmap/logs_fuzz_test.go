package otlpmap

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// FuzzRecords maps log records of any name, with any text as body and as attribute. Whatever
// they are, notes are clean JSON, have every value, and make an event that is clean JSON too.
func FuzzRecords(f *testing.F) {
	for _, k := range recordKinds {
		f.Add(k.name, `{"content":"a","role":"user","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\"x\":1}"}}]}`, "gen_ai.conversation.id", "s", false)
		f.Add(k.name, `{"index":1,"finish_reason":"stop","message":{"role":"assistant","content":[{"type":"text","text":"a"}]}}`, "gen_ai.response.id", "r", true)
		f.Add(k.name, "plain text", "gen_ai.evaluation.name", "tone", false)
	}
	f.Add(choiceEvent, `{"content":{"parts":[{"text":"a"},{"functionCall":{"name":"f"}}],"role":"model"}}`, "exception.message", "\x00\xff", true)
	f.Add(detailsEvent, `{"gen_ai.input.messages":[{"role":"user","parts":[]}]}`, "gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"a"}]}]`, true)
	m := New(Options{PlainLogs: true})
	f.Fuzz(func(t *testing.T, name, body, key, value string, asMap bool) {
		ld := plog.NewLogs()
		r := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
		r.SetTraceID(pcommon.TraceID{1})
		r.SetSpanID(pcommon.SpanID{2})
		r.SetEventName(name)
		r.Body().SetStr(body)
		if asMap {
			var v any
			if json.Unmarshal([]byte(body), &v) != nil || r.Body().FromRaw(v) != nil {
				return
			}
		}
		r.Attributes().PutStr(key, value)
		notes, rejected, dropped := m.Logs(ld)
		if len(rejected) > 0 || dropped > 0 {
			t.Fatalf("rejected %v, dropped %d", rejected, dropped)
		}
		e := event.Event{Type: event.TypeModel}
		e.MergeLogs(nil, notes)
		var all strings.Builder
		for _, raw := range []json.RawMessage{e.Inputs, e.Outputs, e.Config, e.Metadata, e.ColdMetadata, e.Metrics, e.Feedback, e.UserProperties} {
			if len(raw) == 0 {
				continue
			}
			clean, n, err := rawjson.Clean(raw)
			if err != nil || n > 0 || rawjson.KindOf(clean) != '{' && string(raw) != string(e.Outputs) {
				t.Fatalf("not clean (%d, %v): %s", n, err, raw)
			}
			var v any
			if err := json.Unmarshal(raw, &v); err != nil {
				t.Fatal(err)
			}
			all.WriteString(allTexts(v))
		}
		if a, ok := compiled.names[key]; toldElsewhere[key] || messageMembers[key] || ok && slices.Contains(compiled.lists[unusedKeys], a) {
			return
		}
		if s, n := rawjson.ValidText(value); n == 0 && !hasTexts(s, all.String(), true) {
			t.Errorf("%s = %q is lost in %s", key, s, all.String())
		}
	})
}
