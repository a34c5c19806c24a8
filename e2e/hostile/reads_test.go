package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spangrove/spangrove/e2e/harness"
)

func init() {
	for _, c := range []struct {
		name string
		heavyReads
	}{
		{"heavy_searches", heavyReads{method: http.MethodPost, path: "/v1/events/search"}},
		{"heavy_payload_searches", heavyReads{method: http.MethodPost, path: "/v1/events/search", payload: true}},
		{"heavy_exports", heavyReads{method: http.MethodPost, path: "/v1/events/export"}},
		{"heavy_charts", heavyReads{method: http.MethodGet, path: "/v1/events/chart"}},
	} {
		register(hostileCase{name: c.name, attack: c.attack, memoryMiB: 250, latency: 5 * time.Second})
	}
}

// readingTime is how long a case keeps its reads under way.
const readingTime = 10 * time.Second

// heavyReads are requests that match 100 filters against texts of 3,000 events, each 7.8 KB long.
type heavyReads struct {
	method, path string
	payload      bool // the texts stand in inputs and outputs, else in metadata, where the database itself filters them
}

// attack keeps 16 requests under way, and leaves in the middle of the last. The neighbour uses keys
// that the server has not seen.
func (h heavyReads) attack(t *testing.T, s *stage) {
	const events, batch, length, parallel = 3000, 100, 7800, 16
	for range events / batch {
		list := make([]map[string]any, batch)
		for i := range list {
			list[i] = map[string]any{"event_type": "tool", "inputs": map[string]any{}, "metadata": map[string]any{"text": words(length)}}
			if h.payload {
				list[i] = map[string]any{
					"event_type": "tool", "inputs": map[string]any{"question": words(length / 2)}, "outputs": map[string]any{"answer": words(length / 2)},
				}
			}
		}
		s.hostile.ingest.Must(t, http.MethodPost, "/v1/events/batch", map[string]any{"events": list}, nil)
	}
	filters, err := json.Marshal(h.filters())
	if err != nil {
		t.Fatal(err)
	}
	target, body := h.path, []byte(`{"limit":1000,"filters":`+string(filters)+`}`)
	if h.method == http.MethodGet {
		target, body = h.path+"?bucket=hour&filters="+url.QueryEscape(string(filters)), nil
	}
	ctx, leave := context.WithTimeout(t.Context(), readingTime)
	defer leave()
	var working sync.WaitGroup
	var mu sync.Mutex
	answers := map[int]int{} // by status; 0: it was under way when the client left
	for range parallel {
		working.Go(func() {
			for ctx.Err() == nil {
				status, answer, err := s.hostile.read.Send(ctx, h.method, target, "application/json", body)
				if err != nil && ctx.Err() == nil {
					t.Errorf("%s %s: %v", h.method, h.path, err)
					return
				}
				if !slices.Contains([]int{0, http.StatusOK, http.StatusTooManyRequests, http.StatusGatewayTimeout}, status) {
					t.Errorf("%s %s: status %d: %.200s", h.method, h.path, status, answer)
					return
				}
				mu.Lock()
				answers[status]++
				mu.Unlock()
			}
		})
	}
	for ctx.Err() == nil {
		s.newKeys(ctx, t)
	}
	working.Wait()
	t.Logf("%d reads at a time were answered: %v", parallel, answers)
}

// newKeys makes keys of the neighbour's project that the server has not seen, and sends and reads an event by them.
func (s *stage) newKeys(ctx context.Context, t *testing.T) {
	project := "/v1/projects/" + s.neighbour.projectID
	key := func(path string, in map[string]any) *harness.Client {
		var made struct {
			Data struct {
				Value string `json:"key_value"`
			} `json:"data"`
		}
		if err := s.neighbour.timed(func() error { return s.JSON(t.Context(), http.MethodPost, project+path, in, &made) }); err != nil {
			return nil
		}
		return harness.NewClient(s.URL, made.Data.Value)
	}
	ingest := key("/ingestion_api_keys", map[string]any{"name": "new"})
	read := key("/fine_grained_api_keys", map[string]any{"name": "new", "permissions": []string{"read"},
		"expires_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
	if ingest != nil && read != nil {
		s.neighbour.onceBy(t.Context(), ingest, read)
	}
	select {
	case <-ctx.Done():
	case <-time.After(5 * pause):
	}
}

// filters are 100 filters that all events pass.
func (h heavyReads) filters() []map[string]any {
	filters := make([]map[string]any, 100)
	for i := range filters {
		field := "metadata.text"
		if h.payload {
			field = []string{"inputs.question", "outputs.answer"}[i%2]
		}
		filters[i] = map[string]any{"field": field, "operator": "not contains", "value": fmt.Sprintf("nowhere %d", i), "type": "string"}
	}
	return filters
}

// words are n bytes of text that does not repeat itself.
func words(n int) string {
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "%x ", rand.Uint32()) //nolint:gosec // no secret
	}
	return b.String()[:n]
}
