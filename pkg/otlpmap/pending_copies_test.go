package otlpmap

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// started appends Logfire's copy of a span that has begun.
func started(list ptrace.SpanSlice, id, real byte, parent string) ptrace.Span {
	s := list.AppendEmpty()
	s.SetTraceID([16]byte{1})
	s.SetSpanID([8]byte{id})
	s.SetParentSpanID([8]byte{real})
	s.SetName("agent run (pending)")
	s.SetStartTimestamp(1_700_000_000_000_000_000)
	s.SetEndTimestamp(1_700_000_000_000_000_000)
	s.Attributes().PutStr("logfire.span_type", "pending_span")
	s.Attributes().PutStr("logfire.pending_parent_id", parent)
	s.Attributes().PutStr("session.id", "s")
	return s
}

func ended(list ptrace.SpanSlice, id byte) {
	s := list.AppendEmpty()
	s.SetTraceID([16]byte{1})
	s.SetSpanID([8]byte{id})
	s.SetName("agent run")
	s.SetStartTimestamp(1_700_000_000_000_000_000)
	s.SetEndTimestamp(1_700_000_001_000_000_000)
	s.Attributes().PutStr("session.id", "s")
}

// TestPending holds that a copy of a span that has not ended is the unfinished event of that span,
// and that it goes when the request has the span itself.
func TestPending(t *testing.T) {
	t.Parallel()
	spans := func() (ptrace.Traces, ptrace.SpanSlice) {
		td := ptrace.NewTraces()
		return td, td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	}
	m := New(Options{})

	td, list := spans()
	started(list, 9, 2, "0000000000000000")
	started(list, 8, 3, "0200000000000000")
	b, _ := m.Traces(td)
	if len(b.Events) != 2 {
		t.Fatalf("%d events, want 2", len(b.Events))
	}
	root, child := &b.Events[0].Event, &b.Events[1].Event
	if root.ID != EventID([16]byte{1}, [8]byte{2}) || !root.Unfinished || root.ParentID != root.SessionID || root.Name != "agent run" {
		t.Errorf("the root's copy became %s", flatEvent(root))
	}
	if child.ID != EventID([16]byte{1}, [8]byte{3}) || child.ParentID != root.ID || at(child, "metadata.span_id") != `"0300000000000000"` || at(child, "metadata.parent_span_id") != `"0200000000000000"` {
		t.Errorf("the child's copy became %s", flatEvent(child))
	}
	if got := unmapped(child, td); got != "" {
		t.Errorf("attributes %s are left over", got)
	}

	for _, order := range []string{"copy first", "copy last", "two copies"} {
		td, list := spans()
		if order != "copy last" {
			started(list, 9, 2, "0000000000000000")
		}
		if order == "two copies" {
			started(list, 7, 2, "0000000000000000")
		}
		ended(list, 2)
		if order == "copy last" {
			started(list, 9, 2, "0000000000000000")
		}
		b, _ := m.Traces(td)
		if len(b.Events) != 1 || b.Events[0].Unfinished || b.Events[0].Duration != 1000 || b.Events[0].SessionID != SessionID("s") {
			t.Errorf("%s: %d events, the first %s", order, len(b.Events), flatEvent(&b.Events[0].Event))
		}
	}

	// A copy that says nothing of its parent, or what is no id, is one of a root.
	for _, parent := range []string{"", "x", "zzzzzzzzzzzzzzzz", "0200000000000000"} {
		td, list := spans()
		started(list, 9, 2, parent)
		b, _ := m.Traces(td)
		if len(b.Events) != 1 || b.Events[0].ParentID != b.Events[0].SessionID {
			t.Errorf("parent %q: %s", parent, flatEvent(&b.Events[0].Event))
		}
	}
}
