package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/store"
)

// BenchmarkEvaluations measures the way of an evaluation through the queue without its engine: asked
// for, claimed in batches of 100, finished with a score in its event.
func BenchmarkEvaluations(b *testing.B) {
	s, project, id := benchMetric(b)
	const batch = 100
	g := evaluation.Group{Project: project, MetricID: id, Version: 1}
	for range b.N {
		b.StopTimer()
		events := plainSteps(batch)
		if err := s.Put(b.Context(), project, event.Batch{Events: events}); err != nil {
			b.Fatal(err)
		}
		a := evaluation.Enqueue{Project: project}
		for _, e := range events {
			a.Requests = append(a.Requests, evaluation.Request{MetricID: id, Version: 1, EventID: e.ID})
		}
		b.StartTimer()
		if _, err := s.EnqueueEvaluations(b.Context(), a); err != nil {
			b.Fatal(err)
		}
		jobs, err := s.ClaimEvaluations(b.Context(), g, batch, time.Minute, nil)
		if err != nil || len(jobs) != batch {
			b.Fatal(len(jobs), err)
		}
		var outcomes []evaluation.Outcome
		for _, j := range jobs {
			outcomes = append(outcomes, evaluation.Outcome{Job: j, State: evaluation.Done, Score: []byte("1"), Explanation: "because"})
		}
		if err := s.FinishEvaluations(b.Context(), project, "m", outcomes); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "evaluations/s")
}

// BenchmarkPutOnline measures what it costs ingestion to note what it stores for evaluation.
func BenchmarkPutOnline(b *testing.B) {
	s, project, id := benchMetric(b)
	for _, on := range []bool{false, true} {
		b.Run(fmt.Sprintf("online=%t", on), func(b *testing.B) {
			if _, err := s.UpdateMetric(b.Context(), project, id, metric.Patch{EnabledInProd: &on}); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				b.StopTimer()
				events := plainSteps(100)
				b.StartTimer()
				if err := s.Put(b.Context(), project, event.Batch{Events: events}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// benchMetric returns a store with a project that has a metric.
func benchMetric(b *testing.B) (s *store.Store, project int64, metricID string) {
	b.Helper()
	s, project, _ = benchStore(b)
	d := metric.Definition{Name: "m", Type: metric.Human}
	d.Complete(metric.DefaultSampling)
	id, err := s.CreateMetric(b.Context(), project, d)
	if err != nil {
		b.Fatal(err)
	}
	return s, project, id
}

func plainSteps(n int) (list []event.Incoming) {
	session := uuid.New()
	for i := range n {
		e := event.Incoming{Event: event.Event{
			ID:        uuid.New(),
			SessionID: session,
			Type:      event.TypeTool,
			Name:      "step",
			Start:     1_790_000_000_000 + float64(i),
			Duration:  5,
			Inputs:    []byte(`{"question":"what is it?"}`),
			Outputs:   []byte(`{"answer":"a tree of events"}`),
		}}
		e.Complete(time.Time{})
		list = append(list, e)
	}
	return list
}
