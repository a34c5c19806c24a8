package events

import (
	"context"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/segment"
)

// maxDifferent is how many different values are counted over segments: each is in memory. Of a field with more, those of the newest
// events are counted.
const maxDifferent = 100_000

// Values are numbered for the fields that were asked about last, as far as their tables have room.
const (
	maxValueTables  = 4
	valueTableBytes = 4 << 20
)

type valueTableKey struct {
	project int64
	field   string
}

func newValueTables() *lru.Cache[valueTableKey, *query.ValueTable] {
	c, _ := lru.New[valueTableKey, *query.ValueTable](maxValueTables) // fails for sizes below 1 only
	return c
}

// valueTable returns the numbers of a field's values.
func (s *Store) valueTable(projectID int64, q *query.ValueQuery) *query.ValueTable {
	key := valueTableKey{projectID, q.FieldKey()}
	if t, ok := s.numbers.Get(key); ok {
		return t
	}
	t := query.NewValueTable(valueTableBytes)
	if earlier, ok, _ := s.numbers.PeekOrAdd(key, t); ok {
		return earlier
	}
	return t
}

// valuesInSegments counts the values of all events that match, wherever they are. It reports whether there was an answer.
func (s *Store) valuesInSegments(ctx context.Context, projectID int64, q *query.ValueQuery) (answer *query.ValueAnswer, ok bool, err error) {
	if q.Search.RunID != "" || q.Search.InRuns {
		return nil, s.byRows(ctx, rowsByIndex), nil
	}
	if ok, err = s.usesSegments(ctx, projectID, q.Search.Filters, true, q.InColumns()); !ok || err != nil {
		return nil, false, err
	}
	ok, err = s.inSegments(ctx, projectID, query.NeedPayload(q.Search.Filters), func(v *segmentView) error {
		counts := query.NewValueCounts(q)
		question := "values " + q.BlockKey()
		table := s.valueTable(projectID, q)
		err := eachSegment(ctx, v, v.segments, func(b *segment.Block) (*query.BlockCounts, error) {
			return answerOf(v, b, &q.Search, question, func(found query.Decided) (*query.BlockCounts, error) { return q.CountBlock(b, found, table) })
		}, func(b *segment.Block, c *query.BlockCounts) (bool, error) {
			counts.AddBlock(c)
			if counts.Different() > maxDifferent {
				return false, goByRows(rowsLarge)
			}
			return true, v.addLoose(b, query.Decided{Maybe: c.Maybe})
		})
		if err != nil {
			return err
		}
		err = v.eachLoose(ctx, &q.Search, q.Field.NeedPayload(), func(l *looseEvent) error {
			counts.AddEvent(l.event)
			return nil
		})
		answer = counts.Answer(true)
		return err
	})
	return answer, ok, err
}
