package hostile

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spangrove/spangrove/e2e/harness"
)

func init() {
	register(hostileCase{name: "flood_of_requests", attack: floodOfRequests, memoryMiB: 200})
}

// limit sets limits of a tenant's project.
func (s *stage) limit(t *testing.T, n *tenant, limits map[string]any) {
	t.Helper()
	s.Must(t, http.MethodPut, "/v1/projects/"+n.projectID+"/limits", limits, nil)
}

// refusedUntil sends a request and gives its status, and what a 429 says of when to try again.
func refusedUntil(ctx context.Context, t *testing.T, c *harness.Client, method, url string, body []byte) (status, seconds int) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, 0
	}
	req.Header.Set("Authorization", "Bearer "+c.Key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, 0
	}
	defer res.Body.Close()
	seconds, _ = strconv.Atoi(res.Header.Get("Retry-After"))
	return res.StatusCode, seconds
}

// floodOfRequests sends as fast as it can, on every HTTP port, from a project that may make 50
// requests a second.
func floodOfRequests(t *testing.T, s *stage) {
	s.limit(t, s.hostile, map[string]any{"requests_per_second": 50, "request_burst": 50})
	const clients = 16
	ends := time.Now().Add(3 * time.Second)
	var admitted, refused, silent atomic.Int64
	began := time.Now()
	var working sync.WaitGroup
	for i := range clients {
		working.Go(func() {
			url, body, key := s.URL+"/v1/events", []byte(`{"event":{"event_type":"tool","inputs":{}}}`), s.hostile.ingest
			switch i % 3 {
			case 1:
				url, body = s.HTTP+"/v1/traces", []byte(`{"resourceSpans":[]}`)
			case 2:
				url, body, key = s.URL+"/v1/events/search", []byte(`{}`), s.hostile.read
			}
			for time.Now().Before(ends) {
				switch status, seconds := refusedUntil(t.Context(), t, key, http.MethodPost, url, body); {
				case status == http.StatusOK:
					admitted.Add(1)
				case status == http.StatusTooManyRequests && seconds >= 1:
					refused.Add(1)
				case status == http.StatusTooManyRequests:
					silent.Add(1)
				default:
					t.Errorf("POST %s: status %d, want 200 or 429", url, status)
					return
				}
			}
		})
	}
	working.Wait()
	if most := int64(50 + 50*(time.Since(began).Seconds()+1)); admitted.Load() > most {
		t.Errorf("%d requests were admitted, at most %d may be", admitted.Load(), most)
	}
	if refused.Load() == 0 || silent.Load() > 0 {
		t.Errorf("%d requests were refused with a time to try again, %d without", refused.Load(), silent.Load())
	}
}
