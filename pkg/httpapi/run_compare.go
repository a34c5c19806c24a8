package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/wire"
)

// runsAtOnce is how many runs of one request are read at the same time: as many as a project may have heavy reads, on most machines.
const runsAtOnce = 2

// eachRun calls f with the number of each of n runs, some at once. It returns the first error.
func eachRun(ctx context.Context, n int, f func(i int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	var work sync.WaitGroup
	for range runsAtOnce {
		work.Go(func() {
			for i := range next {
				if ctx.Err() != nil {
					return
				}
				if err := f(i); err != nil {
					stop(err)
				}
			}
		})
	}
	work.Wait()
	return context.Cause(ctx)
}

// aggregates returns what the runs of a list came to; null of one with too many sessions.
func (s *Server) aggregates(c *call, runs []run.Run, rules map[string]run.Rule) ([]json.RawMessage, error) {
	list := make([]json.RawMessage, len(runs))
	err := eachRun(c.ctx(), len(runs), func(i int) error {
		outcomes, err := s.Store.RunOutcomes(c.ctx(), c.project.ID, &runs[i], query.Search{})
		switch {
		case fault.Of(err) == fault.Invalid:
			list[i] = wire.RunAggregates(nil)
		case err != nil:
			return err
		default:
			list[i] = wire.RunAggregates(run.Summarize(&runs[i], outcomes, rules))
		}
		return nil
	})
	return list, err
}

// compareManyRuns answers with a comparison of up to eight runs, and a page of its rows.
func (s *Server) compareManyRuns(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	in, err := wire.DecodeRunCompare(body, s.Now())
	if err != nil {
		return err
	}
	in.Search.Filters = query.InProject(in.Search.Filters, c.project)
	sides := make([]run.Side, len(in.RunIDs))
	err = eachRun(c.ctx(), len(sides), func(i int) error {
		r, err := s.Store.Run(c.ctx(), c.project.ID, in.RunIDs[i])
		if err != nil {
			return missing(fmt.Sprintf("run_ids[%d]", i), err)
		}
		sides[i].Run = &r
		sides[i].Outcomes, err = s.Store.RunOutcomes(c.ctx(), c.project.ID, &r, in.Search)
		return err
	})
	if err != nil {
		return err
	}
	rules, err := s.Store.MetricRules(c.ctx(), c.project.ID)
	if err != nil {
		return err
	}
	many := run.CompareMany(sides, in.Base, rules, in.Aggregate)
	in.Rows.Metric = -1
	if in.Metric != "" {
		if in.Rows.Metric, err = many.Metric(in.Metric); err != nil {
			return err
		}
	}
	x := &wire.ComparedRows{Many: many}
	x.Metrics, x.Page = many.Compare(in.Rows, in.Rows.After == nil)
	x.Load = func(ctx context.Context, ids []uuid.UUID) (*event.Set, error) {
		return s.Store.EventsByID(ctx, c.project.ID, ids)
	}
	if x.Datapoints, err = s.datapointsOf(c, many, x.Page.Rows); err != nil {
		return err
	}
	return c.stream(func(out *wire.Stream) error { return wire.WriteRunCompare(c.ctx(), out, in, x) })
}

// maxDatapointID bounds the ids of datapoints that are looked up, in bytes: those of the store are shorter.
const maxDatapointID = 64

// datapointsOf reads the datapoints of rows that are stored here.
func (s *Server) datapointsOf(c *call, many *run.Many, rows []int) (map[string]*dataset.Datapoint, error) {
	var ids []string
	for _, row := range rows {
		if _, id := many.RowID(row); id != "" && len(id) <= maxDatapointID && !dataset.External(id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	list, err := s.Store.LoadDatapoints(c.ctx(), c.project.ID, ids)
	if err != nil {
		return nil, err
	}
	found := make(map[string]*dataset.Datapoint, len(list))
	for i := range list {
		found[list[i].ID] = &list[i]
	}
	return found, nil
}
