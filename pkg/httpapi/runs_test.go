package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/run"
)

// scored is a store whose runs have so many events with metrics.
type scored struct {
	fake
	events int
}

func (s *scored) RunScores(context.Context, int64, *run.Run, query.Search) (*run.Scores, error) {
	scores := &run.Scores{Events: make([]run.Scored, s.events)}
	for i := range scores.Events {
		scores.Events[i] = run.Scored{Session: sessionID, Kind: run.Kind{Name: "step", Type: "chain"}, Metrics: fmt.Appendf(nil, `{"n":%d}`, i)}
	}
	return scores, nil
}

// Published clients know no pages of a run's scores: who asks for none gets all of them.
func TestRunMetricsAreWhole(t *testing.T) {
	t.Parallel()
	h := serve(&scored{events: 2500})
	for _, tt := range []struct {
		parameters  string
		first, last int
	}{
		{"", 0, 2499},
		{"?limit=", 0, 2499},
		{"?limit=1000", 0, 999},
		{"?page=3", 2000, 2499},
		{"?limit=7&page=2", 7, 13},
		{"?limit=1000&page=4", 0, -1},
	} {
		status, body := ask(t, h, "GET /v1/runs/r/metrics"+tt.parameters, "")
		var got struct {
			Events []struct {
				Metrics struct{ N int }
			}
			TotalEvents int
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 || got.TotalEvents != 2500 {
			t.Fatalf("%q: %d, %d events in all, %v", tt.parameters, status, got.TotalEvents, err)
		}
		if n := len(got.Events); n != tt.last-tt.first+1 || n > 0 && (got.Events[0].Metrics.N != tt.first || got.Events[n-1].Metrics.N != tt.last) {
			t.Errorf("%q: %d events, want %d to %d", tt.parameters, n, tt.first, tt.last)
		}
	}
}
