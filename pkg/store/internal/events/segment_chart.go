package events

import (
	"context"
	"errors"

	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/segment"
)

// chartSegments sums up a chart over segments, and over the events that are in none. It reports whether there was an answer: not for a
// chart of more groups than are summed up at once, whose largest ones the database finds.
func (s *Store) chartSegments(ctx context.Context, projectID int64, c *query.Chart, earliest float64) (answer *query.ChartAnswer, ok bool, err error) {
	if c.RunID != "" || c.InRuns {
		return nil, s.byRows(ctx, rowsByIndex), nil
	}
	if ok, err = s.usesSegments(ctx, projectID, c.Filters, true, c.InColumns()); !ok || err != nil {
		return nil, false, err
	}
	ok, err = s.inSegments(ctx, projectID, query.NeedPayload(c.Filters), func(v *segmentView) error {
		plan := query.CompileChart(query.NewBuilder(s.Dialect), projectID, c, earliest)
		sums := query.NewChartSums(c, &plan, nil)
		question := "chart " + sums.BlockKey()
		err := eachSegment(ctx, v, v.segments, func(b *segment.Block) (*query.BlockSums, error) {
			return answerOf(v, b, &c.Search, question, func(found query.Decided) (*query.BlockSums, error) { return sums.SumBlock(b, found) })
		}, func(b *segment.Block, x *query.BlockSums) (bool, error) {
			if err := sums.AddBlock(x); err != nil {
				return false, err
			}
			return true, v.addLoose(b, query.Decided{Maybe: x.Maybe})
		})
		if err == nil {
			err = v.eachLoose(ctx, &c.Search, c.NeedPayload(), func(l *looseEvent) error { return sums.AddEvent(l.event) })
		}
		if errors.Is(err, query.ErrManyGroups) {
			return goByRows(rowsLarge)
		}
		answer, err = sums.Result(err)
		return err
	})
	return answer, ok, err
}
