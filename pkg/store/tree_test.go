package store_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"pgregory.net/rapid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/otlpmap"
	"github.com/spangrove/spangrove/pkg/price"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store"
	"github.com/spangrove/spangrove/pkg/store/storetest"
)

// leaf is one span of a drawn forest.
type leaf struct {
	trace, span, parent byte // parent 0: none
	start, end          int  // ms
	scope               string
	attrs               map[string]any
	copyOf              bool // sent as unfinished, too
}

func (l *leaf) write(td ptrace.Traces, unfinished bool) {
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "service "+l.scope)
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName(l.scope)
	s := ss.Spans().AppendEmpty()
	s.SetTraceID(pcommon.TraceID{0: 1, 15: l.trace})
	s.SetSpanID(pcommon.SpanID{7: l.span})
	if l.parent != 0 {
		s.SetParentSpanID(pcommon.SpanID{7: l.parent})
	}
	s.SetName(fmt.Sprint("span ", l.trace, " ", l.span))
	ns := func(ms int) pcommon.Timestamp { return pcommon.Timestamp(1_767_355_200_000+ms) * 1_000_000 }
	s.SetStartTimestamp(ns(l.start))
	if !unfinished {
		s.SetEndTimestamp(ns(l.end))
	}
	keys := make([]string, 0, len(l.attrs))
	for k := range l.attrs {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if unfinished && strings.HasPrefix(k, "gen_ai.usage") {
			continue
		}
		switch v := l.attrs[k].(type) {
		case string:
			s.Attributes().PutStr(k, v)
		case int:
			s.Attributes().PutInt(k, int64(v))
		}
	}
}

// drawForest draws spans of a few traces: model calls in one another, duplicates, session keys on any
// span, parents that are missing or in a ring, ids of their own.
func drawForest(t *rapid.T) (list []leaf) {
	n := 0
	by, ownIDs := []string{"session.id", "gen_ai.conversation.id", "honeyhive.session_id"}, rapid.Bool().Draw(t, "ids")
	if ownIDs { // a parent in another session has no name of its own there
		by = by[:2]
	}
	for trace := range rapid.IntRange(1, 3).Draw(t, "traces") {
		spans := rapid.IntRange(1, 8).Draw(t, "spans")
		for i := range spans {
			n++
			l := leaf{trace: byte(trace), span: byte(i + 1), start: n + rapid.IntRange(0, 60).Draw(t, "start")*100, attrs: map[string]any{},
				scope: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "scope")}
			l.end = l.start + rapid.IntRange(1, 3).Draw(t, "length")*1000
			if i > 0 && rapid.IntRange(0, 5).Draw(t, "root") > 0 {
				l.parent = byte(rapid.IntRange(1, spans+1).Draw(t, "parent")) // spans+1 never comes
			}
			if rapid.IntRange(0, 2).Draw(t, "model") > 0 {
				l.attrs["gen_ai.operation.name"] = "chat"
				if rapid.IntRange(0, 3).Draw(t, "counts") > 0 {
					l.attrs["gen_ai.usage.input_tokens"] = rapid.IntRange(1, 9).Draw(t, "input")
					l.attrs["gen_ai.usage.output_tokens"] = rapid.IntRange(1, 9).Draw(t, "output")
				}
				switch rapid.IntRange(0, 3).Draw(t, "content") {
				case 0:
					l.attrs["gen_ai.input.messages"] = `[{"role":"user","parts":[{"type":"text","content":"Hello?"}]}]`
				case 1:
					l.attrs["gen_ai.tool.definitions"] = `[{"type":"function","name":"f"}]`
				}
				if rapid.Bool().Draw(t, "model name") {
					l.attrs["gen_ai.request.model"] = "gpt-4o-mini"
				}
				if r := rapid.IntRange(0, 3).Draw(t, "response"); r > 0 {
					l.attrs["gen_ai.response.id"] = fmt.Sprint("r-", r)
				}
			}
			key := []string{"", "", "", "", "k1", "k2", "6b0f2c1e-0f5d-4d53-9a52-0d1f4a3f8a11"}[rapid.IntRange(0, 6).Draw(t, "key")]
			if key != "" {
				l.attrs[rapid.SampledFrom(by).Draw(t, "by")] = key
			}
			if ownIDs && rapid.IntRange(0, 5).Draw(t, "own id") == 0 {
				l.attrs["honeyhive_event_id"] = uuid.NewSHA1(uuid.Nil, []byte{l.trace, l.span}).String()
			}
			if rapid.IntRange(0, 4).Draw(t, "user") == 0 {
				l.attrs["user.id"] = rapid.SampledFrom([]string{"u1", "u2"}).Draw(t, "who")
			}
			l.copyOf = rapid.IntRange(0, 4).Draw(t, "copy") == 0
			list = append(list, l)
		}
	}
	return list
}

// plain returns an event as anybody reads it, without regard to the order of keys.
func plain(t *rapid.T, e event.Event) map[string]any {
	out := map[string]any{"id": e.ID, "session": e.SessionID, "parent": e.ParentID, "type": e.Type, "name": e.Name, "source": e.Source,
		"start": e.Start, "end": e.End, "duration": e.Duration}
	for k, raw := range map[string]json.RawMessage{"inputs": e.Inputs, "outputs": e.Outputs, "config": e.Config, "metrics": e.Metrics,
		"user": e.UserProperties, "metadata": rawjson.Concat(e.Metadata, e.ColdMetadata)} {
		if rawjson.Empty(raw) {
			continue
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatalf("%s of %s: %v", k, e.Name, err)
		}
		out[k] = v
	}
	return out
}

// TestTreeInAnyOrder: whatever the requests in which the spans of a forest come, and however
// often, the sessions end as if all had come in one.
func TestTreeInAnyOrder(t *testing.T) {
	t.Parallel()
	places := map[string]func(t *testing.T) storetest.Place{"embedded": func(t *testing.T) storetest.Place { return sqlitePlace{dir: t.TempDir()} }}
	if dsn := os.Getenv("SPANGROVE_TEST_POSTGRES"); dsn != "" {
		places["server"] = func(t *testing.T) storetest.Place { return newPostgresPlace(t) }
	}
	for name, fresh := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place := fresh(t)
			s := place.Open(t, store.Options{})
			runs := 0
			rapid.Check(t, func(t *rapid.T) {
				runs++
				forest := drawForest(t)
				want := sendAll(t, s, fmt.Sprint("whole ", runs), forest, nil)
				order := rapid.Permutation(parcels(forest)).Draw(t, "order")
				if rapid.Bool().Draw(t, "restarts") {
					for i := range order {
						order[i].restart = rapid.IntRange(0, 2).Draw(t, "restart") == 0
					}
				}
				got := sendAll(t, s, fmt.Sprint("parts ", runs), forest, order)
				if d := cmp.Diff(want, got); d != "" {
					t.Fatalf("sessions differ (-whole +parts)\n%s", d)
				}
			})
		})
	}
}

// parcel is one span on its way.
type parcel struct {
	leaf       int
	unfinished bool
	end        bool // of a request
	restart    bool // before it comes, so that no tree is in memory
}

// parcels is everything that is sent: each span once or twice, as its unfinished copy too.
func parcels(forest []leaf) (list []parcel) {
	for i := range forest {
		list = append(list, parcel{leaf: i, end: i%3 > 0})
		if forest[i].copyOf {
			list = append(list, parcel{leaf: i, unfinished: true, end: true})
		}
		if i%4 == 0 {
			list = append(list, parcel{leaf: i})
		}
	}
	return list
}

// sendAll stores a forest in a project of its own, as one request or as the parcels say, and
// gives what its sessions hold then.
func sendAll(t *rapid.T, s *store.Store, project string, forest []leaf, order []parcel) map[string]any {
	p, err := s.EnsureProject(t.Context(), project)
	if err != nil {
		t.Fatal(err)
	}
	mapper := otlpmap.New(otlpmap.Options{Prices: price.New()})
	ids := map[uuid.UUID]bool{}
	put := func(td ptrace.Traces) {
		batch, rejected := mapper.Traces(td)
		if len(rejected) > 0 {
			t.Fatalf("rejected: %v", rejected)
		}
		for i := range batch.Events {
			ids[batch.Events[i].ID] = true
		}
		if err := s.Put(t.Context(), p.ID, batch); err != nil {
			t.Fatal(err)
		}
	}
	td := ptrace.NewTraces()
	if order == nil {
		for i := range forest {
			forest[i].write(td, false)
		}
	}
	for _, x := range order {
		if x.restart {
			if err := s.Forget(t.Context(), p.ID); err != nil {
				t.Fatal(err)
			}
		}
		forest[x.leaf].write(td, x.unfinished)
		if x.end {
			put(td)
			td = ptrace.NewTraces()
		}
	}
	if td.SpanCount() > 0 {
		put(td)
	}
	out := map[string]any{}
	for id := range ids {
		e, err := s.Event(t.Context(), p.ID, id)
		if err != nil {
			t.Fatalf("event %s: %v", id, err)
		}
		out[id.String()] = plain(t, e)
		if out[e.SessionID.String()] != nil {
			continue
		}
		set, err := s.Session(t.Context(), p.ID, e.SessionID)
		if err != nil {
			t.Fatalf("session %s: %v", e.SessionID, err)
		}
		names := []string{}
		for i := range set.Events {
			x, err := set.Load(t.Context(), i)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, x.ID.String())
			if x.IsSession() {
				out[x.ID.String()] = plain(t, x)
			}
		}
		slices.Sort(names)
		out["events of "+e.SessionID.String()] = names
	}
	return out
}
