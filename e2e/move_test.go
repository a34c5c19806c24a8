package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/e2e/harness"
)

// TestMove moves a store from SQLite to PostgreSQL and back with the program itself, while senders go on by every way in. On each way the command is killed twice
// with SIGKILL and started again. What was acknowledged is there afterwards, the doctor finds nothing, and the old place takes no more.
//
// SPANGROVE_E2E_MOVE says how many events there are before, such as 2000000. Otherwise they are 10,000.
func TestMove(t *testing.T) {
	t.Parallel()
	harness.Require(t)
	n := harness.Count(t, "SPANGROVE_E2E_MOVE", 10_000)
	seed := harness.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	dsn, dir := harness.PostgresDSN(t), filepath.Join(t.TempDir(), "back")
	srv := harness.Start(t, harness.Options{})
	first := srv.Dir
	storeFilled(t, srv, n)
	l := newLedger()
	for _, way := range []struct {
		from, to []string // how the command and the doctor name the places
		store    harness.Store
		env      map[string]string
	}{
		{from: []string{"--data", first}, to: []string{"--dsn", dsn}, store: harness.PostgresAt(dsn)},
		{from: []string{"--dsn", dsn}, to: []string{"--data", dir}, env: map[string]string{"SPANGROVE_DATA_DIR": dir}},
	} {
		ld := startLoad(t, srv, l, seed)
		ld.rest.Store(int64(200 * time.Millisecond)) // or there is so much that reading it back takes longer than the move
		ld.await(t, 500)
		moved := moveStore(t, r, way.from, way.to[1])
		t.Logf("%s to %s: %d events, %d rows that changed later, %.1f s in the last run, writes refused for %d ms; %d events acknowledged",
			moved.From, moved.To, moved.Events, moved.Later, moved.Seconds, moved.PausedMS, l.count.Load())
		id := uuid.NewString()
		code, answer, err := srv.Send(t.Context(), http.MethodPost, "/events", "application/json", []byte(`{"event_id":"`+id+`","event_type":"tool","inputs":{}}`))
		if err != nil || code != http.StatusServiceUnavailable {
			t.Errorf("a write to the store that has moved: %d %s, %v", code, answer, err)
		}
		ld.stop()
		if len(l.wrong) > 0 {
			t.Fatalf("refused: %.5q", l.wrong)
		}
		srv.Kill()
		srv.Launch()
		if err := srv.Wait(); err == nil || !bytes.Contains(srv.Tail(), []byte("has moved to")) {
			t.Errorf("a server starts on a store that has moved: %v", err)
		}
		srv = harness.Start(t, harness.Options{Store: way.store, Env: way.env})
		facts := l.take()
		verify(t, srv, facts[:min(len(facts), 500)]) // in the order of a map
		if n > 100_000 {
			counted(t, srv, n, facts)
		} else {
			verifyTotals(t, srv, facts)
		}
		srv.Kill()
		if out, err := runProgram(t.Context(), t, append([]string{"doctor", "--full"}, way.to...)...); err != nil {
			t.Errorf("doctor: %v\n%s", err, out)
		}
		srv.Start()
	}
}

// filled is the name of events that are there before a move.
const filled = "filled"

// storeFilled stores events in sessions of 20.
func storeFilled(t *testing.T, s *harness.Server, n int) {
	t.Helper()
	began := time.Now()
	batches := make(chan int)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for first := range batches {
				var list []map[string]any
				session := ""
				for i := first; i < min(first+1000, n); i++ {
					if i%20 == 0 {
						session = uuid.NewString()
					}
					list = append(list, map[string]any{"event_id": uuid.NewString(), "session_id": session, "event_type": "model", "event_name": filled,
						"inputs": map[string]any{"question": fmt.Sprintf("What is %d times %d?", i, i+1)}, "outputs": map[string]any{"answer": i * (i + 1)},
						"metadata": map[string]any{"total_tokens": i % 5000, "tenant": fmt.Sprint("t", i%97)}, "user_properties": map[string]any{"user_id": fmt.Sprint("u", i%500)},
						"start_time": time.Now().Add(-time.Duration(i%20) * 24 * time.Hour).UnixMilli(), "duration": i%900 + 1})
				}
				if err := s.JSON(t.Context(), http.MethodPost, "/v1/events/batch", map[string]any{"events": list}, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for first := 0; first < n; first += 1000 {
		batches <- first
	}
	close(batches)
	wg.Wait()
	t.Logf("%d events stored in %s", n, time.Since(began).Round(time.Second))
}

// counted counts what was filled, and the events of each name that were acknowledged, where there are too many to read them all.
func counted(t *testing.T, s *harness.Server, n int, facts []fact) {
	t.Helper()
	var got struct {
		Total int `json:"totalEvents"`
	}
	s.Must(t, http.MethodPost, "/v1/events/export", map[string]any{"filters": []harness.Filter{harness.Is("event_name", filled), harness.Is("event_type", "model")}, "limit": 1}, &got)
	if got.Total != n {
		t.Errorf("%d events named %s, want %d", got.Total, filled, n)
	}
	s.Must(t, http.MethodPost, "/v1/events/export", map[string]any{"filters": []harness.Filter{}, "limit": 1}, &got)
	if got.Total < n+len(facts) {
		t.Errorf("%d events, want at least the %d of before and %d that were acknowledged", got.Total, n, len(facts))
	}
}

// moveReport is what the command tells of a move.
type moveReport struct {
	From, To string
	Events   int64
	Later    int64
	Moved    bool
	Seconds  float64
	PausedMS int64 `json:"paused_ms"`
}

// moveStore runs the command, kills it twice on its way, and has it go on.
func moveStore(t *testing.T, r *rand.Rand, from []string, to string) (done moveReport) {
	t.Helper()
	out, err := runProgram(t.Context(), t, append([]string{"move", "--to", to, "--dry-run", "--json"}, from...)...)
	var plan struct{ Seconds float64 }
	if err == nil {
		err = json.Unmarshal(out, &plan)
	}
	if err != nil {
		t.Fatalf("dry run: %v\n%s", err, out)
	}
	args := append([]string{"move", "--to", to, "--json"}, from...)
	began := time.Now()
	for try := 1; ; try++ {
		ctx, cancel := t.Context(), func() {}
		part := max(time.Duration((0.15+0.2*r.Float64())*plan.Seconds*float64(time.Second)), 300*time.Millisecond)
		if try <= 2 {
			ctx, cancel = context.WithTimeout(ctx, part) // which ends it with SIGKILL
		}
		out, err := runProgram(ctx, t, args...)
		killed := err != nil && ctx.Err() != nil
		cancel()
		if killed && try <= 2 {
			t.Logf("killed after %s; it was to take about %.1f s", part.Round(time.Millisecond), plan.Seconds)
			continue
		}
		if err == nil {
			err = json.Unmarshal(out, &done)
		}
		if err != nil || !done.Moved {
			t.Fatalf("move: %v\n%s", err, out)
		}
		t.Logf("moved after %s with %d kills", time.Since(began).Round(100*time.Millisecond), try-1)
		return done
	}
}

// runProgram runs the program, and returns what it printed, or what it said of an error.
func runProgram(ctx context.Context, t *testing.T, args ...string) ([]byte, error) {
	t.Helper()
	cmd := exec.CommandContext(ctx, harness.Binary(t), args...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return append(out, said.String()...), err
	}
	return out, nil
}
