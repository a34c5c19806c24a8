package otlpmap

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"golang.org/x/tools/txtar"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// shown are the fields that a golden tree prints, where an event has them.
var shown = []string{
	"config.model", "inputs.chat_history", "inputs.query", "inputs.value", "outputs.content", "outputs.tool_calls",
	"outputs.result", "metadata.prompt_tokens", "metadata.completion_tokens", "metadata.aggregate_usage", "metadata.session_key",
	"metadata.exceptions", "metadata.logs", "metadata.from_logs", "metrics.tone",
}

// TestGolden maps the request of spans of each testdata/*.txtar, and the one of log records if it has one, and draws its sessions as a person would.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			in, want := ar.Files[:len(ar.Files)-1], ar.Files[len(ar.Files)-1]
			m := New(Options{})
			batch, rejected := m.Traces(decodeTraces(t, in[0].Data))
			if len(in) > 1 {
				batch = annotated(t, m, batch, in[1].Data)
			}
			got := draw(batch)
			for _, r := range rejected {
				got += fmt.Sprintf("rejected %s %s: %s\n", r.TraceID, r.SpanID, r.Reason)
			}
			if *update {
				ar.Files = append(in, txtar.File{Name: "want.tree", Data: []byte(got)})
				if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want.Data), got); diff != "" {
				t.Errorf("tree (-want +got)\n%s", diff)
			}
		})
	}
}

func draw(batch event.Batch) string {
	var b strings.Builder
	for _, h := range batch.Sessions {
		var list []event.Event
		provisional := map[uuid.UUID]bool{}
		for _, e := range batch.Events {
			if e.SessionID == h.SessionID {
				list = append(list, e.Event)
				provisional[e.ID] = e.Provisional
			}
		}
		_, top := event.Tree(list)
		zero := list[top[0].Index].Start
		for _, n := range top {
			zero = min(zero, list[n.Index].Start)
		}
		fmt.Fprintf(&b, "session %q %s\n", firstText(h.Name, h.Fallback), h.SessionID)
		for _, n := range top {
			drawNode(&b, list, provisional, n, zero, 1)
		}
	}
	return b.String()
}

func firstText(s ...string) string {
	for _, t := range s {
		if t != "" {
			return t
		}
	}
	return ""
}

func drawNode(b *strings.Builder, list []event.Event, provisional map[uuid.UUID]bool, n *event.Node, zero float64, depth int) {
	e := &list[n.Index]
	fmt.Fprintf(b, "%s%s %q +%sms %sms", strings.Repeat("  ", depth), e.Type, e.Name, short(e.Start-zero), short(e.Duration))
	for _, m := range []struct {
		on   bool
		word string
	}{{n.Orphan, "orphan"}, {provisional[e.ID], "provisional"}, {e.Fixed, "fixed"}, {e.Unfinished, "unfinished"}} {
		if m.on {
			b.WriteString(" " + m.word)
		}
	}
	for _, path := range shown {
		if v := at(e, path); v != "" {
			fmt.Fprintf(b, " %s=%s", path, v)
		}
	}
	if v := unplaced(e); v != "" {
		fmt.Fprintf(b, " metadata+=%s", v)
	}
	if e.Error != nil {
		fmt.Fprintf(b, " error=%q", *e.Error)
	}
	b.WriteByte('\n')
	for _, c := range n.Children {
		drawNode(b, list, provisional, c, zero, depth+1)
	}
}

// unplaced returns the members of an event's metadata that no field of the tables has.
func unplaced(e *event.Event) string {
	var o rawjson.Builder
	for k, v := range rawjson.Object(e.Metadata) {
		if _, known := fieldIDs[bucketHot][k]; !known {
			o.Raw(k, v)
		}
	}
	if v := rawjson.Get(e.ColdMetadata, "attributes"); v != nil {
		o.Raw("attributes", v)
	}
	if o.Len() == 0 {
		return ""
	}
	return string(o.Bytes())
}

func short(ms float64) string {
	return string(rawjson.AppendNumber(nil, mustFloat(strconv.FormatFloat(ms, 'f', 1, 64))))
}

func mustFloat(s string) float64 {
	f, _ := strconv.ParseFloat(s, 64)
	return f
}
