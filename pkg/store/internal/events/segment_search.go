package events

import (
	"cmp"
	"context"
	"slices"

	"github.com/spangrove/spangrove/pkg/column"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/segment"
)

// maxIndexedPage is the last row of a page without filters that is read by the index of starts.
const maxIndexedPage = 2000

// earlyKeys is from how many rows on a search that is not counted reads them before it looks at further segments.
const earlyKeys = 50

// fewPlaces is of how many events of a segment at most the places are kept, so that asking again decodes no columns for them.
const fewPlaces = 100

// searchesSegments reports whether a search is answered from segments if there are any: columns must decide all filters, and no index may
// lead to the answer at once.
func (s *Store) searchesSegments(ctx context.Context, projectID int64, q *query.Search, offset int) (bool, error) {
	if q.RunID != "" || q.InRuns {
		return s.byRows(ctx, rowsByIndex), nil
	}
	counted := !q.Uncounted || q.Sort.Column() != "e.start_ms"
	if use, err := s.usesSegments(ctx, projectID, q.Filters, counted, query.InColumns(q.Filters)); !use || err != nil {
		return false, err
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
	top   firstPlaces
	total int
}

// searchSegments returns the places of a page behind offset, and the number of all events that match. It reports whether there was an answer.
func (s *Store) searchSegments(ctx context.Context, projectID int64, q *query.Search, offset int) (page []EventPlace, total int, ok bool, err error) {
	ok, err = s.inSegments(ctx, projectID, query.NeedPayload(q.Filters), func(v *segmentView) error {
		x := &segmentSearch{v: v, q: q, top: firstPlaces{n: offset + q.Limit, ascending: q.Ascending, after: q.After}}
		if err := x.run(ctx); err != nil {
			return err
		}
		total, page = x.total, x.top.page(offset)
		return nil
	})
	return page, total, ok, err
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
	x.top.consider(EventPlace{query.Place{Value: x.q.Sort.Value(l.event), ID: l.ID}, l.Day})
	return nil
}

// endsEarly reports whether the search may end before it has seen all segments: nobody asks for the total, and they come in its order.
func (x *segmentSearch) endsEarly() bool { return x.q.Uncounted && x.q.Sort.Column() == "e.start_ms" }

// isFull reports whether neither a segment nor one behind it in the order of the search can change the answer.
func (x *segmentSearch) isFull(b *segment.Block) bool {
	if !x.endsEarly() || x.top.n == 0 {
		return false
	}
	x.top.drop()
	if !x.top.isFull {
		return false
	}
	last := x.top.last.Value
	return (x.q.Ascending && b.FirstMS > last) || (!x.q.Ascending && b.LastMS < last)
}

// readEarly reads the rows that the search has to look at so far: they may fill the page, and spare it all other segments.
func (x *segmentSearch) readEarly(ctx context.Context) error {
	if !x.endsEarly() || len(x.v.keys) < earlyKeys {
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
		maybe, err := x.addPlaces(b, d.Match, n)
		if err != nil {
			return err
		}
		if !maybe.Empty() {
			x.total -= maybe.Count()
			d.Maybe.Or(maybe)
		}
	}
	return x.v.addLoose(b, d)
}

// mayHold reports whether a segment may hold a place of the page.
func (x *segmentSearch) mayHold(b *segment.Block) bool {
	if x.q.Sort.Column() != "e.start_ms" {
		return true
	}
	best, worst := b.Times()
	if !x.q.Ascending {
		best, worst = worst, best
	}
	if a := x.q.After; a != nil && isBehind(a.Value, worst, x.q.Ascending) {
		return false
	}
	x.top.drop()
	return x.top.wantsValue(best)
}

// addPlaces adds n events of a segment that match, and returns those of them whose place columns do not tell.
func (x *segmentSearch) addPlaces(b *segment.Block, rows column.Set, n int) (maybe column.Set, err error) {
	if n > fewPlaces {
		return eachPlace(b, rows, x.q.Sort, x.wantsValue, x.top.consider)
	}
	few, err := answerOf(x.v, b, x.q, "found "+string(x.q.Sort), func(found query.Decided) (*places, error) {
		p := &places{}
		maybe, err := eachPlace(b, found.Match, x.q.Sort, anyValue, func(at EventPlace) { p.list = append(p.list, at) })
		if !maybe.Empty() {
			p.maybe = maybe
		}
		return p, err
	})
	if err != nil {
		return nil, err
	}
	for _, at := range few.list {
		x.top.consider(at)
	}
	return few.maybe, nil
}

// wantsValue reports whether an event with a value to sort by may be on the page.
func (x *segmentSearch) wantsValue(v float64) bool {
	a := x.q.After
	return x.top.wantsValue(v) && (a == nil || !isBehind(a.Value, v, x.q.Ascending))
}

func anyValue(float64) bool { return true }

// places are those of the few events of a segment that a search finds.
type places struct {
	list  []EventPlace
	maybe column.Set // rows whose place columns do not tell
}

// Bytes returns about how much memory they take.
func (p *places) Bytes() int { return 100 + 40*len(p.list) + 8*len(p.maybe) }

// eachPlace calls f with the places of rows of a segment whose values are wanted, and returns the rows whose place columns do not tell. Ids
// and days are read if a value is wanted.
func eachPlace(b *segment.Block, rows column.Set, sort query.EventSort, wants func(value float64) bool, f func(EventPlace)) (maybe column.Set, err error) {
	values, err := sort.SortValuesOf(b)
	if err != nil {
		return nil, err
	}
	values.Maybe.And(rows)
	var keys *segment.Keys
	for row := range rows.All() {
		v := values.Values[row]
		if values.Maybe.Has(row) || !wants(v) {
			continue
		}
		if keys == nil {
			if keys, err = b.Keys(); err != nil {
				return nil, err
			}
		}
		id, day := keys.Of(row)
		f(EventPlace{query.Place{Value: v, ID: id}, day})
	}
	return values.Maybe, nil
}
