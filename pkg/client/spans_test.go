package client_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spangrove/spangrove/e2e/inprocess"
	"github.com/spangrove/spangrove/pkg/client"
)

// TestSpanWalk reads events as spans, in pages that begin and end among events of the same time,
// and while others come in; sent to the server again they change nothing.
func TestSpanWalk(t *testing.T) {
	inprocess.EachStore(t, func(t *testing.T, url string) {
		c := connect(t, url)
		now := time.Now().Truncate(time.Millisecond)
		want := create(t, c, "span", 25, func(i int) time.Time { return now.Add(-time.Duration(i/7) * time.Second) })
		times := map[string]int{}
		last := float64(0)
		var all []client.Span
		for s, err := range c.OTLP.All(t.Context(), client.EventQuery{Filters: named("span"), Page: client.Page{Limit: 5}}) {
			check(t, err)
			id, start, err := s.Event()
			check(t, err)
			if last > 0 && start > last {
				t.Errorf("%s comes after an older one", id)
			}
			last = start
			times[id]++
			if all = append(all, s); len(all)%5 == 0 {
				create(t, c, "span", 2, func(j int) time.Time { return now.Add(time.Duration(j+1) * time.Second) })
			}
		}
		for _, id := range want {
			if times[id] != 1 {
				t.Errorf("event %s came %d times", id, times[id])
			}
		}
		equal(t, "spans", len(all), len(want))
		before := must(c.Events.Get(t.Context(), want[3]))(t)
		must(c.OTLP.SendSpans(t.Context(), must(client.JoinSpans(all))(t), client.JSON))(t)
		equal(t, "an event that was sent again", must(c.Events.Get(t.Context(), want[3]))(t), before)
		for _, err := range c.OTLP.All(t.Context(), client.EventQuery{Filters: []client.Filter{{Field: "nothing", Operator: client.Is, Value: "x"}}}) {
			equal(t, "status", status(err), 400)
		}
	})
}

// TestSplitSpans takes messages apart and puts them together: the same messages.
func TestSplitSpans(t *testing.T) {
	t.Parallel()
	for message, n := range map[string]int{
		`{"resourceSpans":[]}`: 0,
		`{"resourceSpans":[{"resource":{"attributes":[]},"scopeSpans":[{"scope":{"name":"a"},"spans":[{"n":1},{"n":2}],"schemaUrl":"u"},{"spans":[{"n":3}]}],"schemaUrl":"v"},` +
			`{"scopeSpans":[{"scope":{"name":"<b>"},"spans":[{"n":1.50}]}]}]}`: 4,
	} {
		spans := must(client.SplitSpans([]byte(message)))(t)
		equal(t, "spans of "+message, len(spans), n)
		equal(t, "message", string(must(client.JoinSpans(spans))(t)), message)
	}
	for _, wrong := range []string{``, `[]`, `{"resource_spans":[]}`, `{"resourceSpans":[{"instrumentationLibrarySpans":[]}]}`, `{"resourceSpans":[]} {}`, `{"resourceSpans":1}`} {
		if spans, err := client.SplitSpans([]byte(wrong)); err == nil {
			t.Errorf("%s was taken for %d spans", wrong, len(spans))
		}
	}
	for _, wrong := range []string{`{}`, `1`, `{"attributes":[{"key":"spangrove.event_id","value":{"intValue":"` + strconv.Itoa(1) + `"}}]}`} {
		s := client.Span{Span: json.RawMessage(wrong)}
		if _, _, err := s.Event(); err == nil || strings.Contains(err.Error(), "panic") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

func FuzzSplitSpans(f *testing.F) {
	f.Add(`{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":null,"spans":[{"attributes":[{"key":"spangrove.event_id","value":{"stringValue":"x"}}]},1]}]}]}`)
	f.Add(`{"resourceSpans":null}`)
	f.Fuzz(func(t *testing.T, message string) {
		list, err := client.SplitSpans([]byte(message))
		if err != nil {
			return
		}
		for i := range list {
			_, _, _ = list[i].Event()
		}
		joined, err := client.JoinSpans(list)
		if err != nil {
			t.Fatal(err)
		}
		again, err := client.SplitSpans(joined)
		if err != nil || len(again) != len(list) {
			t.Errorf("%d spans become %d, %v: %s", len(list), len(again), err, joined)
		}
	})
}
