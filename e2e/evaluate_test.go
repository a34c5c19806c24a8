package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/e2e/harness"
)

// TestEvaluationsOutliveTheServer kills the server with SIGKILL at random moments while metrics
// score 5,000 events twice, and holds that each is scored once by each of the two in the end.
func TestEvaluationsOutliveTheServer(t *testing.T) {
	t.Parallel()
	kills := map[string]int{"sqlite": 4, "postgres": 3}
	harness.EachStore(t, func(t *testing.T, st harness.Store) {
		const (
			events  = 5_000
			batch   = 500
			timeout = 5 * time.Minute
		)
		r := rand.New(rand.NewPCG(harness.Seed(t), 0))
		srv := harness.Start(t, harness.Options{Store: st, Args: []string{"--set", "extensions.spangrove_evaluate.online.timeout=1s", "--set", "extensions.spangrove_evaluate.online.attempts=100"}})
		for _, m := range []map[string]any{
			{"name": "long", "type": "EXPRESSION", "criteria": "duration", "enabled_in_prod": true, "sampling_percentage": 100},
			{"name": "all", "type": "COMPOSITE", "criteria": "weighted sum", "child_metrics": []any{map[string]any{"name": "long", "weight": 2}, map[string]any{"name": "own", "weight": 1}},
				"enabled_in_prod": true, "sampling_percentage": 100},
		} {
			srv.Must(t, "POST", "/v1/metrics", m, nil)
		}
		session := uuid.NewString()
		for i := range events / batch {
			var list []map[string]any
			for j := range batch {
				n := i*batch + j
				list = append(list, map[string]any{"event_id": uuid.NewString(), "session_id": session, "event_type": "tool", "event_name": fmt.Sprint(n), "inputs": map[string]any{},
					"start_time": 1_790_000_000_000 + n, "duration": n + 1, "metrics": map[string]any{"own": 1}})
			}
			srv.Must(t, "POST", "/v1/events/batch", map[string]any{"events": list}, nil)
		}
		for i := range kills[st.Name] {
			time.Sleep(time.Duration(r.Int64N(int64(1500 * time.Millisecond))))
			srv.Kill()
			srv.Start()
			t.Logf("kill %d: %d evaluations done", i+1, len(finished(t, srv)))
		}
		var done map[string]string
		for deadline := time.Now().Add(timeout); len(done) < 2*events; time.Sleep(500 * time.Millisecond) {
			if done = finished(t, srv); time.Now().After(deadline) {
				t.Fatalf("%d evaluations done after %s, want %d", len(done), timeout, 2*events)
			}
		}
		if n := len(evaluations(t, srv, "")); n != 2*events {
			t.Errorf("%d evaluations, want %d", n, 2*events)
		}
		scored := map[string]bool{}
		found, err := srv.Export(t.Context(), harness.Is("event_type", "tool"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range found {
			metrics := e["metrics"].(map[string]any)
			if want := fmt.Sprint(e["duration"]); fmt.Sprint(metrics["long"]) != want || metrics["all"] == nil {
				t.Errorf("event %v: metrics %v, want long %v", e["event_name"], metrics, want)
			}
			scored[e["event_id"].(string)] = true
		}
		if len(scored) != events {
			t.Errorf("%d events, want %d", len(scored), events)
		}
	})
}

// finished returns the scores of the evaluations that are done, by metric and event. Two of the same
// are an error.
func finished(t *testing.T, srv *harness.Server) map[string]string {
	t.Helper()
	done := map[string]string{}
	for _, e := range evaluations(t, srv, "&state=done") {
		key := fmt.Sprint(e["metric_id"], e["event_id"])
		if done[key] != "" {
			t.Errorf("%s was done twice", key)
		}
		done[key] = fmt.Sprint(e["score"])
	}
	return done
}

func evaluations(t *testing.T, srv *harness.Server, query string) (all []map[string]any) {
	t.Helper()
	for before := ""; ; {
		var page struct {
			Evaluations []map[string]any `json:"evaluations"`
			Next        string           `json:"next"`
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := srv.JSON(ctx, "GET", "/v1/evaluations?limit=1000&before="+before+query, nil, &page)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Evaluations...)
		if before = page.Next; before == "" {
			return all
		}
	}
}
