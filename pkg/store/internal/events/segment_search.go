package events

import (
	"cmp"
	"container/heap"
	"context"
	"slices"

	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/segment"
)

// maxIndexedPage is the last row of a page without filters that is read by the index of starts.
const maxIndexedPage = 2000

// earlyKeys is from how many rows on a search that is not counted reads them before it looks at further segments.
const earlyKeys = 50

// searchesSegments reports whether a search is answered from segments if there are any: columns must decide all filters, and no index may
// lead to the answer at once.
func (s *Store) searchesSegments(ctx context.Context, projectID int64, q *query.Search, offset int) (bool, error) {
	if q.RunID != "" || q.InRuns || query.HasIndex(q.Filters, !q.Uncounted || q.Sort.Column() != "e.start_ms") {
		return s.byRows(ctx, rowsByIndex), nil
	}
	if !query.InColumns(q.Filters) {
		return s.byRows(ctx, rowsByFields), nil
	}
	if q.Sort.Column() != "e.start_ms" || offset+q.Limit > maxIndexedPage {
		return true, nil
	}
	if len(q.Filters) == 0 && q.Uncounted {
		return s.byRows(ctx, rowsByIndex), nil
	}
	_, isCounted, err := s.countFromCounters(ctx, projectID, q)
	if isCounted {
		return s.byRows(ctx, rowsByIndex), err
	}
	return true, err
}

// segmentSearch collects a page of a search from segments.
type segmentSearch struct {
	v     *segmentView
	q     *query.Search
	top   eventPlaces
	keep  int
	total int
}

// searchSegments returns the best places of a search, and the number of all events that match. It reports whether there was an answer.
func (s *Store) searchSegments(ctx context.Context, projectID int64, q *query.Search, keep int) (best []EventPlace, total int, ok bool, err error) {
	ok, err = s.inSegments(ctx, projectID, query.NeedPayload(q.Filters), func(v *segmentView) error {
		x := &segmentSearch{v: v, q: q, keep: keep, top: eventPlaces{ascending: q.Ascending}}
		if err := x.run(ctx); err != nil {
			return err
		}
		total, best = x.total, x.top.sorted()
		return nil
	})
	return best, total, ok, err
}

func (x *segmentSearch) run(ctx context.Context) error {
	list := slices.Clone(x.v.segments)
	// Those with the first places of the order come first: they leave less to be looked at in the others.
	slices.SortStableFunc(list, func(a, b segment.Segment) int {
		if x.q.Ascending {
			return cmp.Compare(a.FirstMS, b.FirstMS)
		}
		return cmp.Compare(b.LastMS, a.LastMS)
	})
	err := eachSegment(ctx, x.v, list, func(b *segment.Block) (query.Decided, error) { return x.v.match(b, x.q) },
		func(b *segment.Block, d query.Decided) (more bool, err error) {
			if x.isFull(b) {
				return false, nil
			}
			if err := x.add(b, d); err != nil {
				return false, err
			}
			return true, x.readEarly(ctx)
		})
	if err != nil {
		return err
	}
	return x.v.eachLoose(ctx, x.q, false, x.addLoose)
}

// addLoose adds an event that was read from its row.
func (x *segmentSearch) addLoose(l *looseEvent) error {
	x.total++
	x.consider(EventPlace{query.Place{Value: x.q.Sort.Value(l.event), ID: l.ID}, l.Day})
	return nil
}

// isFull reports whether neither a segment nor one behind it in the order of the search can change the answer.
func (x *segmentSearch) isFull(b *segment.Block) bool {
	if !x.q.Uncounted || x.q.Sort.Column() != "e.start_ms" || x.top.Len() < x.keep || x.keep == 0 {
		return false
	}
	worst := x.top.list[0].Value
	return (x.q.Ascending && b.FirstMS > worst) || (!x.q.Ascending && b.LastMS < worst)
}

// readEarly reads the rows that a search which nobody counts has to look at so far: they may fill the page, and spare it all other segments.
func (x *segmentSearch) readEarly(ctx context.Context) error {
	if !x.q.Uncounted || x.q.Sort.Column() != "e.start_ms" || len(x.v.keys) < earlyKeys {
		return nil
	}
	keys := x.v.keys
	x.v.keys = nil
	return newLooseReader(x.v, x.q, false, x.addLoose).readKeys(ctx, keys)
}

// add adds the events of a segment.
func (x *segmentSearch) add(b *segment.Block, d query.Decided) error {
	n := d.Match.Count()
	x.total += n
	if n > 0 && x.mayHold(b) {
		values, err := x.q.Sort.SortValuesOf(b)
		if err != nil {
			return err
		}
		values.Maybe.And(d.Match)
		d.Match.AndNot(values.Maybe)
		d.Maybe.Or(values.Maybe)
		x.total -= values.Maybe.Count()
		if err := x.addPlaces(b, d, values.Values); err != nil {
			return err
		}
	}
	return x.v.addLoose(b, d)
}

// mayHold reports whether a segment may hold a place of the page.
func (x *segmentSearch) mayHold(b *segment.Block) bool {
	if x.q.Sort.Column() != "e.start_ms" {
		return true
	}
	first, last := b.Times()
	if a := x.q.After; a != nil && ((x.q.Ascending && last < a.Value) || (!x.q.Ascending && first > a.Value)) {
		return false
	}
	if x.top.Len() < x.keep {
		return true
	}
	worst := x.top.list[0].Value
	return (x.q.Ascending && first <= worst) || (!x.q.Ascending && last >= worst)
}

// addPlaces considers the events of a segment that match. Ids are read if one of them may be on the page.
func (x *segmentSearch) addPlaces(b *segment.Block, d query.Decided, values []float64) (err error) {
	var ids segment.IDs
	d.Match.Each(func(row int) bool {
		v := values[row]
		if x.top.Len() == x.keep && isBehind(v, x.top.list[0].Value, x.q.Ascending) {
			return true
		}
		if a := x.q.After; a != nil && isBehind(a.Value, v, x.q.Ascending) {
			return true
		}
		if ids == nil {
			if ids, err = b.IDs(); err != nil {
				return false
			}
		}
		at := EventPlace{query.Place{Value: v, ID: ids.Of(row)}, 0}
		if !x.wants(at) {
			return true
		}
		if at.Day, err = b.Day(row); err != nil {
			return false
		}
		x.consider(at)
		return true
	})
	return err
}

// isBehind reports whether a value stands behind another one in the order, whatever the ids.
func isBehind(v, other float64, ascending bool) bool {
	if ascending {
		return v > other
	}
	return v < other
}

// wants reports whether a place may be on the page, as far as is known by now.
func (x *segmentSearch) wants(at EventPlace) bool {
	if x.q.After != nil && !before(*x.q.After, at.Place, x.q.Ascending) {
		return false
	}
	return x.top.Len() < x.keep || (x.keep > 0 && before(at.Place, x.top.list[0].Place, x.q.Ascending))
}

func (x *segmentSearch) consider(at EventPlace) {
	if x.wants(at) {
		x.top.keep(at, x.keep)
	}
}

// keep adds a place, which takes that of the worst if there are n.
func (p *eventPlaces) keep(at EventPlace, n int) {
	if p.Len() < n {
		heap.Push(p, at)
		return
	}
	p.list[0] = at
	heap.Fix(p, 0)
}

// sorted empties the heap into a list, the best first.
func (p *eventPlaces) sorted() []EventPlace {
	// The heap gives the worst first, so the list is filled from its end.
	best := make([]EventPlace, p.Len())
	for i := p.Len() - 1; i >= 0; i-- {
		best[i] = heap.Pop(p).(EventPlace)
	}
	return best
}
