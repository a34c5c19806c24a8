package events

import (
	"bytes"
	"slices"

	"github.com/spangrove/spangrove/pkg/query"
)

// EventPlace is an event's place in the order of a search.
type EventPlace struct {
	query.Place
	Day int32
}

// before reports whether a stands before b in the order of a search: by its value, and then by id.
func before(a, b query.Place, ascending bool) bool {
	if ascending {
		a, b = b, a
	}
	if a.Value != b.Value {
		return a.Value > b.Value
	}
	return bytes.Compare(a.ID[:], b.ID[:]) > 0
}

// firstPlaces collects the first n places of an order. Beside them it holds others, a quarter as many, until it drops those that stand
// behind; so a place costs the same whatever n is.
type firstPlaces struct {
	n         int
	ascending bool
	after     *query.Place // of the cursor: those up to there are left out; nil: none is
	list      []EventPlace
	last      EventPlace // the n-th place when others were dropped last
	isFull    bool       // last is set
}

// spare is how many places beyond n there may at least be.
const spare = 1024

// wants reports whether a place may be one of the first.
func (p *firstPlaces) wants(at query.Place) bool {
	return p.n > 0 && (!p.isFull || before(at, p.last.Place, p.ascending))
}

// wantsValue reports whether a place with a value may be one of the first, whatever its id.
func (p *firstPlaces) wantsValue(v float64) bool {
	return p.n > 0 && (!p.isFull || !isBehind(v, p.last.Value, p.ascending))
}

// consider adds a place if it may be one of the first.
func (p *firstPlaces) consider(at EventPlace) {
	if (p.after == nil || before(*p.after, at.Place, p.ascending)) && p.wants(at.Place) {
		p.add(at)
	}
}

// add adds a place that is wanted.
func (p *firstPlaces) add(at EventPlace) {
	p.list = append(p.list, at)
	if len(p.list) >= p.n+max(spare, p.n/4) {
		p.drop()
	}
}

// drop drops all places behind the first n.
func (p *firstPlaces) drop() {
	if p.n == 0 || len(p.list) < p.n || (p.isFull && len(p.list) == p.n) {
		return
	}
	selectPlace(p.list, p.n-1, p.ascending)
	p.list = p.list[:p.n]
	p.last, p.isFull = p.list[p.n-1], true
}

// page returns the first places behind the first offset of them, in order. Nothing may be added afterwards.
func (p *firstPlaces) page(offset int) []EventPlace {
	p.drop()
	if offset >= len(p.list) {
		return nil
	}
	if offset > 0 {
		selectPlace(p.list, offset, p.ascending)
	}
	list := p.list[offset:]
	slices.SortFunc(list, func(a, b EventPlace) int {
		switch {
		case before(a.Place, b.Place, p.ascending):
			return -1
		case before(b.Place, a.Place, p.ascending):
			return 1
		}
		return 0
	})
	return list
}

// isBehind reports whether a value stands behind another one in the order, whatever the ids.
func isBehind(v, other float64, ascending bool) bool {
	if ascending {
		return v > other
	}
	return v < other
}

// selectPlace orders places so far that the one at n is where it would be if they were sorted, with none behind it in the order before it
// in the list, and none that precedes it behind.
func selectPlace(list []EventPlace, n int, ascending bool) {
	first := func(a, b *EventPlace) bool {
		if a.Value != b.Value {
			return (a.Value < b.Value) == ascending
		}
		return before(a.Place, b.Place, ascending)
	}
	for len(list) > 1 {
		// The median of three as a pivot: lists are often in order already.
		a, b, c := &list[0], &list[len(list)/2], &list[len(list)-1]
		if first(b, a) {
			a, b = b, a
		}
		if first(c, b) {
			b = c
			if first(b, a) {
				b = a
			}
		}
		pivot := *b
		i, j := 0, len(list)-1
		for i <= j {
			for first(&list[i], &pivot) {
				i++
			}
			for first(&pivot, &list[j]) {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case n <= j:
			list = list[:j+1]
		case n >= i:
			list, n = list[i:], n-i
		default:
			return
		}
	}
}
