package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/cmd/spangrove/internal/cli"
)

// running is a server in this process, with its own data and ports.
type running struct {
	banner string
	stop   func() error
}

// telling is a writer that hands on what is written to it, one write at a time.
type telling chan string

func (c telling) Write(p []byte) (int, error) { c <- string(p); return len(p), nil }

// start runs the command with args, and comes back when the banner is there.
func start(t *testing.T, args ...string) running {
	t.Helper()
	root := newRoot()
	root.SetArgs(args)
	told := make(telling, 1)
	root.SetErr(told)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	select {
	case text := <-told:
		stop := func() error { cancel(); return <-ended }
		return running{banner: text, stop: stop}
	case err := <-ended:
		cancel()
		t.Fatalf("ended before it was ready: %v", err)
		panic("unreachable")
	}
}

func environment(t *testing.T, dir string) {
	t.Helper()
	for name, value := range map[string]string{
		"SPANGROVE_ADDR":           "127.0.0.1:0",
		"SPANGROVE_OTLP_GRPC_ADDR": "127.0.0.1:0",
		"SPANGROVE_OTLP_HTTP_ADDR": "127.0.0.1:0",
		"SPANGROVE_DATA_DIR":       dir,
		"SPANGROVE_POSTGRES_DSN":   "",
		"SPANGROVE_API_KEY":        "",
		"SPANGROVE_PROJECT":        "default",
		"SPANGROVE_LOG_LEVEL":      "error",
	} {
		t.Setenv(name, value)
	}
}

func (r running) find(t *testing.T, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(r.banner)
	if m == nil {
		t.Fatalf("no %s in the banner:\n%s", pattern, r.banner)
	}
	return m[1]
}

func call(t *testing.T, method, url, key, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

const (
	apiLine  = `API +(http://\S+)`
	httpLine = `OTLP HTTP +(http://\S+)`
	keyLine  = `API key +generated now, in (\S+)` // the key itself shows on a terminal only
	session  = "0192f0a4-7c1e-7aaa-8bbb-1234567890ab"
	otlpBody = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174",
		"parentSpanId":null,"name":"chat","kind":"SPAN_KIND_INTERNAL","startTimeUnixNano":"1795213764357000000","endTimeUnixNano":"1795213765357000000",
		"attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}}]}]}]}]}`
)

// TestServer is the first run of a new user, and the second.
func TestServer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	environment(t, dir)
	first := start(t)
	api := first.find(t, apiLine)
	file, err := os.ReadFile(first.find(t, keyLine))
	if err != nil {
		t.Fatal(err)
	}
	key := strings.TrimSpace(string(file))
	if got := first.find(t, `Data +(\S+)`); got != dir {
		t.Errorf("data in %s, want %s", got, dir)
	}
	first.find(t, `OTLP gRPC +(127\.0\.0\.1:\d+)`)
	for _, tt := range []struct {
		method, url, body string
		status            int
		want              string
	}{
		{"GET", api + "/healthcheck", "", 200, `{"status":"ok"}`},
		{"POST", api + "/session/start", `{"session":{"session_name":"hello","session_id":"` + session + `"}}`, 200, `"session_id":"` + session + `"`},
		{"POST", api + "/events", `{"event":{"event_type":"tool","event_name":"look up","session_id":"` + session + `","inputs":{"n":9007199254740993}}}`, 200, `"success":true`},
		{"POST", api + "/opentelemetry/v1/traces", otlpBody, 200, ""},
		{"POST", first.find(t, httpLine) + "/v1/traces", otlpBody, 200, ""},
		{"POST", api + "/v1/events/search", `{}`, 200, `"totalEvents":4`},
		{"GET", api + "/session/" + session, "", 200, `"n":9007199254740993`},
	} {
		if status, body := call(t, tt.method, tt.url, key, tt.body); status != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("%s %s: %d %s, want %d %s", tt.method, tt.url, status, body, tt.status, tt.want)
		}
	}
	for _, url := range []string{api + "/events", first.find(t, httpLine) + "/v1/traces"} {
		if status, _ := call(t, "POST", url, "wrong", "{}"); status != 401 {
			t.Errorf("%s with a wrong key: %d", url, status)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	if err := first.stop(); err != nil {
		t.Errorf("stop: %v", err)
	}

	second := start(t)
	if strings.Contains(second.banner, key) {
		t.Error("the key is shown a second time")
	}
	second.find(t, `API key +in (`+regexp.QuoteMeta(filepath.Join(dir, "api-key"))+`)`)
	if status, body := call(t, "POST", second.find(t, apiLine)+"/v1/events/search", key, `{}`); status != 200 || !strings.Contains(body, `"totalEvents":4`) {
		t.Errorf("after a restart: %d %s", status, body)
	}
	http.DefaultClient.CloseIdleConnections()
	if err := second.stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// TestVariables checks what --set and empty variables do to the embedded configuration.
func TestVariables(t *testing.T) {
	environment(t, t.TempDir())
	t.Setenv("SPANGROVE_OTLP_GRPC_ADDR", "")
	t.Setenv("SPANGROVE_OTLP_HTTP_ADDR", "")
	t.Setenv("SPANGROVE_API_KEY", "0123456789012345") // a number to YAML
	t.Setenv("SPANGROVE_PROJECT", "42")
	mine := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(mine, []byte("extensions: {spangrove_api: {max_request_body_size: 100}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, "--config", "embedded:default", "--config", mine, "--set", "extensions.spangrove_auth.cache_ttl=1s")
	if strings.Contains(r.banner, "OTLP") || strings.Contains(r.banner, "API key") {
		t.Errorf("banner:\n%s", r.banner)
	}
	status, body := call(t, "POST", r.find(t, apiLine)+"/session/start", "0123456789012345", `{}`)
	if status != 200 || !strings.Contains(body, `"project":"42"`) {
		t.Errorf("session start: %d %s", status, body)
	}
	if status, body := call(t, "POST", r.find(t, apiLine)+"/session/start", "0123456789012345", strings.Repeat(" ", 101)); status != 413 {
		t.Errorf("over max_request_body_size: %d %s", status, body)
	}
	http.DefaultClient.CloseIdleConnections()
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}

// TestMistakes checks that each is one line that names the setting.
func TestMistakes(t *testing.T) {
	environment(t, t.TempDir())
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("a: [b"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args string
		want string
		exit int
	}{
		{"--set nonsense", "--set nonsense: must be path=value", cli.ExitUsage},
		{"--config " + bad, "config: " + bad + ": yaml: ", cli.ExitUsage},
		{"--config embedded:nothing", `config: no embedded configuration "nothing"; must be one of default`, cli.ExitUsage},
		{"--set exporters.spangrove.store=nope", `exporters::spangrove::store: no extension "nope" runs`, cli.ExitFailed},
		{"--set exporters.spangrove.stroe=nope", "config: exporters::spangrove::stroe: no such setting", cli.ExitUsage},
		{"--set exporters.spangrove.timeout=abc", "config: exporters::spangrove::timeout: invalid duration", cli.ExitUsage},
		{"--set extensions.spangrove_api.drain=1s", "config: extensions::spangrove_api::drain: no such setting", cli.ExitUsage},
		{"--set extensions.spangrove_api.endpoint=0.0.0.0:1 --set extensions.spangrove_api.auth.enabled=false", "config: extensions::spangrove_api::endpoint: 0.0.0.0:1 can be reached from other machines", cli.ExitUsage},
		{"--set extensions.spangrove_api.endpoint=" + taken.Addr().String(), "extensions::spangrove_api::endpoint: listen tcp " + taken.Addr().String() + ": bind: address already in use", cli.ExitFailed},
		{"--set extensions.spangrove_auth.api_key=short", "config: extensions::spangrove_auth::api_key: must have at least 16 characters", cli.ExitUsage},
		{"validate --set extensions.spangrove_auth.api_key=short", "config: extensions::spangrove_auth::api_key: must have at least 16 characters", cli.ExitUsage},
		{"validate --set exporters.spangrove.stroe=nope", "config: exporters::spangrove::stroe: no such setting", cli.ExitUsage},
		{"--set extensions.spangrove_evaluate.workers=0", "config: extensions::spangrove_evaluate::workers: must be between 1 and 256", cli.ExitUsage},
		{"--set extensions.spangrove_store.sqlite.synchronous=off", `config: extensions::spangrove_store::sqlite::synchronous: must be "full" or "normal"`, cli.ExitUsage},
		{"--set extensions.spangrove_store.postgres.dsn=postgres://u:hunter2@127.0.0.1:1/db", "extensions::spangrove_store::postgres::dsn: open PostgreSQL 127.0.0.1/db: dial tcp 127.0.0.1:1: ", cli.ExitFailed},
		{"--set service.telemetry.logs.level=loud", `config: service::telemetry::logs::level: unrecognized level: "loud"`, cli.ExitUsage},
		{"--set service.extensions=[spangrove_api]", "config: extensions::spangrove_api: needs the extension spangrove_", cli.ExitUsage},
		{"--set service.pipelines.traces.exporters=[jaeger]", `config: service::pipelines::traces: references exporter "jaeger" which is not configured`, cli.ExitUsage},
		{"--set receivers.spangrove.protocols.grpc.endpoint=" + taken.Addr().String(), "receivers::spangrove::protocols::grpc: listen tcp " + taken.Addr().String(), cli.ExitFailed},
	} {
		t.Run(tt.args, func(t *testing.T) {
			root := newRoot()
			root.SetArgs(strings.Fields(tt.args))
			var out bytes.Buffer
			root.SetOut(&out)
			root.SetErr(&out)
			var f *cli.Failure
			if err := root.ExecuteContext(t.Context()); !errors.As(err, &f) {
				t.Fatalf("error %v", err)
			}
			if !strings.HasPrefix(f.Line, tt.want) || f.Exit != tt.exit || strings.Contains(f.Line, "\n") || strings.Contains(f.Line, "hunter2") {
				t.Errorf("got  %q, exit %d\nwant %q…, exit %d", f.Line, f.Exit, tt.want, tt.exit)
			}
			if out.Len() > 0 {
				t.Errorf("printed besides: %s", &out)
			}
		})
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"version", "spangrove "},
		{"--version", "spangrove "},
		{"--help", "SPANGROVE_OTLP_GRPC_ADDR"},
		{"components", "spangrove_store"},
		{"validate", ""},
	} {
		root := newRoot()
		root.SetArgs(strings.Fields(tt.args))
		var out bytes.Buffer
		root.SetOut(&out)
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Errorf("%s: %v", tt.args, err)
		}
		if !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s: %s", tt.args, &out)
		}
	}
	root := newRoot()
	root.SetArgs([]string{"bogus"})
	if err := root.ExecuteContext(t.Context()); err == nil || err.Error() != `unknown command "bogus" for "spangrove"` {
		t.Errorf("bogus: %v", err)
	}
}

// TestConfiguredKeyChanges starts a server with one key after another: only the one that the
// environment has now is valid.
func TestConfiguredKeyChanges(t *testing.T) {
	environment(t, filepath.Join(t.TempDir(), "data"))
	keys := []string{"sg_first_0123456789abcdef", "sg_second_0123456789abcdef"}
	for _, now := range []string{keys[0], keys[1], keys[0]} {
		t.Setenv("SPANGROVE_API_KEY", now)
		server := start(t)
		api := server.find(t, apiLine)
		for _, key := range keys {
			want := http.StatusUnauthorized
			if key == now {
				want = http.StatusOK
			}
			if status, body := call(t, "GET", api+"/projects", key, ""); status != want {
				t.Errorf("%s while %s is configured: %d %s, want %d", key, now, status, body, want)
			}
		}
		http.DefaultClient.CloseIdleConnections()
		if err := server.stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	}
}
