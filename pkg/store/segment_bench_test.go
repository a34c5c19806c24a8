package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/event"
)

// BenchmarkSeal builds segments of events that have just been stored, whose payloads are of about 6 KB and of a few hundred bytes.
// ns/event and allocs/event are what counts.
func BenchmarkSeal(b *testing.B) {
	for _, size := range []struct {
		name  string
		batch func(*rand.Rand, int, time.Time) event.Batch
	}{{"6.7KB", benchBatch}, {"1KB", smallBatch}} {
		b.Run(size.name, func(b *testing.B) {
			s, project, _ := benchStore(b)
			r := rand.New(rand.NewPCG(7, 7))
			at := time.Now().Add(-24 * time.Hour)
			const batches, events = 100, 12 * 14 // fewer events than the background waits for
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				for range batches {
					if err := s.Put(b.Context(), project, size.batch(r, events, at)); err != nil {
						b.Fatal(err)
					}
					at = at.Add(time.Minute)
				}
				b.StartTimer()
				if err := s.Seal(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batches*events), "ns/event")
		})
	}
}

// smallBatch is benchBatch with short inputs and outputs, and configurations of many values.
func smallBatch(r *rand.Rand, n int, at time.Time) event.Batch {
	b := benchBatch(r, n, at)
	for i := range b.Events {
		e := &b.Events[i]
		e.Inputs, e.Outputs = fmt.Appendf(nil, `{"q":"%s"}`, benchText[i*64:i*64+300]), fmt.Appendf(nil, `{"a":"%s"}`, benchText[i*96:i*96+300])
		e.Config = fmt.Appendf(nil, `{"model":"gpt-4o-mini","provider":"openai","temperature":0.%d}`, r.IntN(1000))
		e.Metadata = fmt.Appendf(nil, `{"prompt_tokens":%d,"completion_tokens":%d,"cost":%v,"model_name":"gpt-4o-mini","tier":"t%d"}`,
			r.IntN(5000), r.IntN(900), r.Float64(), r.IntN(50))
	}
	return b
}
