package e2e

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/spangrove/spangrove/e2e/harness"
)

// TestKeepBadSessions runs docs/examples/keep-bad-sessions.yaml as it stands, but for how long the
// sampler waits and code may take: all traces with a failed step, or an apologetic answer, are kept whole, and of
// the rest those that the sampler chooses, which are the same in every run since the ids are.
func TestKeepBadSessions(t *testing.T) {
	harness.Require(t)
	t.Parallel()
	const (
		traces     = 400
		failed     = 20 // every twentieth has a slow model call
		apologetic = 10 // every fortieth
		chosen     = 18 // of the other 370, by the hash of their ids
	)
	text, err := os.ReadFile(filepath.Join(harness.Root(t), "docs", "examples", "keep-bad-sessions.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "keep.yaml")
	text = bytes.Replace(text, []byte("decision_wait: 10s"), []byte("decision_wait: 1s"), 1)
	text = bytes.Replace(text, []byte("timeout: 30s"), []byte("timeout: 4m"), 1) // a busy machine takes longer
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	srv := harness.Start(t, harness.Options{Args: append(evaluators(t), "--config", "embedded:default", "--config", config)})

	began := time.Now().Add(-time.Hour)
	span := func(spans ptrace.SpanSlice, trace, n uint64, name string, took time.Duration) ptrace.Span {
		s := spans.AppendEmpty()
		var id [16]byte
		binary.BigEndian.PutUint64(id[:], trace*0x9e3779b97f4a7c15)
		binary.BigEndian.PutUint64(id[8:], trace+1)
		s.SetTraceID(id)
		s.SetSpanID([8]byte{7: byte(n)})
		s.SetName(name)
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(began))
		s.SetEndTimestamp(pcommon.NewTimestampFromTime(began.Add(took)))
		return s
	}
	for first := uint64(0); first < traces; first += 100 {
		td := ptrace.NewTraces()
		spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
		for i := first; i < first+100; i++ {
			took, says := time.Second, "fine"
			if i%(traces/failed) == 0 {
				took = time.Minute
			}
			if i%(traces/apologetic) == 7 {
				says = "Sorry. Unfortunately not."
			}
			span(spans, i, 1, fmt.Sprintf("root %d", i), time.Second)
			s := span(spans, i, 2, "chat", took)
			s.SetParentSpanID([8]byte{7: 1})
			s.Attributes().PutStr("gen_ai.operation.name", "chat")
			s.Attributes().PutStr("gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"`+says+`"}]}]`)
		}
		body, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
		if err != nil {
			t.Fatal(err)
		}
		status, answer, err := srv.Client.Send(t.Context(), http.MethodPost, "/v1/traces", "application/x-protobuf", body)
		if err != nil || status != http.StatusOK {
			t.Fatalf("%d %s %v", status, answer, err)
		}
	}

	// What the sampler keeps comes when its time is over.
	var kept []harness.Event
	for deadline := time.Now().Add(4 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		if kept, err = srv.Client.Export(t.Context(), harness.Is("event_name", "chat")); err != nil {
			t.Fatal(err)
		}
		if len(kept) >= failed+apologetic+chosen || time.Now().After(deadline) {
			break
		}
	}
	time.Sleep(3 * time.Second) // long enough for any that should not come
	if kept, err = srv.Client.Export(t.Context(), harness.Is("event_name", "chat")); err != nil {
		t.Fatal(err)
	}
	scores := map[[2]any]int{}
	for _, e := range kept {
		metrics := e["metrics"].(map[string]any)
		scores[[2]any{metrics["failed"], metrics["apologetic"]}]++
	}
	want := map[[2]any]int{{true, false}: failed, {false, true}: apologetic, {false, false}: chosen}
	if diff := cmp.Diff(want, scores); diff != "" {
		t.Errorf("kept traces by their scores, failed and apologetic (-want +got):\n%s", diff)
	}
	roots, err := srv.Client.Export(t.Context(), harness.Is("event_type", "chain"))
	if err != nil || len(roots) != len(kept) {
		t.Errorf("%d roots of %d kept traces: %v", len(roots), len(kept), err)
	}
}
