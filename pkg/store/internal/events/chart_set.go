package events

import (
	"context"
	"slices"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/segment"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Charts answers several charts of one range, each as Chart does. It is one heavy read, however many charts there are: those that segments
// can answer are summed up in one pass over them (sumTogether), so that each column is read once, and the others come one after another.
func (s *Store) Charts(ctx context.Context, projectID int64, set *query.ChartSet) (*query.ChartTable, error) {
	ctx, end, err := s.HeavyRead(ctx, projectID, ScanConns)
	if err != nil {
		return nil, err
	}
	defer end()
	from := set.From
	if from == nil {
		if from, err = s.firstStart(ctx, projectID); err != nil {
			return nil, sqldb.WrapError(s.db, err, "chart")
		}
	}
	asked := set.Settle(from)
	t := &query.ChartTable{Bucket: asked.Bucket, Series: make([]query.SeriesAnswer, len(set.Series))}
	if t.Times, err = asked.Buckets(); err != nil {
		return nil, err
	}
	if err := s.addCharts(ctx, projectID, &asked, t, t.Times, false); err != nil {
		return nil, err
	}
	if asked.Previous {
		var before query.ChartSet
		before, t.Previous = asked.Before(t.Times)
		if err := s.addCharts(ctx, projectID, &before, t, t.Previous, true); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// addCharts adds the charts of a range to a table, in whose groups those of the previous period are split.
func (s *Store) addCharts(ctx context.Context, projectID int64, set *query.ChartSet, t *query.ChartTable, times []time.Time, previous bool) error {
	charts := make([]*query.Chart, len(set.Series))
	for i := range charts {
		var only []string
		if previous && set.Series[i].Group != nil {
			only = t.Series[i].Groups()
		}
		if t.Series[i].Err == nil {
			charts[i] = set.Chart(i, only)
		}
	}
	answers, err := s.sumTogether(ctx, projectID, charts)
	if err != nil {
		return sqldb.WrapError(s.db, err, "chart")
	}
	for i, c := range charts {
		if c == nil {
			continue
		}
		x := &t.Series[i]
		if answers[i] == nil {
			answers[i], err = s.Chart(ctx, projectID, c)
		}
		if fault.Of(err) == fault.Invalid {
			x.Err, x.Rows, err = err, nil, nil
			continue
		}
		if err != nil {
			return err
		}
		answers[i].AddTo(x, c, times, previous)
		if t.Values() > query.MaxChartPoints {
			return t.TooMany()
		}
	}
	return nil
}

// chartSum is one of several charts that are summed up over segments together.
type chartSum struct {
	c        *query.Chart
	match    query.Matcher
	sums     *query.ChartSums
	question string
	known    *percentiles   // of a chart of percentiles
	looks    map[int64]bool // the segments that known leaves to be looked at
	keys     []eventKey     // of events in segments that must be read from their rows
	answer   *query.ChartAnswer
	failed   bool // it is to be answered by itself
}

// sumTogether answers the charts that segments can answer in one pass over them. The others have no answer: those are for Chart.
func (s *Store) sumTogether(ctx context.Context, projectID int64, charts []*query.Chart) ([]*query.ChartAnswer, error) {
	answers := make([]*query.ChartAnswer, len(charts))
	var at []int
	for i, c := range charts {
		if c == nil || c.RunID != "" || c.InRuns || query.LookInPayloads(c.Filters) {
			continue
		}
		ok, err := s.usesSegments(ctx, projectID, c.Filters, true, c.InColumns())
		if err != nil {
			return nil, err
		}
		if ok {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return answers, nil
	}
	var list []*chartSum
	ok, err := s.inSegments(ctx, projectID, false, func(v *segmentView) error {
		list = nil
		for _, i := range at {
			list = append(list, s.newChartSum(projectID, charts[i]))
		}
		return v.sumCharts(ctx, list)
	})
	if err != nil || !ok {
		return answers, err
	}
	for n, x := range list {
		if !x.failed {
			answers[at[n]] = x.answer
		}
	}
	return answers, nil
}

func (s *Store) newChartSum(projectID int64, c *query.Chart) *chartSum {
	plan := query.CompileChart(query.NewBuilder(s.Dialect), projectID, c, *c.From)
	x := &chartSum{c: c, match: query.NewMatcher(c.Filters), sums: query.NewChartSums(c, &plan, nil)}
	x.question = "chart " + x.sums.BlockKey()
	return x
}

// sumCharts sums up charts of one range.
func (v *segmentView) sumCharts(ctx context.Context, list []*chartSum) error {
	// Rows that are in no segment, or have changed, are read once for all of the charts, each of which has filters of its own. Percentiles
	// need them first: points of their buckets are not known.
	within := query.Search{From: list[0].c.From, To: list[0].c.To}
	needPayload := slices.ContainsFunc(list, func(x *chartSum) bool { return x.c.NeedPayload() || query.NeedPayload(x.c.Filters) })
	err := v.eachLoose(ctx, &within, needPayload, func(l *looseEvent) error {
		for _, x := range list {
			if x.matches(l) {
				x.failed = x.sums.AddEvent(l.event) != nil
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	v.keys = nil
	for _, x := range list {
		x.begin(v)
	}
	var look []segment.Segment
	for _, sg := range v.segments {
		if overlaps, _ := within.Overlaps(&sg); overlaps {
			look = append(look, sg)
		}
	}
	err = eachSegment(ctx, v, look, func(b *segment.Block) ([]*query.BlockSums, error) {
		sums, shared := make([]*query.BlockSums, len(list)), query.Share(b)
		for i, x := range list {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			var err error
			if sums[i], err = x.sumBlock(v, b, shared); err != nil {
				return nil, err
			}
		}
		return sums, nil
	}, func(b *segment.Block, sums []*query.BlockSums) (bool, error) {
		for i, x := range list {
			if err := x.addBlock(v, b, sums[i]); err != nil {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, x := range list {
		if err := x.finish(ctx, v); err != nil {
			return err
		}
	}
	return nil
}

// matches reports whether an event that was read from its row is of the chart.
func (x *chartSum) matches(l *looseEvent) bool {
	match := x.match
	if l.totals != nil {
		match = match.OfSession(l.totals)
	}
	return !x.failed && match.Match(l.event)
}

// begin finds the points of percentiles that are known.
func (x *chartSum) begin(v *segmentView) {
	if x.failed || !x.sums.KeepsValues() {
		return
	}
	x.known = &percentiles{v: v, c: x.c, sums: x.sums, look: v.segments}
	x.failed = x.known.restore() != nil
	x.looks = make(map[int64]bool, len(x.known.look))
	for _, sg := range x.known.look {
		x.looks[sg.ID] = true
	}
}

// sumBlock sums up the events of a segment, which is shared with other charts; nil if the chart does not look at it. It changes nothing of x.
func (x *chartSum) sumBlock(v *segmentView, b *segment.Block, shared *query.SharedBlock) (*query.BlockSums, error) {
	switch {
	case x.failed || x.looks != nil && !x.looks[b.ID]:
		return nil, nil
	case x.known == nil:
		return answerOf(v, b, &x.c.Search, x.question, func(found query.Decided) (*query.BlockSums, error) { return x.sums.SumBlock(shared, found) })
	}
	d, err := v.match(b, &x.c.Search)
	if err != nil {
		return nil, err
	}
	return x.sums.SumBlock(shared, d)
}

// addBlock adds what was summed up of a segment. A chart that is too large fails alone.
func (x *chartSum) addBlock(v *segmentView, b *segment.Block, sums *query.BlockSums) error {
	if sums == nil || x.failed {
		return nil
	}
	if err := x.sums.AddBlock(sums); err != nil {
		x.failed = true
		return nil //nolint:nilerr // Chart says what is wrong with the chart
	}
	v.keys = x.keys
	err := v.addLoose(b, query.Decided{Maybe: sums.Maybe})
	x.keys, v.keys = v.keys, nil
	if isDamaged(err) {
		return err
	}
	x.failed = err != nil
	return nil
}

// finish reads the events that segments could not decide, and makes the answer.
func (x *chartSum) finish(ctx context.Context, v *segmentView) error {
	if x.failed {
		return nil
	}
	add := func(l *looseEvent) error { return x.sums.AddEvent(l.event) }
	if err := newLooseReader(v, &x.c.Search, x.c.NeedPayload(), add).readKeys(ctx, x.keys); err != nil {
		return err
	}
	if x.known != nil {
		// Known points of groups that become one cannot be joined: Chart begins again without them.
		if x.failed = x.known.found && x.sums.JoinsGroups(); x.failed {
			return nil
		}
		x.known.keep()
	}
	var err error
	x.answer, err = x.sums.Result(nil)
	x.failed = err != nil
	return nil
}
