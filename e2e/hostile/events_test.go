package hostile

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/e2e/harness"
)

func init() {
	register(hostileCase{name: "empty_events", attack: emptyEvents, memoryMiB: 200})
}

// emptyEvents sends batches of 700,000 empty events: 2 KB each when compressed.
func emptyEvents(t *testing.T, s *stage) {
	body := gzipped(t, []byte(`{"events":[{}`+strings.Repeat(",{}", 700_000-1)+`]}`))
	for range 2 {
		for _, path := range []string{"/events/batch", "/v1/events/batch"} {
			status, answer := compressed(t.Context(), t, s.hostile.ingest, path, "application/json", "gzip", body)
			if status != http.StatusBadRequest && status != http.StatusRequestEntityTooLarge {
				t.Errorf("POST %s: status %d, want 400 or 413: %.200s", path, status, answer)
			}
		}
	}
}

// gzipped compresses a body as well as gzip can.
func gzipped(t *testing.T, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// compressed posts a body that is compressed already. A request that gets no answer has status 0.
func compressed(ctx context.Context, t *testing.T, c *harness.Client, path, contentType, encoding string, body []byte) (int, []byte) {
	t.Helper()
	url := path
	if strings.HasPrefix(path, "/") {
		url = c.URL + path
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, nil
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Content-Encoding", encoding)
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, answer
}
