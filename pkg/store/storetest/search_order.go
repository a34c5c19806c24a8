package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
)

// Whatever the order, its direction, the size of a page and who decides the filters: each event is on one page, in order, and the total is
// exact on each.
func searchOrders(e *env) {
	// Twelve events a second apart, in which each value but the start occurs several times, or is absent.
	const n = 12
	batch := []event.Incoming{start("s", "session", 0, 50)}
	for i := range n {
		c := step("s", fmt.Sprintf("e%d", i), float64(i))
		c.End = c.Start + float64(i%4)
		c.Duration, c.DurationGiven = float64(i%4), true
		c.Inputs = text(`{"q":"needle %d"}`, i)
		switch {
		case i%5 == 4: // neither cost nor tokens
		case i == 7: // too large to stand in its row
			c.Metadata = text(`{"cost":%d,"total_tokens":%d,"padding":%q}`, i%3, i%5, strings.Repeat("x", 40_000))
		default:
			c.Metadata = text(`{"cost":%d,"total_tokens":%d}`, i%3, i%5)
		}
		batch = append(batch, c)
	}
	e.put(batch...)
	values := map[query.EventSort]func(i int) float64{
		query.EventsByStart:    func(i int) float64 { return float64(i) },
		query.EventsByDuration: func(i int) float64 { return float64(i % 4) },
		query.EventsByCost: func(i int) float64 {
			if i%5 == 4 {
				return 0
			}
			return float64(i % 3)
		},
		query.EventsByTokens: func(i int) float64 {
			if i%5 == 4 {
				return 0
			}
			return float64(i % 5)
		},
	}
	steps := e.filter("event_type", "is not", "string", `"session"`)
	inPayload := e.filter("inputs.q", "contains", "string", `"needle"`)
	for _, sort := range query.EventSorts() {
		for _, ascending := range []bool{false, true} {
			order := make([]int, n)
			for i := range order {
				order[i] = i
			}
			slices.SortFunc(order, func(a, b int) int {
				c := int(values[sort](a) - values[sort](b))
				if c == 0 {
					x, y := id(fmt.Sprintf("e%d", a)), id(fmt.Sprintf("e%d", b))
					c = slices.Compare(x[:], y[:])
				}
				if !ascending {
					c = -c
				}
				return c
			})
			var want []string
			for _, i := range order {
				want = append(want, fmt.Sprintf("e%d", i))
			}
			for _, filters := range [][]query.Filter{{steps}, {steps, inPayload}} {
				for _, limit := range []int{1, 5, n, 100} {
					q := query.Search{Filters: filters, Sort: sort, Ascending: ascending, Limit: limit, Page: 1, Continued: true}
					what := fmt.Sprintf("by %s, ascending %t, %d filters, %d a page", sort, ascending, len(filters), limit)
					e.equal(what, want, e.walkEvents(q, n))
					q.Page, q.Continued = 2, false
					set := e.search(q)
					e.equal(what+", second page", min(limit, max(0, n-limit)), len(set.Events))
					for i := range set.Events {
						e.equal(what+", second page", want[limit+i], set.Events[i].Name)
					}
				}
			}
		}
	}
}

// walkEvents reads all pages of a search by their cursors.
func (e *env) walkEvents(q query.Search, total int) (names []string) {
	e.Helper()
	for {
		set := e.search(q)
		e.equal("total", total, set.Total)
		for i := range set.Events {
			names = append(names, set.Events[i].Name)
		}
		if len(set.Events) > q.Limit || len(names) > 100 {
			e.Fatalf("%d events on a page of %d, %d in all", len(set.Events), q.Limit, len(names))
		}
		if !set.HasMore {
			return names
		}
		q.After = &query.Place{Value: set.Last, ID: set.Events[len(set.Events)-1].ID}
	}
}
