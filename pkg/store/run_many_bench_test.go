package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/wire"
)

// BenchmarkRunCompare compares eight runs, as the API answers: the first page when nothing is in memory, when it is, and a later page; and what a list
// shows of one run. With 10,000 datapoints (SPANGROVE_BENCH_DATAPOINTS) each is to stay well under a second.
func BenchmarkRunCompare(b *testing.B) {
	s, _, _ := benchStore(b)
	projectID := benchProject(b, s)
	r := rand.New(rand.NewPCG(3, 5))
	at := time.Now().Add(-20 * time.Hour)
	var runs []run.Run
	for i := range run.MaxCompared {
		runs = append(runs, benchRun(b, s, projectID, fmt.Sprint("run ", i), r, at.Add(time.Duration(i)*time.Hour)))
	}
	if err := s.Seal(b.Context()); err != nil {
		b.Fatal(err)
	}
	rules, err := s.MetricRules(b.Context(), projectID)
	if err != nil {
		b.Fatal(err)
	}
	// ask answers a comparison. Another date range is another question, of which nothing is in memory.
	ask := func(b *testing.B, from float64, q run.RowQuery) *run.RowPage {
		b.Helper()
		sides := make([]run.Side, len(runs))
		var work sync.WaitGroup
		for half := range 2 {
			work.Go(func() {
				for i := half; i < len(runs); i += 2 {
					one, err := s.Run(b.Context(), projectID, runs[i].ID)
					if err != nil {
						b.Error(err)
					}
					outcomes, err := s.RunOutcomes(b.Context(), projectID, &one, query.Search{From: &from})
					if err != nil || len(outcomes.Sessions) != benchDatapoints {
						b.Error(err)
					}
					sides[i] = run.Side{Run: &one, Outcomes: outcomes}
				}
			})
		}
		work.Wait()
		many := run.CompareMany(sides, 0, rules, "average")
		x := &wire.ComparedRows{Many: many}
		x.Metrics, x.Page = many.Compare(q, q.After == nil)
		x.Load = func(ctx context.Context, ids []uuid.UUID) (*event.Set, error) {
			return s.EventsByID(ctx, projectID, ids)
		}
		w := httptest.NewRecorder()
		out := wire.NewStream(w)
		defer out.Discard()
		if err := wire.WriteRunCompare(b.Context(), out, &wire.RunCompare{}, x); err != nil {
			b.Fatal(err)
		}
		if err := out.Close(); err != nil || len(x.Page.Rows) != min(q.Limit, benchDatapoints) {
			b.Fatal(err, len(x.Page.Rows))
		}
		return x.Page
	}
	first := run.RowQuery{Metric: 0, Side: run.AnySide, Sort: run.SortDelta, Limit: 50}
	other := 1.0
	b.Run("cold", func(b *testing.B) {
		median(b, func() {
			other++
			ask(b, other, first)
		})
	})
	b.Run("first page", func(b *testing.B) { median(b, func() { ask(b, 1, first) }) })
	b.Run("later page", func(b *testing.B) {
		q := first
		q.After = ask(b, 1, first).Next
		median(b, func() { ask(b, 1, q) })
	})
	summarize := func(b *testing.B, from float64) {
		outcomes, err := s.RunOutcomes(b.Context(), projectID, &runs[0], query.Search{From: &from})
		if err != nil {
			b.Fatal(err)
		}
		wire.RunAggregates(run.Summarize(&runs[0], outcomes, rules))
	}
	b.Run("aggregates cold", func(b *testing.B) {
		median(b, func() {
			other++
			summarize(b, other)
		})
	})
	b.Run("aggregates", func(b *testing.B) { median(b, func() { summarize(b, 1) }) })
}
