package otlpmap

import (
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/e2e/growth"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// What the spans of a request share stands in each event, but not without a bound: a request of 20 MB would take hundreds of gigabytes.
func TestSharedIsBounded(t *testing.T) {
	t.Parallel()
	const spans, large = 200, 1 << 20
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	text := strings.Repeat("x", large)
	for key, value := range map[string]string{"service.name": text, "service.version": text, "deployment.environment.name": text, "session.id": text, "host.name": "h", "big": text} {
		rs.Resource().Attributes().PutStr(key, value)
	}
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName(text)
	ss.Scope().SetVersion(text)
	ss.Scope().Attributes().PutStr("big", text)
	for i := range spans {
		s := ss.Spans().AppendEmpty()
		s.SetTraceID(pcommon.TraceID{1, byte(i)})
		s.SetSpanID(pcommon.SpanID{1})
		s.SetName("s")
	}
	batch, rejected := New(Options{}).Traces(td)
	if len(batch.Events) != spans || rejected != nil {
		t.Fatalf("%d events, %v", len(batch.Events), rejected)
	}
	most, scope := Shared(spans)
	size := 0
	for i := range batch.Events {
		e := &batch.Events[i]
		size += len(e.Metadata) + len(e.ColdMetadata) + len(e.Source) + len(e.Name)
	}
	for _, h := range batch.Sessions {
		size += len(h.Metadata) + len(h.Source) + len(h.Fallback) + len(h.Name)
	}
	if bound := 2*large + spans*(2*most+scope+16<<10); size > bound {
		t.Errorf("%d bytes, more than %d", size, bound)
	}
	if text, ok := rawjson.Text(rawjson.Path(batch.Events[0].ColdMetadata, "resource", "big")); !ok || len(text) == 0 {
		t.Error("the first event lacks what the resource has") // and no attribute is lost
	}
	all := rawjson.Concat(batch.Events[1].Metadata, batch.Events[1].ColdMetadata)
	if host := rawjson.Path(all, "resource", "host.name"); string(host) != `"h"` {
		t.Errorf("host.name is %s", host)
	}
	for _, what := range []string{"resource", "scope"} {
		if n, ok := rawjson.Number(rawjson.Path(all, "truncated", what)); !ok || n < large {
			t.Errorf("truncated: %s is %g", what, n)
		}
	}
}

// Attributes by the hundred thousand, of records and of what stands around them, take time in proportion to their number: a look at all of them
// for each would take minutes.
func TestManyAttributes(t *testing.T) {
	t.Parallel()
	const many = 80_000
	fill := func(m pcommon.Map, prefix string, many int) {
		raw := make(map[string]any, many)
		for i := range many {
			raw[fmt.Sprintf("%s%06d", prefix, i)] = "v"
		}
		if err := m.FromRaw(raw); err != nil {
			t.Fatal(err)
		}
	}
	for name, record := range map[string]func(r plog.LogRecord, many int){
		"message": func(r plog.LogRecord, many int) {
			fill(r.Attributes(), "k", many)
			r.SetEventName("gen_ai.user.message")
			r.Body().SetStr("hi")
		},
		"body of a message": func(r plog.LogRecord, many int) {
			r.SetEventName("gen_ai.user.message")
			fill(r.Body().SetEmptyMap(), "k", many)
		},
		"body of details": func(r plog.LogRecord, many int) {
			r.SetEventName(detailsEvent)
			fill(r.Body().SetEmptyMap(), "gen_ai.k", many)
		},
		"unknown": func(r plog.LogRecord, many int) {
			fill(r.Attributes(), "k", many)
			r.SetEventName("gen_ai.unknown")
		},
		"step of an agent": func(r plog.LogRecord, many int) {
			fill(r.Attributes(), "k", many)
			r.Attributes().PutStr("session.id", "s")
			r.Body().SetStr("claude_code.api_request")
			r.SetTraceID(pcommon.TraceID{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			growth.Linear(t, many, func(many int) func() {
				ld := plog.NewLogs()
				r := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
				r.SetTraceID(pcommon.TraceID{1})
				r.SetSpanID(pcommon.SpanID{1})
				r.SetTimestamp(1_700_000_000_000_000_000)
				record(r, many)
				return func() {
					parts, _, _ := New(Options{}).Logs(ld)
					if batch := New(Options{}).Steps(ld); len(parts)+len(batch.Events) == 0 {
						t.Error("nothing came of it")
					}
				}
			})
		})
	}
	t.Run("resource of many records", func(t *testing.T) {
		growth.Linear(t, many, func(many int) func() {
			ld := plog.NewLogs()
			rl := ld.ResourceLogs().AppendEmpty()
			fill(rl.Resource().Attributes(), "k", many)
			sl := rl.ScopeLogs().AppendEmpty()
			for range many / 8 {
				sl.LogRecords().AppendEmpty().Body().SetStr("codex.tool_result")
			}
			return func() {
				m := New(Options{})
				m.Logs(ld)
				m.Steps(ld)
			}
		})
	})
	t.Run("members of a call and of its function", func(t *testing.T) {
		growth.Linear(t, 40_000, func(many int) func() {
			var outer, inner strings.Builder
			for i := range many {
				fmt.Fprintf(&outer, `,"o%05d":1`, i)
				fmt.Fprintf(&inner, `,"i%05d":1`, i)
			}
			td := ptrace.NewTraces()
			s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
			s.SetTraceID(pcommon.TraceID{1})
			s.SetSpanID(pcommon.SpanID{1})
			s.Attributes().PutStr("gen_ai.operation.name", "chat")
			s.Attributes().PutStr("gen_ai.output.messages", `[{"role":"assistant","tool_calls":[{"id":"c"`+outer.String()+`,"function":{"name":"f"`+inner.String()+`}}]}]`)
			s.Attributes().PutStr("gen_ai.tool.definitions", `[{"type":"function"`+outer.String()+`,"function":{"name":"f"`+inner.String()+`}}]`)
			return func() { New(Options{MaxFieldBytes: -1}).Traces(td) }
		})
	})
	t.Run("attributes of a message", func(t *testing.T) {
		growth.Linear(t, many, func(many int) func() {
			td := ptrace.NewTraces()
			s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
			s.SetTraceID(pcommon.TraceID{1})
			s.SetSpanID(pcommon.SpanID{1})
			s.Attributes().PutStr("gen_ai.operation.name", "chat")
			e := s.Events().AppendEmpty()
			fill(e.Attributes(), "k", many)
			e.SetName("gen_ai.user.message")
			return func() { New(Options{}).Traces(td) }
		})
	})
}
