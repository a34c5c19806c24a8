package store_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/store"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Size of the runs that are read: sessions with 12 events and 5 scores each, and how many there are unless SPANGROVE_BENCH_DATAPOINTS says
// another number. SPANGROVE_BENCH_OTHERS is how many other events the project has.
const benchSteps = 11 // below the session event

var (
	benchDatapoints = benchNumber("SPANGROVE_BENCH_DATAPOINTS", 1000)
	benchOthers     = benchNumber("SPANGROVE_BENCH_OTHERS", 0)
)

// benchNumber returns the number in an environment variable, or else the one given.
func benchNumber(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// median runs f for as long as the benchmark wants and reports the median of its times, which
// says more than the mean where other programs share the machine.
func median(b *testing.B, f func()) time.Duration {
	b.Helper()
	var times []time.Duration
	for b.Loop() {
		at := time.Now()
		f()
		times = append(times, time.Since(at))
	}
	return report(b, times, "median-ms")
}

func report(b *testing.B, times []time.Duration, unit string) time.Duration {
	b.Helper()
	slices.SortFunc(times, cmp.Compare)
	m := times[len(times)/2]
	b.ReportMetric(float64(m.Microseconds())/1000, unit)
	return m
}

// benchProject returns a new project, also where the database was used before.
func benchProject(b *testing.B, s *store.Store) int64 {
	b.Helper()
	p, err := s.EnsureProject(b.Context(), "bench "+uuid.NewString())
	if err != nil {
		b.Fatal(err)
	}
	return p.ID
}

// benchPiece returns a piece of benchText, which is read again and again.
func benchPiece(at, size int) []byte {
	at %= len(benchText) - size
	return benchText[at : at+size]
}

// benchRun stores a run with its sessions.
func benchRun(b *testing.B, s *store.Store, projectID int64, name string, r *rand.Rand, at time.Time) run.Run {
	b.Helper()
	id := uuid.NewString()
	var sessions []string
	for from := 0; from < benchDatapoints; from += 50 {
		var batch event.Batch
		for n := from; n < min(from+50, benchDatapoints); n++ {
			sid := uuid.New()
			sessions = append(sessions, sid.String())
			add := func(e event.Incoming) {
				at = at.Add(time.Millisecond)
				e.SessionID, e.Source, e.Start = sid, "bench", float64(at.UnixMilli())
				e.Complete(at)
				batch.Events = append(batch.Events, e)
			}
			add(event.Incoming{Started: true, Event: event.Event{ID: sid, Type: event.TypeSession, Name: "evaluation",
				Metadata: fmt.Appendf(nil, `{"run_id":%q,"dataset_id":"EXT-bench","datapoint_id":"EXT-%04d"}`, id, n)}})
			for i := range benchSteps {
				e := event.Incoming{Event: event.Event{ID: uuid.New(), Type: event.TypeModel, Name: fmt.Sprintf("step %d", i), Duration: 10 + 90*r.Float64(),
					Inputs:   fmt.Appendf(nil, `{"chat_history":[{"role":"user","content":%q}]}`, benchPiece(n*64, 600)),
					Outputs:  fmt.Appendf(nil, `{"role":"assistant","content":%q}`, benchPiece(n*32, 300)),
					Metadata: []byte(`{"prompt_tokens":1200,"completion_tokens":280,"total_tokens":1480}`)}}
				if i == 0 {
					e.Type = event.TypeChain
					e.Metrics = fmt.Appendf(nil, `{"accuracy":%.4f,"relevance":%.4f,"toxicity":%.4f,"length":%d,"correct":%v}`,
						r.Float64(), r.Float64(), r.Float64(), r.IntN(500), r.IntN(2) == 0)
				}
				add(e)
			}
		}
		if err := s.Put(b.Context(), projectID, batch); err != nil {
			b.Fatal(err)
		}
	}
	made, err := s.CreateRun(b.Context(), projectID, run.Update{
		ID:            id,
		Name:          &name,
		EventIDs:      sessions,
		PassingRanges: []byte(`{"accuracy":{"min":0.3}}`),
	})
	if err != nil {
		b.Fatal(err)
	}
	return made
}

// BenchmarkRun reads results and comparisons of two runs, as the API answers them. Each median
// is to stay under 300 ms.
func BenchmarkRun(b *testing.B) {
	s, _, _ := benchStore(b)
	projectID := benchProject(b, s)
	r := rand.New(rand.NewPCG(3, 5))
	at := time.Now().Add(-time.Hour)
	const batch = 1200
	for range benchOthers / batch {
		if err := s.Put(b.Context(), projectID, smallBatch(r, batch, at.Add(-24*time.Hour))); err != nil {
			b.Fatal(err)
		}
	}
	old := benchRun(b, s, projectID, "old", r, at)
	fresh := benchRun(b, s, projectID, "new", r, at.Add(20*time.Minute))
	if err := s.Seal(b.Context()); err != nil {
		b.Fatal(err)
	}
	p := project.Project{Name: "bench", PublicID: "p", OrgID: "o", WorkspaceID: "w"}
	read := func(id string) (run.Run, *run.Scores) {
		one, err := s.Run(b.Context(), projectID, id)
		if err != nil {
			b.Error(err)
		}
		scores, err := s.RunScores(b.Context(), projectID, &one, query.Search{})
		if err != nil {
			b.Error(err)
		} else if len(scores.Sessions) != benchDatapoints {
			b.Errorf("%d sessions", len(scores.Sessions))
		}
		return one, scores
	}
	rules := func() map[string]run.Rule {
		rules, err := s.MetricRules(b.Context(), projectID)
		if err != nil {
			b.Fatal(err)
		}
		return rules
	}
	b.Run("result", func(b *testing.B) {
		median(b, func() {
			one, scores := read(fresh.ID)
			wire.AppendResult(nil, run.ResultOf(&one, scores, rules(), run.Aggregate("average")), &one, &p, wire.V1)
		})
	})
	b.Run("metrics", func(b *testing.B) {
		median(b, func() {
			_, scores := read(fresh.ID)
			out := wire.NewStream(httptest.NewRecorder())
			defer out.Discard()
			if err := wire.WriteRunMetrics(out, scores, &wire.RunRead{Whole: true}); err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("compare", func(b *testing.B) {
		median(b, func() {
			var c run.Run
			var before *run.Scores
			var other sync.WaitGroup
			other.Go(func() { c, before = read(old.ID) }) // the API reads both at the same time
			a, after := read(fresh.ID)
			other.Wait()
			wire.AppendComparison(nil, run.CompareRuns(&a, &c, after, before, rules(), run.Aggregate("average")), &a, &c, &p, wire.V1)
		})
	})
	b.Run("pairs", func(b *testing.B) {
		median(b, func() {
			q := run.PairQuery{EventName: "step 0", EventType: "chain", Limit: benchDatapoints, Page: 1}
			pairs, total, err := s.RunPairs(b.Context(), projectID, &fresh, &old, q, nil)
			if err != nil || total != benchDatapoints || len(pairs) != benchDatapoints {
				b.Fatal(total, err)
			}
		})
	})
	b.Run("schema", func(b *testing.B) {
		median(b, func() {
			c, err := s.FieldIndex(b.Context(), projectID, query.Search{RunID: fresh.ID})
			if err != nil || len(c.Keys) == 0 {
				b.Fatal(err)
			}
			wire.AppendSchema(nil, c)
		})
	})
}
