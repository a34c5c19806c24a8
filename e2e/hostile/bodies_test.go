package hostile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/spangrove/spangrove/e2e/harness"
)

func init() {
	register(hostileCase{name: "grpc_zstd_windows_without_key", attack: windowsWithoutKey, memoryMiB: 100})
	register(hostileCase{name: "grpc_gzip_streams_without_key", attack: streamsWithoutKey, memoryMiB: 150})
	register(hostileCase{name: "http_snappy_without_key", attack: snappyWithoutKey, memoryMiB: 150})
	register(hostileCase{name: "zstd_windows_with_key", attack: windowsWithKey, memoryMiB: 200})
	register(hostileCase{name: "withheld_bodies", attack: withheldBodies, memoryMiB: 150})
	register(hostileCase{name: "empty_spans", attack: emptySpans, memoryMiB: 300})
	register(hostileCase{name: "parallel_compressed_searches", attack: parallelSearches, memoryMiB: 300})
}

// duration is how long an attack that repeats itself goes on.
const duration = 5 * time.Second

const exportPath = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"

// window is an empty frame of zstd of 9 bytes that declares a window of 512 MiB.
var window = []byte{0x28, 0xb5, 0x2f, 0xfd, 0, (29 - 10) << 3, 1, 0, 0}

// calls returns a client of gRPC that sends what it likes. It is one connection.
func calls(t *testing.T) *http.Client {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 60 * time.Second}
}

// call sends one message, compressed, and returns grpc-status; -1 if there was none.
func call(ctx context.Context, client *http.Client, target, key, encoding string, message []byte) int {
	body := append(binary.BigEndian.AppendUint32([]byte{1}, uint32(len(message))), message...)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+target+exportPath, bytes.NewReader(body))
	if err != nil {
		return -1
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("TE", "trailers")
	req.Header.Set("Grpc-Encoding", encoding)
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := client.Do(req)
	if err != nil {
		return -1
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	text := res.Trailer.Get("Grpc-Status")
	if text == "" {
		text = res.Header.Get("Grpc-Status")
	}
	code, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return code
}

// repeat runs do in parallel, again and again, until duration is over.
func repeat(parallel int, do func()) {
	end := time.Now().Add(duration)
	var working sync.WaitGroup
	for range parallel {
		working.Go(func() {
			for time.Now().Before(end) {
				do()
			}
		})
	}
	working.Wait()
}

// windowsWithoutKey calls over gRPC with messages of 9 bytes whose decoder wants 512 MiB.
func windowsWithoutKey(t *testing.T, s *stage) {
	client := calls(t)
	repeat(2, func() {
		if code := call(t.Context(), client, s.GRPC, "", "zstd", window); code != 16 {
			t.Errorf("grpc-status %d without a key, want 16", code)
		}
		time.Sleep(50 * time.Millisecond)
	})
}

// streamsWithoutKey calls over gRPC with 60 messages at a time that are 20 KB, and 20 MiB when they
// are decompressed.
func streamsWithoutKey(t *testing.T, s *stage) {
	bomb := gzipped(t, make([]byte, 20<<20-1))
	client := calls(t)
	repeat(60, func() {
		if code := call(t.Context(), client, s.GRPC, "", "gzip", bomb); code != 16 {
			t.Errorf("grpc-status %d without a key, want 16", code)
		}
		time.Sleep(100 * time.Millisecond)
	})
}

// snappyWithoutKey posts 15 bodies at a time that are 20 MiB when they are decompressed: 300 MiB for whoever does. net/http keeps a
// connection for half a second that it has answered without reading the body, so that 4,000 answers a second fill a listener's
// max_connections, 2,048 of some 35 KiB each.
func snappyWithoutKey(t *testing.T, s *stage) {
	bomb := s2.EncodeSnappy(nil, make([]byte, 20<<20-1))
	repeat(15, func() {
		for _, path := range []string{s.HTTP + "/v1/traces", s.URL + "/v1/traces", s.URL + "/events/batch"} {
			if status, answer := compressed(t.Context(), t, s.nobody, path, "application/json", "snappy", bomb); status != 0 && status != 401 {
				t.Errorf("POST %s without a key: %d %.100s", path, status, answer)
			}
		}
	})
}

// windowsWithKey posts bodies of 9 bytes whose decoder wants 512 MiB with every sort of key.
func windowsWithKey(t *testing.T, s *stage) {
	client := calls(t)
	repeat(4, func() {
		for path, c := range map[string]*harness.Client{
			s.HTTP + "/v1/traces": s.hostile.ingest, s.URL + "/events": s.hostile.ingest, s.URL + "/v1/events/export": s.hostile.read,
		} {
			if status, answer := compressed(t.Context(), t, c, path, "application/json", "zstd", window); status != 400 && status != 429 {
				t.Errorf("POST %s: %d %.100s, want 400", path, status, answer)
			}
		}
		if code := call(t.Context(), client, s.GRPC, s.hostile.ingest.Key, "zstd", window); code != 3 && code != 8 {
			t.Errorf("grpc-status %d, want 3", code)
		}
	})
}

// withheldBodies announces bodies that together are larger than any budget, sends a byte of each, and
// no more. Each must be cut, and nobody may feel it meanwhile.
func withheldBodies(t *testing.T, s *stage) {
	type request struct{ base, path, key string }
	requests := []request{
		{s.URL, "/events/batch", s.hostile.ingest.Key}, {s.HTTP, "/v1/traces", s.hostile.ingest.Key},
		{s.URL, "/v1/events/export", s.hostile.read.Key}, {s.URL, "/v1/traces", s.hostile.ingest.Key},
	}
	var waiting sync.WaitGroup
	for i := range 40 {
		r := requests[i%len(requests)]
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(r.base, "http://"))
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{",
			r.path, r.key, 20<<20-1); err != nil {
			t.Error(err)
		}
		waiting.Go(func() {
			if err := conn.SetReadDeadline(time.Now().Add(40 * time.Second)); err != nil {
				t.Error(err)
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Errorf("POST %s: a withheld body is not cut: %v", r.path, err)
				return
			}
			defer res.Body.Close()
			if res.StatusCode != http.StatusGatewayTimeout && res.StatusCode != http.StatusTooManyRequests {
				t.Errorf("POST %s: %s, want 504", r.path, res.Status)
			}
		})
	}
	waiting.Wait()
}

// emptySpans sends 5 million spans of nothing: 10 KB when they are compressed.
func emptySpans(t *testing.T, s *stage) {
	var request []byte
	spans := bytes.Repeat([]byte{2<<3 | 2, 0}, 5_000_000)
	for _, field := range []byte{2, 1} { // scope_spans, resource_spans
		request = append(binary.AppendUvarint([]byte{field<<3 | 2}, uint64(len(spans))), spans...)
		spans = request
	}
	body := gzipped(t, request)
	client := calls(t)
	for range 2 {
		for _, path := range []string{s.HTTP + "/v1/traces", s.URL + "/v1/traces"} {
			if status, answer := compressed(t.Context(), t, s.hostile.ingest, path, "application/x-protobuf", "gzip", body); status != http.StatusRequestEntityTooLarge {
				t.Errorf("POST %s: %d %.100q, want 413", path, status, answer)
			}
		}
		if code := call(t.Context(), client, s.GRPC, s.hostile.ingest.Key, "gzip", body); code != 3 {
			t.Errorf("grpc-status %d, want 3", code)
		}
	}
}

// parallelSearches makes 20 searches at a time whose bodies are 19 KB, and nearly 20 MiB when they are
// decompressed.
func parallelSearches(t *testing.T, s *stage) {
	body := gzipped(t, []byte(`{"filters": []`+strings.Repeat(" ", 19<<20)+`}`))
	repeat(20, func() {
		status, answer := compressed(t.Context(), t, s.hostile.read, "/v1/events/export", "application/json", "gzip", body)
		if status != http.StatusOK && status != http.StatusTooManyRequests {
			t.Errorf("status %d, want 200 or 429: %.100s", status, answer)
		}
	})
}
