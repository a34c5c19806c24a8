package query

import (
	"slices"

	"github.com/spangrove/spangrove/pkg/column"
	"github.com/spangrove/spangrove/pkg/event"
)

// InColumns reports whether the search can be decided on blocks.
func (q *SessionSearch) InColumns() bool { return InColumns(q.Filters) && InColumns(q.EventFilters) }

// OfSessions returns the search for the session events that the filters on sessions let through.
func (q *SessionSearch) OfSessions() *Search {
	filters := append([]Filter{isText("event_type", "is", string(event.TypeSession))}, q.Filters...)
	return &Search{Filters: filters, From: q.From, To: q.To}
}

// SessionEvents returns the events of a block that show the totals of their session.
func SessionEvents(b Block) (column.Set, error) {
	set := column.NewSet(b.Len())
	col, err := b.Column(DerivedColumn)
	if err != nil || col == nil {
		return set, err
	}
	if !col.IsNumeric() {
		return nil, column.ErrDamaged
	}
	eachNumber(col, func(row int, _ float64) { set.Add(row) })
	return set, nil
}

// OfEvents returns the filters that look at no total and no state of a session, so that a statement over events alone can decide them.
func OfEvents(fs []Filter) []Filter {
	return slices.DeleteFunc(slices.Clone(fs), func(f Filter) bool {
		return slices.ContainsFunc(f.conds(), func(c *cond) bool { return c.root.kind == kindTotal || c.root.kind == kindState })
	})
}

// ValuesOf returns what the session events of a block are sorted by. Those of other events mean nothing.
func (s SessionSort) ValuesOf(b Block) (BlockNumbers, error) {
	n := b.Len()
	x := BlockNumbers{make([]float64, n), column.NewSet(n), column.NewSet(n)}
	name := totalSorts[s]
	switch s {
	case SortStart, "":
		name = "start_time"
	case SortDuration:
		name = "duration"
	case SortState:
		name = stateField
	}
	col, err := b.Column(name)
	if err != nil || col == nil {
		return x, err
	}
	x.read(col, func(int) (float64, bool) { return 0, false })
	return x, nil
}

// Value returns what a session is sorted by.
func (s SessionSort) Value(e *event.Event, t *event.SessionTotals) float64 {
	switch s {
	case SortStart, "":
		return e.Start
	case SortDuration:
		return e.Duration
	case SortState:
		if t.Unfinished > 0 {
			return 1
		}
		return 0
	}
	total := totals[totalSorts[s]]
	return total.of(t)
}
