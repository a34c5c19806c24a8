package hostile

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spangrove/spangrove/e2e/harness"
)

// tenant is a project with a key of each scope.
type tenant struct {
	projectID          string
	ingest, read, full *harness.Client

	mu   sync.Mutex
	said report
}

// report is what a tenant met since it was reset.
type report struct {
	requests, failed int
	worst            time.Duration // of the longest request
	first            error         // of the first that failed
	stored           []string      // ids of the events that were acknowledged
}

func newTenant(t *testing.T, srv *harness.Server, name string) *tenant {
	t.Helper()
	var p struct {
		ID string `json:"id"`
	}
	srv.Must(t, http.MethodPost, "/v1/projects", map[string]any{"name": name}, &p)
	if p.ID == "" {
		t.Fatal("a new project has no id")
	}
	key := func(path string, permissions any) *harness.Client {
		in := map[string]any{"name": name}
		if permissions != nil {
			in["permissions"], in["expires_at"] = permissions, time.Now().Add(24*time.Hour).UTC().Format(time.RFC3339)
		}
		var got struct {
			Data struct {
				Value string `json:"key_value"`
			} `json:"data"`
		}
		srv.Must(t, http.MethodPost, "/v1/projects/"+p.ID+path, in, &got)
		return harness.NewClient(srv.URL, got.Data.Value)
	}
	return &tenant{
		projectID: p.ID,
		ingest:    key("/ingestion_api_keys", nil),
		read:      key("/fine_grained_api_keys", []string{"read"}),
		full:      key("/fine_grained_api_keys", []string{"full"}),
	}
}

// pause is how long a neighbour waits between two rounds.
const pause = 50 * time.Millisecond

// once sends an event with the ingest key and looks for it with the read key.
func (n *tenant) once(ctx context.Context) { n.onceBy(ctx, n.ingest, n.read) }

// onceBy is once with other keys of the project.
func (n *tenant) onceBy(ctx context.Context, ingest, read *harness.Client) {
	var sent struct {
		ID string `json:"event_id"`
	}
	err := n.timed(func() error {
		return ingest.JSON(ctx, http.MethodPost, "/events", map[string]any{
			"event_type": "tool", "event_name": "lookup", "inputs": map[string]any{"question": "how much is it?"},
		}, &sent)
	})
	if err != nil {
		return
	}
	n.mu.Lock()
	n.said.stored = append(n.said.stored, sent.ID)
	n.mu.Unlock()
	_ = n.timed(func() error {
		_, err := read.Event(ctx, sent.ID)
		return err
	})
}

func (n *tenant) timed(do func() error) error {
	began := time.Now()
	err := do()
	took := time.Since(began)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.said.requests++
	n.said.worst = max(n.said.worst, took)
	if err != nil {
		n.said.failed++
		if n.said.first == nil {
			n.said.first = fmt.Errorf("after %s: %w", took, err)
		}
	}
	return err
}

// begin sends and reads until stop is called, which waits for the request under way.
func (n *tenant) begin(ctx context.Context) (stop func()) {
	end := make(chan struct{})
	var working sync.WaitGroup
	working.Go(func() {
		for {
			n.once(ctx)
			select {
			case <-end:
				return
			case <-time.After(pause):
			}
		}
	})
	return sync.OnceFunc(func() { close(end); working.Wait() })
}

// reset begins a new report and returns the first failure of the old one.
func (n *tenant) reset() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	first := n.said.first
	n.said = report{}
	return first
}

func (n *tenant) report() report {
	n.mu.Lock()
	defer n.mu.Unlock()
	said := n.said
	said.stored = slices.Clone(said.stored)
	return said
}
