package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store"
)

// benchText is 4 MB of words with a skewed frequency, which compresses about as text does.
var benchText = func() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	words := make([][]byte, 30_000)
	for i := range words {
		w := make([]byte, 2+r.IntN(9))
		for j := range w {
			w[j] = "etaoinshrdlucmfwypvbgk"[min(r.IntN(22), r.IntN(22))]
		}
		words[i] = w
	}
	zipf := rand.NewZipf(r, 1.1, 4, uint64(len(words)-1))
	var out []byte
	for len(out) < 4<<20 {
		out = append(append(out, words[zipf.Uint64()]...), ' ')
	}
	return out
}()

// benchBatch returns a request of n events in sessions of 12, about 6 KB of payload each.
func benchBatch(r *rand.Rand, n int, at time.Time) event.Batch {
	piece := func(size int) []byte {
		at := r.IntN(len(benchText) - size)
		return benchText[at : at+size]
	}
	var b event.Batch
	var sid uuid.UUID
	for i := range n {
		if i%12 == 0 {
			sid = uuid.New()
		}
		at = at.Add(50 * time.Millisecond)
		e := event.Incoming{TraceID: sid, Event: event.Event{ID: uuid.New(), SessionID: sid, Type: event.TypeModel, Name: "chat gpt-4o-mini", Source: "bench",
			Start: float64(at.UnixMicro()) / 1000, Duration: 31.25,
			Inputs:         fmt.Appendf(nil, `{"chat_history":[{"role":"user","content":"%s"}]}`, piece(1024+r.IntN(7168))),
			Outputs:        fmt.Appendf(nil, `{"role":"assistant","content":"%s"}`, piece(200+r.IntN(1848))),
			Config:         []byte(`{"model":"gpt-4o-mini","provider":"openai","temperature":0.2}`),
			Metadata:       []byte(`{"prompt_tokens":1200,"completion_tokens":280,"total_tokens":1480,"model_name":"gpt-4o-mini","provider":"openai","operation_name":"chat","span_kind":"LLM"}`),
			ColdMetadata:   fmt.Appendf(nil, `{"trace_id":"%x","span_id":"%x","scope":{"name":"bench"}}`, sid[:], uuid.New().NodeID()),
			UserProperties: fmt.Appendf(nil, `{"user_id":"user-%03d"}`, r.IntN(500))}}
		e.Complete(at)
		b.Events = append(b.Events, e)
	}
	return b
}

func benchStore(b *testing.B) (*store.Store, int64, string) {
	b.Helper()
	dir := b.TempDir()
	open := func() (*store.Store, error) { return store.OpenSQLite(b.Context(), dir, store.Options{}) }
	if dsn := os.Getenv("SPANGROVE_BENCH_POSTGRES"); dsn != "" {
		open = func() (*store.Store, error) { return store.OpenPostgres(b.Context(), dsn, store.Options{}) }
	}
	s, err := open()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close(context.Background()) })
	p, err := s.EnsureProject(b.Context(), "bench")
	if err != nil {
		b.Fatal(err)
	}
	return s, p.ID, dir
}

// BenchmarkPut stores requests of 100 events durably, from as many senders as there are cores.
func BenchmarkPut(b *testing.B) {
	s, project, dir := benchStore(b)
	b.SetParallelism(2)
	b.ReportAllocs()
	at := time.Now().Add(-24 * time.Hour)
	b.RunParallel(func(pb *testing.PB) {
		r := rand.New(rand.NewPCG(rand.Uint64(), 1))
		for pb.Next() {
			batch := benchBatch(r, 100, at)
			if err := s.Put(b.Context(), project, batch); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)*100/b.Elapsed().Seconds(), "events/s")
	if size := dirSize(dir); size > 0 {
		b.ReportMetric(float64(size)/float64(b.N*100), "B/event")
	}
}

func dirSize(dir string) (n int64) {
	_ = filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && filepath.Ext(info.Name()) == ".db" {
			n += info.Size()
		}
		return nil
	})
	return n
}

// BenchmarkSearch reads pages of a store of 20,000 events.
func BenchmarkSearch(b *testing.B) {
	s, project, _ := benchStore(b)
	r := rand.New(rand.NewPCG(7, 7))
	at := time.Now().Add(-24 * time.Hour)
	for range 200 {
		if err := s.Put(b.Context(), project, benchBatch(r, 100, at)); err != nil {
			b.Fatal(err)
		}
		at = at.Add(time.Minute)
	}
	for _, tt := range []struct{ name, filters string }{
		{"all", `[]`},
		{"sessions", `[{"field":"event_type","operator":"is","value":"session"}]`},
		{"user", `[{"field":"user_properties.user_id","operator":"is","value":"user-007"}]`},
		{"json", `[{"field":"metadata.prompt_tokens","operator":"greater than","value":1000,"type":"number"}]`},
		{"payload", `[{"field":"inputs","operator":"contains","value":"qzneedle"}]`},
	} {
		b.Run(tt.name, func(b *testing.B) {
			fs, err := query.ParseFilters([]byte(tt.filters), "filters")
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := s.Search(b.Context(), project, query.Search{Filters: fs, Limit: 50, Page: 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
