package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/client"
)

// growing is a server whose events become more from look to look.
type growing struct {
	mu     sync.Mutex
	events []placed
	looks  int
	then   func(look int) (arrive []placed, status int) // before a look for ids is answered; 0 is 200
}

func (g *growing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var q struct {
		Range struct {
			From float64 `json:"$gte"`
			To   float64 `json:"$lte"`
		} `json:"dateRange"`
		Projections []string
		Limit       int
		Cursor      string // the id of the last event of the page before
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if len(q.Projections) == 1 && q.Range.To == 0 && q.Cursor == "" {
		g.looks++
		arrive, status := g.then(g.looks)
		g.events = append(g.events, arrive...)
		if status != 0 {
			http.Error(w, "not now", status)
			return
		}
	}
	slices.SortFunc(g.events, func(a, b placed) int { return cmp.Or(cmp.Compare(b.start, a.start), cmp.Compare(b.id, a.id)) })
	first := 1 + slices.IndexFunc(g.events, func(e placed) bool { return e.id == q.Cursor })
	var page []string
	var last, next string
	for _, e := range g.events[first:] {
		if e.start < q.Range.From || q.Range.To > 0 && e.start > q.Range.To {
			continue
		}
		if len(page) == q.Limit {
			next = last
			break
		}
		page, last = append(page, fmt.Sprintf(`{"event_id":%q,"start_time":%s}`, e.id, number64(e.start))), e.id
	}
	fmt.Fprintf(w, `{"events":[%s],"next_cursor":%q}`, strings.Join(page, ","), next)
}

func number64(f float64) string {
	text, _ := json.Marshal(f)
	return string(text)
}

// TestTail holds that each event that arrives in time is shown once, however many share a
// millisecond, and in whatever order they come.
func TestTail(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	base := client.Millis(time.Now().Truncate(time.Millisecond))
	var want []string
	at := func(name string, n int, start float64) (list []placed) {
		for i := range n {
			list = append(list, placed{fmt.Sprintf("%s-%04d", name, i), start})
			want = append(want, list[i].id)
		}
		return list
	}
	old := []placed{{"old", base - 3000}, {"too late", base - 3600_000}}
	g := &growing{}
	g.then = func(look int) ([]placed, int) {
		switch look {
		case 1: // was there before, as the tail must know
			return []placed{old[0]}, 0
		case 2:
			return at("together", 1500, base+1.125), 0
		case 3: // at the same time, and before
			return append(at("again", 3, base+1.125), at("late", 3, base-2000)...), 0
		case 4: // too late
			return []placed{old[1]}, 0
		case 5, 6, 7, 8:
			if look == 5 {
				return at("while away", 2, base+2), http.StatusServiceUnavailable
			}
			return nil, http.StatusServiceUnavailable
		case 10:
			return at("future", 2, base+3600_000), 0
		}
		return nil, 0
	}
	stdout, stderr, err := execute(t, g.ServeHTTP, "", "events", "tail", "--interval", "1ms", "--late", "30m", "--limit", "1510", "--output", "jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(stdout) {
		got = append(got, textOf(json.RawMessage(line), "event_id"))
	}
	if !slices.IsSorted(got[:1500]) {
		t.Error("events of the same time are not in order")
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d events shown, want %d", len(got), len(want))
	}
	for _, line := range []string{"; trying again\n", " answers again\n", "showed 1510 events\n"} {
		if strings.Count(stderr, line) != 1 {
			t.Errorf("no %q, or more than one, in:\n%s", line, stderr)
		}
	}
}

// TestTailEnds holds that what no further look mends ends it.
func TestTailEnds(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	g := &growing{then: func(look int) ([]placed, int) {
		if look == 1 {
			return nil, 0
		}
		return nil, http.StatusUnauthorized
	}}
	_, _, err := execute(t, g.ServeHTTP, "", "events", "tail", "--interval", "1ms")
	if f, ok := err.(*Failure); !ok || f.Exit != 3 || !strings.HasSuffix(f.Line, "; showed 0 events") {
		t.Errorf("error %v", err)
	}
}
