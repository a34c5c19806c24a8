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
		if sums.KeepsValues() {
			answer, err = v.chartOfPercentiles(ctx, c, &plan)
			return err
		}
		question := "chart " + sums.BlockKey()
		err := eachSegment(ctx, v, v.segments, func(b *segment.Block) (*query.BlockSums, error) {
			return answerOf(v, b, &c.Search, question, func(found query.Decided) (*query.BlockSums, error) { return sums.SumBlock(query.Share(b), found) })
		}, func(b *segment.Block, x *query.BlockSums) (bool, error) {
			if err := sums.AddBlock(x); err != nil {
				return false, err
			}
			return true, v.addLoose(b, query.Decided{Maybe: x.Maybe})
		})
		if err == nil {
			err = v.eachLoose(ctx, &c.Search, c.NeedPayload(), func(l *looseEvent) error { return sums.AddEvent(l.event) })
		}
		answer, err = chartResult(sums, err)
		return err
	})
	return answer, ok, err
}

// chartOfPercentiles answers a chart of percentiles. Points that are known are of no use where groups become one.
func (v *segmentView) chartOfPercentiles(ctx context.Context, c *query.Chart, plan *query.ChartPlan) (*query.ChartAnswer, error) {
	keys := v.keys
	sums := query.NewChartSums(c, plan, nil)
	known, err := v.sumPercentiles(ctx, c, sums, true)
	if err == nil && known && sums.JoinsGroups() {
		v.keys = keys
		sums = query.NewChartSums(c, plan, nil)
		_, err = v.sumPercentiles(ctx, c, sums, false)
	}
	return chartResult(sums, err)
}

func chartResult(sums *query.ChartSums, err error) (*query.ChartAnswer, error) {
	if errors.Is(err, query.ErrManyGroups) {
		return nil, goByRows(rowsLarge)
	}
	return sums.Result(err)
}
