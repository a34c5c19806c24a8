package apiextension

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
)

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	callTree   = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"session_tree","arguments":{"session_id":"33333333-3333-4333-8333-333333333333","since":"x"}}}`
)

// askMCP sends a message of the Model Context Protocol.
func askMCP(t *testing.T, url, key, body string, headers ...string) answer {
	t.Helper()
	headers = append([]string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}, headers...)
	return call(t, "POST", url+mcpPath, key, strings.NewReader(body), headers...)
}

func TestMCP(t *testing.T) {
	_, url := serve(t, func(c *Config) {
		c.HTTP.CORS = configoptional.Some(confighttp.CORSConfig{AllowedOrigins: []string{"https://*.friend.example"}})
	})
	for _, tt := range []struct {
		name, key, body string
		headers         []string
		status          int
		want            string
	}{
		{"a client", "good", initialize, nil, 200, `"serverInfo":{"name":"spangrove"`},
		{"no key", "", initialize, nil, 401, `"errorCode":"UNAUTHORIZED"`},
		{"a wrong key", "bad", initialize, nil, 401, `"errorCode":"UNAUTHORIZED"`},
		{"arguments that are unknown", "good", callTree, nil, 200, `unexpected additional properties`},
		{"the page of another site", "good", initialize, []string{"Origin", "https://evil.example"}, 403, "the page of another site sent this request"},
		{"an opaque origin", "good", initialize, []string{"Origin", "null"}, 403, "the page of another site sent this request"},
		{"a page of this server", "good", initialize, []string{"Origin", url}, 200, "serverInfo"},
		{"an origin that CORS allows", "good", initialize, []string{"Origin", "https://one.friend.example"}, 200, "serverInfo"},
		{"an origin that looks like one", "good", initialize, []string{"Origin", "https://friend.example.evil.example"}, 403, "another site"},
		{"a batch", "good", "[" + initialize + "]", nil, 400, "one message, not an array"},
		{"a large message", "good", `{"x":"` + strings.Repeat("x", maxMCPBody) + `"}`, nil, 413, "the message is larger than 4194304 bytes"},
		{"many values", "good", treeOf("[" + strings.Repeat("[],", 50_000) + "0]"), nil, 413, "the message holds 100015 values and names; at most 100000 are allowed"},
		{"many commas in a text", "good", treeOf(`"` + strings.Repeat(`\",[`, 100_000) + `"`), nil, 200, `"result"`},
		{"no JSON", "good", "{", nil, 400, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := askMCP(t, url, tt.key, tt.body, tt.headers...)
			if got.status != tt.status || !strings.Contains(got.body, tt.want) {
				t.Errorf("%d %.300s, want %d %s", got.status, got.body, tt.status, tt.want)
			}
		})
	}
	got := call(t, "GET", url+mcpPath, "good", nil)
	if got.status != 405 || got.header.Get("Allow") != "POST" || !strings.Contains(got.body, "GET is not possible here; try POST") {
		t.Errorf("GET: %d %s", got.status, got.body)
	}
}

// treeOf is a call of session_tree for a session.
func treeOf(session string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"session_tree","arguments":{"session_id":` + session + `}}}`
}

// The budget pays for a message, for what decompresses it, and for what decoding makes of it.
func TestMemoryOfMCP(t *testing.T) {
	e, _ := serve(t, nil)
	many := treeOf("[" + strings.Repeat("[],", 40_000) + "0]")
	for name, tt := range map[string]struct {
		encoding string
		body     []byte
		least    int64
	}{
		"a message":         {"", []byte(treeOf("1")), 1},
		"many values":       {"", []byte(many), 80_000 * mcpValueMemory},
		"a window of 8 MiB": {"zstd", []byte{0x28, 0xb5, 0x2f, 0xfd, 0, (23 - 10) << 3, 1, 0, 0}, 8 << 20}, // of nothing,
	} {
		r := httptest.NewRequest("POST", mcpPath, bytes.NewReader(tt.body))
		r.Header.Set("Content-Encoding", tt.encoding)
		if err := e.bodies.Open(httptest.NewRecorder(), r); err != nil {
			t.Fatal(err)
		}
		_, release, err := e.readMCP(r)
		if used := e.budget.Used(); err != nil || used < tt.least {
			t.Errorf("%s: %d bytes are held, want %d; %v", name, used, tt.least, err)
		}
		release()
		if used := e.budget.Used(); used != 0 {
			t.Errorf("%s: %d bytes are held afterwards", name, used)
		}
	}
}

// A server without keys answers loopback under its own names alone: a page could have another name lead here.
func TestMCPWithoutKeys(t *testing.T) {
	_, url := serve(t, func(c *Config) { c.HTTP.Auth = configoptional.None[confighttp.AuthConfig]() })
	for host, status := range map[string]int{"": 200, "localhost:7420": 200, "[::1]:7420": 200, "evil.example:7420": 403, "127.0.0.1.evil.example": 403} {
		r, err := http.NewRequestWithContext(context.Background(), "POST", url+mcpPath, strings.NewReader(initialize))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if host != "" {
			r.Header.Set("Origin", "http://"+host)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != status {
			t.Errorf("host %q: %d, want %d", host, res.StatusCode, status)
		}
	}
}
