package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/wire"
)

// numbered returns the id of event n of the tests' session; 0 is the session itself.
func numbered(n int) uuid.UUID {
	if n == 0 {
		return sessionID
	}
	return uuid.MustParse(fmt.Sprintf("22222222-2222-4222-8222-%012d", n))
}

// session returns a set of the session event and events 1 to len(parents), whose parents are given
// by number. Its payload is loaded as a store would, at the time it is asked for.
func session(payload string, parents ...int) *event.Set {
	set := &event.Set{Events: []event.Event{{ID: sessionID, SessionID: sessionID, Type: event.TypeSession, Name: "s"}}}
	for i, p := range parents {
		set.Events = append(set.Events, event.Event{
			ID: numbered(i + 1), SessionID: sessionID, ParentID: numbered(p), Type: event.TypeTool,
			Name: fmt.Sprint(i + 1), Start: float64(i),
		})
	}
	set.Total = len(set.Events)
	set.Load = func(_ context.Context, i int) (event.Event, error) {
		e := set.Events[i]
		e.Inputs = json.RawMessage(payload)
		return e, nil
	}
	return set
}

// drawn returns a tree answer as "name(child child)", an orphan with an asterisk.
func drawn(t *testing.T, answer []byte) string {
	t.Helper()
	var n struct {
		Name     string `json:"event_name"`
		Metadata struct{ Orphan bool }
		Children []json.RawMessage
	}
	if err := json.Unmarshal(answer, &n); err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	var b strings.Builder
	b.WriteString(n.Name)
	if n.Metadata.Orphan {
		b.WriteString("*")
	}
	if n.Children == nil {
		t.Errorf("%s has no children key", n.Name)
	}
	for i, c := range n.Children {
		b.WriteString([]string{"(", " "}[min(i, 1)])
		b.WriteString(drawn(t, c))
	}
	if len(n.Children) > 0 {
		b.WriteString(")")
	}
	return b.String()
}

func TestWriteTree(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		set  *event.Set
		tree wire.Tree
		want string
	}{
		{"a session alone", session(`{}`), wire.Tree{}, "s"},
		{"nested", session(`{}`, 0, 1, 1, 2, 0), wire.Tree{}, "s(1(2(4) 3) 5)"},
		{"an orphan", session(`{}`, 0, 99), wire.Tree{}, "s(1 2*)"},
		{"a cycle", session(`{}`, 2, 1), wire.Tree{}, "s(1*(2))"},
		{"from an event on", session(`{}`, 0, 1, 2, 0), wire.Tree{At: numbered(2)}, "2(3)"},
		{"from the session's id on", session(`{}`, 0), wire.Tree{At: sessionID}, "s(1)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			s := wire.NewStream(w)
			if err := wire.WriteTree(t.Context(), s, tt.set, tt.tree, shop); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, drawn(t, w.Body.Bytes())); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got := w.Header().Get("Content-Length"); got != fmt.Sprint(w.Body.Len()) {
				t.Errorf("Content-Length %s of %d bytes", got, w.Body.Len())
			}
		})
	}
}

func TestWriteTreeWithEvent(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	s := wire.NewStream(w)
	if err := wire.WriteTree(t.Context(), s, session(`{"q":1}`, 0, 1), wire.Tree{At: numbered(1), WithEvent: true}, shop); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Event, Inputs json.RawMessage
		Children      []map[string]json.RawMessage
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	e := session(`{"q":1}`, 0, 1).Events[1]
	e.Inputs = json.RawMessage(`{"q":1}`)
	if diff := cmp.Diff(string(wire.AppendEvent(nil, &e, shop)), string(got.Event)); diff != "" {
		t.Errorf("event (-want +got)\n%s", diff)
	}
	if string(got.Inputs) != `{"q":1}` || len(got.Children) != 1 || got.Children[0]["event"] != nil {
		t.Errorf("wrong node: %s", w.Body)
	}
}

func TestWriteTreeErrors(t *testing.T) {
	t.Parallel()
	s := wire.NewStream(httptest.NewRecorder())
	defer s.Discard()
	if err := wire.WriteTree(t.Context(), s, session(`{}`, 0), wire.Tree{At: numbered(7)}, shop); fault.Of(err) != fault.NotFound {
		t.Errorf("an event of another session: got %v", err)
	}
	rootless := session(`{}`, 0)
	rootless.Events = rootless.Events[1:]
	if err := wire.WriteTree(t.Context(), s, rootless, wire.Tree{}, shop); err == nil || fault.Of(err) != fault.Internal {
		t.Errorf("no session event: got %v", err)
	}
}

// A session may be one chain of 100,000 events; the answer holds them all.
func TestWriteTreeDeep(t *testing.T) {
	t.Parallel()
	const n = 100_000
	parents := make([]int, n)
	for i := range parents {
		parents[i] = i
	}
	w := httptest.NewRecorder()
	s := wire.NewStream(w)
	if err := wire.WriteTree(t.Context(), s, session(`{}`, parents...), wire.Tree{}, shop); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	body := w.Body.String()
	if got := strings.Count(body, `"children":[`); got != n+1 {
		t.Errorf("%d nodes", got)
	}
	if !strings.HasSuffix(body, strings.Repeat("]}", n+1)) {
		t.Error("the nodes are not closed")
	}
}

func TestWriteEvents(t *testing.T) {
	t.Parallel()
	want, err := query.ParseProjection([]string{"event_name", "inputs.q"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		set  *event.Set
		want string
	}{
		{"none", &event.Set{}, `{"events":[],"totalEvents":0,"count":0}`},
		{"a projection, of more matches than rows", func() *event.Set {
			s := session(`{"q":1.0,"r":2}`, 0)
			s.Total = 500
			return s
		}(), `{"events":[{"event_id":"11111111-1111-4111-8111-111111111111","event_name":"s","inputs":{"q":1.0}},` +
			`{"event_id":"22222222-2222-4222-8222-000000000001","event_name":"1","inputs":{"q":1.0}}],"totalEvents":500,"count":500}`},
		{"a path that leads to nothing", session(`{}`), `{"events":[{"event_id":"11111111-1111-4111-8111-111111111111","event_name":"s"}],"totalEvents":1,"count":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			s := wire.NewStream(w)
			if err := wire.WriteEvents(t.Context(), s, tt.set, shop, &wire.SearchRequest{Projection: want}); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, w.Body.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// pieces counts the writes and remembers the longest.
type pieces struct {
	http.ResponseWriter
	count, longest int
	err            error
}

func (p *pieces) Write(b []byte) (int, error) {
	p.count++
	p.longest = max(p.longest, len(b))
	return len(b), p.err
}

func TestStreamGoesOutInPieces(t *testing.T) {
	t.Parallel()
	w := &pieces{ResponseWriter: httptest.NewRecorder()}
	s := wire.NewStream(w)
	set := session(`{"text":"`+strings.Repeat("x", 4000)+`"}`, make([]int, 500)...)
	if err := wire.WriteEvents(t.Context(), s, set, shop, &wire.SearchRequest{}); err != nil {
		t.Fatal(err)
	}
	if !s.Started() || w.count < 10 || w.longest > 100_000 {
		t.Errorf("%d writes of up to %d bytes", w.count, w.longest)
	}
	s.Discard()
}

func TestStreamTellsThatTheCallerIsGone(t *testing.T) {
	t.Parallel()
	w := &pieces{ResponseWriter: httptest.NewRecorder(), err: errors.New("broken pipe")}
	s := wire.NewStream(w)
	defer s.Discard()
	if err := wire.WriteEvents(t.Context(), s, &event.Set{}, shop, &wire.SearchRequest{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); fault.Of(err) != fault.Unavailable {
		t.Errorf("got %v", err)
	}
}

func BenchmarkAppendEvent(b *testing.B) {
	set := session(`{"text":"`+strings.Repeat("x", 2000)+`"}`, 0)
	e, _ := set.Load(b.Context(), 1)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = wire.AppendEvent(buf[:0], &e, shop)
	}
	b.SetBytes(int64(len(buf)))
}

// BenchmarkWriteTree encodes a session of 5,000 events, 10 MB.
func BenchmarkWriteTree(b *testing.B) {
	parents := make([]int, 4999)
	for i := range parents {
		parents[i] = i / 3
	}
	set := session(`{"text":"`+strings.Repeat("x", 1500)+`"}`, parents...)
	w := &pieces{ResponseWriter: httptest.NewRecorder()}
	b.ReportAllocs()
	for b.Loop() {
		s := wire.NewStream(w)
		if err := wire.WriteTree(b.Context(), s, set, wire.Tree{}, shop); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
