package hostile

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
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
	register(hostileCase{name: "disk_filler", attack: diskFiller, memoryMiB: 300})
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

// diskFiller stores as much as it can in a project that may store 1 MB, on every HTTP port.
func diskFiller(t *testing.T, s *stage) {
	const quota = 1_000_000
	s.limit(t, s.hostile, map[string]any{"stored_bytes": quota})
	text := make([]byte, 200_000)
	var session struct {
		ID string `json:"session_id"`
	}
	refused := 0
	for range 40 {
		_, _ = rand.Read(text) // so that it cannot be compressed; never fails
		event := []byte(`{"event":{"event_type":"tool","inputs":{"x":"` + base64.StdEncoding.EncodeToString(text) + `"}}}`)
		status, seconds := refusedUntil(t.Context(), t, s.hostile.ingest, http.MethodPost, s.URL+"/v1/events", event)
		switch {
		case status == http.StatusTooManyRequests && seconds >= 1:
			refused++
		case status != http.StatusOK || refused > 0:
			t.Errorf("POST /v1/events after %d refusals: status %d, Retry-After %d", refused, status, seconds)
		}
	}
	var limits struct {
		Usage struct {
			StoredBytes int `json:"stored_bytes"`
		} `json:"usage"`
	}
	s.Must(t, http.MethodGet, "/v1/projects/"+s.hostile.projectID+"/limits", nil, &limits)
	if n := limits.Usage.StoredBytes; refused == 0 || n < quota || n > 2*quota {
		t.Errorf("%d requests were refused; %d bytes are stored, of which %d are allowed", refused, n, quota)
	}
	span := []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0123456789abcdef0123456789abcdef","spanId":"0123456789abcdef","name":"x"}]}]}]}`)
	for _, at := range []string{s.HTTP + "/v1/traces", s.URL + "/v1/traces"} {
		if status, _ := refusedUntil(t.Context(), t, s.hostile.ingest, http.MethodPost, at, span); status != http.StatusTooManyRequests {
			t.Errorf("POST %s over the quota: status %d, want 429", at, status)
		}
	}
	if status, _ := refusedUntil(t.Context(), t, s.hostile.full, http.MethodPost, s.URL+"/v1/datapoints", []byte(`{"inputs":{}}`)); status != http.StatusTooManyRequests {
		t.Errorf("a datapoint over the quota: status %d, want 429", status)
	}
	// Reading and deleting go on, and make room.
	var found struct {
		Events []struct {
			ID string `json:"session_id"`
		} `json:"events"`
	}
	s.hostile.full.Must(t, http.MethodPost, "/v1/events/search", map[string]any{"filters": []any{map[string]any{"field": "event_type", "operator": "is", "value": "session", "type": "string"}}}, &found)
	for _, e := range found.Events {
		s.hostile.full.Must(t, http.MethodDelete, "/v1/sessions/"+e.ID, nil, nil)
	}
	for ends := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
		if err := s.hostile.ingest.JSON(t.Context(), http.MethodPost, "/v1/session/start", map[string]any{"session_name": "again"}, &session); err == nil {
			return
		} else if time.Now().After(ends) {
			t.Fatalf("a minute after %d sessions were deleted: %v", len(found.Events), err)
		}
	}
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
