package events

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/spangrove/spangrove/pkg/column"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/segment"
)

// A segment does not change under its id, so what a question makes of it is kept: a chart that is drawn again every few seconds, the next page of a
// list and another chart with the same filters look at new segments alone, and at the few of whose events some have changed.

const (
	// answerCacheBytes bounds what is kept, and maxAnswerBytes what is kept of one question and segment.
	answerCacheBytes = 32 << 20
	maxAnswerBytes   = 128 << 10
)

// match decides a search on a segment. Events that have changed since are neither among those that match nor among those that may.
func (v *segmentView) match(b *segment.Block, q *query.Search) (query.Decided, error) {
	overlaps, covers := q.Overlaps(b)
	if !overlaps {
		return query.Decided{}.Clone(b.Len()), nil
	}
	d, err := v.matchFilters(b, q.Filters)
	if err == nil && !covers {
		err = d.Within(b, q)
	}
	if err != nil {
		return d, err
	}
	for _, row := range b.Unread() {
		d.Match.Remove(row)
		d.Maybe.Add(row)
	}
	return d, v.leaveOutStale(b, d.Match, d.Maybe)
}

// leaveOutStale takes the events of a block that have changed out of sets.
func (v *segmentView) leaveOutStale(b *segment.Block, sets ...column.Set) error {
	stale := v.staleOf(&b.Segment)
	if len(stale) == 0 {
		return nil
	}
	changed, err := b.Rows(stale)
	if err != nil {
		return err
	}
	for _, set := range sets {
		set.AndNot(changed)
	}
	return nil
}

// matchFilters decides filters on all events of a segment.
func (v *segmentView) matchFilters(b *segment.Block, filters []query.Filter) (query.Decided, error) {
	if len(filters) == 0 {
		return query.MatchBlock(b, nil)
	}
	// Until there is an index of words, events that may match are to be read.
	question := fmt.Sprint("match ", b.HasWords, query.KeyOf(filters))
	x, err := v.s.answers.Answer(b.ID, question, maxAnswerBytes, func() (any, int, error) {
		d, err := query.MatchBlock(b, filters)
		if d.Match.Empty() {
			d.Match = nil
		}
		if d.Maybe.Empty() {
			d.Maybe = nil
		}
		return d, d.Bytes(), err
	})
	if err != nil {
		return query.Decided{}, err
	}
	return x.(query.Decided).Clone(b.Len()), nil
}

// staleOf returns the places of the events of a segment that have changed, in order.
func (v *segmentView) staleOf(x *segment.Segment) []int64 {
	first, _ := slices.BinarySearch(v.stale, x.FirstSeq)
	last, found := slices.BinarySearch(v.stale, x.LastSeq)
	if found {
		last++
	}
	return v.stale[first:max(first, last)]
}

// changesOf returns a hash of which events of a segment have changed.
func (v *segmentView) changesOf(x *segment.Segment) []byte {
	h := fnv.New128a()
	for _, seq := range v.staleOf(x) {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(seq)))
	}
	return h.Sum(nil)
}

// answerOf returns what a question makes of the events of a segment that a search finds, which work does unless it is known. question says
// all that the answer depends on beside the search.
func answerOf[T interface{ Bytes() int }](v *segmentView, b *segment.Block, q *query.Search, question string,
	work func(found query.Decided) (T, error)) (t T, err error) {
	within := ""
	if _, covers := q.Overlaps(b); !covers {
		within = fmt.Sprint(number(q.From), number(q.To))
	}
	question = fmt.Sprintf("%s %v %s %x %s", question, b.HasWords, within, v.changesOf(&b.Segment), query.KeyOf(q.Filters))
	x, err := v.s.answers.Answer(b.ID, question, maxAnswerBytes, func() (any, int, error) {
		d, err := v.match(b, q)
		if err != nil {
			return nil, 0, err
		}
		t, err := work(d)
		if err != nil {
			return nil, 0, err
		}
		return t, t.Bytes(), nil
	})
	if err != nil {
		return t, err
	}
	return x.(T), nil
}

// number returns what a pointer points to, or nil.
func number(f *float64) any {
	if f == nil {
		return nil
	}
	return *f
}

// forget drops what is in memory of segments.
func (s *Store) forget(ids ...int64) {
	for _, id := range ids {
		s.columns.Drop(id)
		s.answers.Drop(id)
	}
}
