package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
)

// treeOf returns a set of a session r and events that are given as "name<parent", by start time.
func treeOf(t *testing.T, events ...string) *event.Set {
	t.Helper()
	set := &event.Set{Load: func(context.Context, int) (event.Event, error) {
		t.Error("a complete event is loaded")
		return event.Event{}, nil
	}}
	session := idOf("r")
	set.Events = append(set.Events, event.Event{ID: session, SessionID: session, Type: event.TypeSession, Name: "r", Duration: 9})
	for i, text := range events {
		name, parent, _ := strings.Cut(text, "<")
		set.Events = append(set.Events, event.Event{ID: idOf(name), SessionID: session, ParentID: idOf(parent), Type: event.TypeTool, Name: name, Start: float64(i)})
	}
	return set
}

func idOf(name string) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)) }

// drawn returns rows as "name@place of the parent/children/below", with the note.
func drawn(rows []TreeRow) string {
	var list []string
	for _, r := range rows {
		list = append(list, fmt.Sprintf("%s@%d/%d/%d%s", r.Name, r.At, r.Children, r.Below, r.Note))
	}
	return strings.Join(list, " ")
}

func TestTreeRows(t *testing.T) {
	t.Parallel()
	tree := []string{"a<r", "b<a", "c<r", "d<b", "e<a", "f<c"}
	for name, tt := range map[string]struct {
		events []string
		part   TreePart
		want   string
		whole  bool
	}{
		"all":                      {tree, TreePart{Limit: 100}, "r@-1/2/6 a@0/2/3 b@1/1/1 d@2/0/0 e@1/0/0 c@0/1/1 f@5/0/0", true},
		"as many as there are":     {tree, TreePart{Limit: 7}, "r@-1/2/6 a@0/2/3 b@1/1/1 d@2/0/0 e@1/0/0 c@0/1/1 f@5/0/0", true},
		"the upper levels":         {tree, TreePart{Limit: 3}, "r@-1/2/6 a@0/2/3 c@0/1/1", false},
		"a part of a level":        {tree, TreePart{Limit: 5}, "r@-1/2/6 a@0/2/3 b@1/1/1 e@1/0/0 c@0/1/1", false},
		"one":                      {tree, TreePart{Limit: 1}, "r@-1/2/6", false},
		"below an event":           {tree, TreePart{Limit: 100, Below: idOf("a")}, "b@-1/1/1 d@0/0/0 e@-1/0/0", true},
		"after a child":            {tree, TreePart{Limit: 100, Below: idOf("a"), After: idOf("b")}, "e@-1/0/0", true},
		"after the last":           {tree, TreePart{Limit: 100, Below: idOf("a"), After: idOf("e")}, "", true},
		"below the session":        {tree, TreePart{Limit: 100, Below: idOf("r"), After: idOf("a")}, "c@-1/1/1 f@0/0/0", true},
		"below a leaf":             {tree, TreePart{Limit: 100, Below: idOf("f")}, "", true},
		"an orphan":                {[]string{"a<gone", "b<a"}, TreePart{Limit: 100}, "r@-1/1/2 a@0/1/1orphan b@1/0/0", true},
		"a cycle":                  {[]string{"a<b", "b<a"}, TreePart{Limit: 100}, "r@-1/1/2 a@0/1/1cycle b@1/0/0", true},
		"its own parent":           {[]string{"a<a"}, TreePart{Limit: 100}, "r@-1/1/1 a@0/0/0cycle", true},
		"a session without events": {nil, TreePart{Limit: 100}, "r@-1/0/0", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, _, whole, err := TreeRows(t.Context(), treeOf(t, tt.events...), tt.part)
			if err != nil {
				t.Fatal(err)
			}
			if got := drawn(rows); got != tt.want || whole != tt.whole {
				t.Errorf("%s, whole %t\nwant %s, %t", got, whole, tt.want, tt.whole)
			}
		})
	}
	for name, part := range map[string]TreePart{
		"below": {Limit: 9, Below: idOf("nowhere")}, "around": {Limit: 9, Around: idOf("nowhere")}, "after": {Limit: 9, Below: idOf("a"), After: idOf("c")},
	} {
		if _, _, _, err := TreeRows(t.Context(), treeOf(t, tree...), part); fault.Of(err) != fault.NotFound {
			t.Errorf("%s an event that is not there: %v", name, err)
		}
	}
}

// Around an event there is the way to it, neighbours on both sides and what is below it, and the gaps count what is missing before.
func TestTreeRowsAround(t *testing.T) {
	t.Parallel()
	tree := []string{"a<r", "b<r", "c<r", "d<r", "e<r", "x<a", "u<d", "v<d", "w<d", "k<v", "l<v"}
	for name, tt := range map[string]struct {
		around string
		limit  int
		want   string
		gaps   map[string]int
		whole  bool
	}{
		"all neighbours":           {"v", 100, "r@-1/5/11 d@0/3/5 u@1/0/0 v@1/2/2 k@3/0/0 l@3/0/0 w@1/0/0", map[string]int{"d": 4}, false},
		"a deep one":               {"v", 4, "r@-1/5/11 d@0/3/5 v@1/2/2 k@2/0/0", map[string]int{"d": 4, "v": 1}, false},
		"neighbours on both sides": {"v", 7, "r@-1/5/11 d@0/3/5 u@1/0/0 v@1/2/2 k@3/0/0 l@3/0/0 w@1/0/0", map[string]int{"d": 4}, false},
		"only the way":             {"k", 4, "r@-1/5/11 d@0/3/5 v@1/2/2 k@2/0/0", map[string]int{"d": 4, "v": 1}, false},
		"the session":              {"r", 3, "r@-1/5/11 a@0/1/1 b@0/0/0", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, gaps, whole, err := TreeRows(t.Context(), treeOf(t, tree...), TreePart{Limit: tt.limit, Around: idOf(tt.around)})
			if err != nil {
				t.Fatal(err)
			}
			got := map[uuid.UUID]int{}
			for _, g := range gaps {
				got[g.Row] = g.Events
			}
			want := map[uuid.UUID]int{}
			for name, n := range tt.gaps {
				want[idOf(name)] = n
			}
			if drawn(rows) != tt.want || whole != tt.whole || !maps.Equal(got, want) {
				t.Errorf("%s, whole %t, gaps %v\nwant %s, %t, %v", drawn(rows), whole, got, tt.want, tt.whole, want)
			}
		})
	}
	if _, _, _, err := TreeRows(t.Context(), treeOf(t, tree...), TreePart{Limit: 3, Around: idOf("k")}); fault.Of(err) != fault.Invalid {
		t.Errorf("around an event that stands too deep: %v", err)
	}
}

// One chain of 100,000 events needs no deep stack, and a page of it is quick.
func TestTreeRowsOfAChain(t *testing.T) {
	t.Parallel()
	const n = 100_000
	events := make([]string, n)
	for i := range n {
		events[i] = fmt.Sprintf("%d<%d", i, i-1)
	}
	events[0] = "0<r"
	rows, _, whole, err := TreeRows(t.Context(), treeOf(t, events...), TreePart{Limit: 20_000})
	if err != nil || whole || len(rows) != 20_000 {
		t.Fatalf("%d rows, whole %t, %v", len(rows), whole, err)
	}
	last := rows[len(rows)-1]
	if last.At != len(rows)-2 || last.Below != n-19_999 {
		t.Errorf("the last row is %s below row %d with %d events below", last.Name, last.At, last.Below)
	}
}

func TestTreeRowOfAnEvent(t *testing.T) {
	t.Parallel()
	set := treeOf(t, "a<r", "b<r", "c<r", "d<r")
	long := strings.Repeat("ä", 1000)
	for i, e := range []event.Event{
		{Type: event.TypeModel, Metadata: json.RawMessage(`{"prompt_tokens":3,"completion_tokens":4,"cost":0.5}`), Unfinished: true},
		{Type: event.TypeModel, Metadata: json.RawMessage(`{"total_tokens":9,"cost":0.5,"duplicate_of":"x"}`)},
		{Type: event.TypeTool, Metadata: json.RawMessage(`{"total_tokens":9}`), Error: &long},
		{Type: event.TypeModel, Name: long, Metadata: json.RawMessage(`{"input_tokens":1,"output_tokens":1,"total_tokens":0}`)},
	} {
		e.ID, e.SessionID, e.ParentID, e.Start = set.Events[i+1].ID, set.Events[0].ID, set.Events[0].ID, float64(i)
		set.Events[i+1] = e
	}
	rows, _, _, err := TreeRows(t.Context(), set, TreePart{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range rows[1:] {
		r := rows[i+1]
		if len(r.Name) > maxRowName || len(r.Error) > maxRowError {
			t.Errorf("texts of %d and %d bytes", len(r.Name), len(r.Error))
		}
		r.ID, r.Name, r.Error = uuid.Nil, "", ""
		got = append(got, string(AppendTreeRow(nil, &r, false)))
	}
	const zero = `"00000000-0000-0000-0000-000000000000"`
	want := []string{
		`[` + zero + `,0,"model","",0,0,"running",null,7,0.5,0,0,null]`,
		`[` + zero + `,0,"model","",1,0,"ended",null,null,null,0,0,null]`,
		`[` + zero + `,0,"tool","",2,0,"ended",null,null,null,0,0,null]`,
		`[` + zero + `,0,"model","",3,0,"ended",null,0,null,0,0,null]`,
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("row %d: %s, want %s", i+1, got[i], want[i])
		}
	}
}

// An event whose fields do not all stand in its row is loaded.
func TestTreeRowIsLoaded(t *testing.T) {
	t.Parallel()
	set := treeOf(t, "a<r")
	whole := set.Events[1]
	whole.Type, whole.Metadata = event.TypeModel, json.RawMessage(`{"total_tokens":5}`)
	set.Complete = func(i int) bool { return i != 1 }
	set.Load = func(_ context.Context, i int) (event.Event, error) { return whole, nil }
	rows, _, _, err := TreeRows(t.Context(), set, TreePart{Limit: 10})
	if err != nil || rows[1].Tokens == nil || *rows[1].Tokens != 5 {
		t.Errorf("%+v, %v", rows, err)
	}
}

func TestPreviews(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][2]string{
		`{}`:                      {"", ""},
		`"plain  text\nin lines"`: {"plain text in lines", "plain text in lines"},
		`{"query":"who?","k":3}`:  {"who?", "who?"},
		`{"k":3}`:                 {`{"k":3}`, `{"k":3}`},
		`{"custom":"its text"}`:   {"its text", "its text"},
		`{"user_id":"u","n":[1]}`: {`{"user_id":"u","n":[1]}`, `{"user_id":"u","n":[1]}`},
		`{"chat_history":[{"role":"system","content":"be brief"},{"role":"user","content":"first"},{"role":"assistant","content":"yes"},{"role":"user","content":[{"type":"text","text":"second"},{"type":"image","image_url":{"url":"x"}}]}]}`: {"second", "yes"},
		`{"role":"assistant","content":"","tool_calls":[{"function":{"name":"search","arguments":"{}"}}]}`:                                                                                                                                      {"search(…)", "search(…)"},
		`{"role":"assistant","content":"ok","choices":[{"role":"assistant","content":"ok2"}]}`:                                                                                                                                                  {"ok", "ok"},
		`{"role":"assistant","tool_calls":[{"id":"c","name":"get_weather","arguments":{"city":"Rome"}}],"reasoning":"I look it up."}`:                                                                                                           {"get_weather(…)", "get_weather(…)"},
		`{"chat_history":[{"role":"user","content":[{"type":"text","text":"What is this?"},{"type":"uri","uri":"https://x/y.png","mime_type":"image/png"}]}]}`:                                                                                  {"What is this?", "What is this?"},
		`{"chat_history":[{"role":"user","content":[{"type":"file","filename":"a.pdf"}]}]}`:                                                                                                                                                     {"a.pdf", "a.pdf"},
		`{"messages":[{"role":"model","parts":[{"text":"from Gemini"}]}]}`:                                                                                                                                                                      {"from Gemini", "from Gemini"},
		`{"choices":[{"message":{"role":"assistant","content":"chosen"}}]}`:                                                                                                                                                                     {"chosen", "chosen"},
		`{"result":{"output":{"text":"deep"}}}`: {"deep", "deep"},
		`[[[[[[[[["too deep"]]]]]]]]]`:          {`[[[[[[[[["too deep"]]]]]]]]]`, `[[[[[[[[["too deep"]]]]]]]]]`},
	} {
		if in, out := PreviewInput(json.RawMessage(raw)), PreviewOutput(json.RawMessage(raw)); in != want[0] || out != want[1] {
			t.Errorf("%s: %q and %q, want %q", raw, in, out, want)
		}
	}
	long := PreviewInput(json.RawMessage(`"` + strings.Repeat("ä", 500) + `"`))
	if n := len([]rune(long)); n != previewLength+1 || !strings.HasSuffix(long, "…") {
		t.Errorf("a long text becomes one of %d characters", n)
	}
}

func FuzzPreview(f *testing.F) {
	f.Add([]byte(`{"chat_history":[{"role":"user","content":"x"}]}`))
	f.Add([]byte(`{"tool_calls":[{"function":{"name":"f"}}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		for _, text := range []string{PreviewInput(raw), PreviewOutput(raw)} {
			if len([]rune(text)) > previewLength+1 || strings.ContainsAny(text, "\n\r\t\x00") {
				t.Errorf("%q", text)
			}
		}
	})
}

func FuzzSessionSearch(f *testing.F) {
	f.Add([]byte(`{"filters":[{"field":"totals.cost","operator":"greater than","value":1}],"sort":"cost","cursor":"eA"}`))
	f.Add([]byte(`{"filters":[{"any":[[{"field":"totals.cost","operator":"is any of","value":[1]}],[{"field":"state","operator":"is","value":"running"}]]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := DecodeSessionSearch(body, time.UnixMilli(1_790_000_000_000))
		if err != nil {
			if fault.Of(err) != fault.Invalid {
				t.Errorf("%v", err)
			}
			return
		}
		if r.Search.Limit < 1 || r.Search.Limit > MaxSessions || !r.Search.Sort.Valid() {
			t.Errorf("%+v", r.Search)
		}
	})
}
