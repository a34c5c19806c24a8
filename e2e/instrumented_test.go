package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/e2e/fakeopenai"
	"github.com/spangrove/spangrove/e2e/harness"
)

// program is a program that a published instrumentation watches.
type program struct {
	name string
	argv func(t *testing.T) []string
	// protocol and endpoint are OTEL_EXPORTER_OTLP_PROTOCOL and _ENDPOINT.
	protocol string
	endpoint func(srv *harness.Server) string
	// tree is what must be below the session: type and name of each event, a
	// level of depth a tab, children by start.
	tree string
	// facts are those in which this program differs from calls.
	facts map[string]facts
	// calls are the model calls it makes, nil for those of all programs.
	calls []modelCall
	// The session's totals.
	prompt, completion int
}

func instrumented(venv, name string) func(*testing.T) []string {
	return func(t *testing.T) []string {
		return []string{filepath.Join(sdkDir(t), venv, "bin", "python"),
			filepath.Join(harness.Root(t), "e2e", "sdk", "python", "instrumented.py"), name}
	}
}

// anthropicClient returns a program of the client of Anthropic, which an instrumentation watches beside
// the client itself.
func anthropicClient(name string) func(*testing.T) []string {
	return func(t *testing.T) []string {
		return []string{filepath.Join(sdkDir(t), "venv-anthropic", "bin", "python"),
			filepath.Join(harness.Root(t), "e2e", "sdk", "python", "anthropic_calls.py"), name}
	}
}

// llamaIndex returns the program of LlamaIndex.
func llamaIndex(t *testing.T) []string {
	return []string{filepath.Join(sdkDir(t), "venv-llama-index", "bin", "python"),
		filepath.Join(harness.Root(t), "e2e", "sdk", "python", "llama_index_calls.py")}
}

// vercel runs on the Node.js that was installed with the SDK, which needs a newer
// one than some systems have.
func vercel(version string) func(*testing.T) []string {
	return func(t *testing.T) []string {
		dir := filepath.Join(sdkDir(t), "vercel")
		node := filepath.Join(dir, "node_modules", "node-linux-"+map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH], "bin", "node")
		return []string{node, filepath.Join(dir, "vercel.mjs"), version}
	}
}

func apiPort(srv *harness.Server) string  { return srv.URL }
func apiBelow(srv *harness.Server) string { return srv.URL + "/opentelemetry" }
func otlpPort(srv *harness.Server) string { return srv.HTTP }
func grpcPort(srv *harness.Server) string { return "http://" + srv.GRPC }

// TestInstrumentations runs real programs against a model that answers always the
// same, and holds the trees that come of their telemetry against what they did.
func TestInstrumentations(t *testing.T) {
	t.Parallel()
	harness.OneStore(t, "postgres", func(t *testing.T, st harness.Store) {
		model := httptest.NewServer(fakeopenai.Handler())
		defer model.Close()
		srv := harness.Start(t, harness.Options{Store: st})
		for _, p := range programs {
			t.Run(p.name, func(t *testing.T) {
				trace := p.run(t, srv, model.URL)
				p.check(t, srv, trace)
			})
		}
	})
}

// run returns the id of the trace that the program says it made.
func (p *program) run(t *testing.T, srv *harness.Server, model string) string {
	t.Helper()
	argv := p.argv(t)
	env := append(os.Environ(),
		"PYTHONDONTWRITEBYTECODE=1",
		"OPENAI_BASE_URL="+model+"/v1", "OPENAI_API_KEY=sk-none", "ANTHROPIC_BASE_URL="+model, "ANTHROPIC_API_KEY=sk-none",
		"OTEL_SERVICE_NAME=program",
		"OTEL_EXPORTER_OTLP_ENDPOINT="+p.endpoint(srv),
		"OTEL_EXPORTER_OTLP_PROTOCOL="+p.protocol,
		"OTEL_EXPORTER_OTLP_HEADERS=Authorization="+url.PathEscape("Bearer "+srv.Key),
		"HH_API_URL="+srv.URL, "HH_API_KEY="+srv.Key, "HH_PROJECT=default",
		// Programs under test talk to nobody but these servers.
		"TRACELOOP_TELEMETRY=false", "HONEYHIVE_TELEMETRY=false", "NO_PROXY=127.0.0.1",
	)
	out := string(sdk{argv: argv[:len(argv)-1]}.run(t, env, argv[len(argv)-1]))
	for line := range strings.Lines(out) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "trace "); ok {
			return id
		}
	}
	t.Fatalf("the program names no trace:\n%s", out)
	return ""
}

func (p *program) check(t *testing.T, srv *harness.Server, trace string) {
	t.Helper()
	spans, err := srv.Export(t.Context(), harness.Is("metadata.trace_id", trace))
	if err != nil {
		t.Fatal(err)
	}
	if len(spans) == 0 {
		t.Fatalf("no event of trace %s", trace)
	}
	all := srv.Session(t, fmt.Sprint(spans[0]["session_id"]))
	if len(all) != len(spans)+1 {
		t.Errorf("the session has %d events, the trace %d; want one more", len(all), len(spans))
	}
	tree, walked := render(all)
	if diff := gocmp.Diff(strings.TrimSpace(p.tree), tree); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	session := walked[0]
	want := facts{"metadata.prompt_tokens": p.prompt, "metadata.completion_tokens": p.completion}
	want.check(t, "session", session)
	var models []harness.Event
	for _, ev := range walked {
		if ev["event_type"] == "model" && at(ev, "metadata.duplicate_of") == nil {
			models = append(models, ev)
		}
	}
	made := calls
	if p.calls != nil {
		made = p.calls
	}
	if n, want := fmt.Sprint(at(session, "metadata.num_model_events")), fmt.Sprint(len(models)); n != want {
		t.Errorf("num_model_events is %s, want %s", n, want)
	}
	for i, c := range made {
		if i < len(models) {
			c.facts.with(p.facts["all"]).with(p.facts[c.name]).check(t, c.name, models[i])
		}
	}
	if t.Failed() {
		t.Logf("the model events:\n%s", models)
	}
}

// render draws a session's events as a tree, and gives them in the order of the
// lines, the session event first.
func render(all []harness.Event) (tree string, walked []harness.Event) {
	children := map[any][]harness.Event{}
	for _, ev := range all {
		if ev["event_type"] == "session" {
			walked = append(walked, ev)
			continue
		}
		children[ev["parent_id"]] = append(children[ev["parent_id"]], ev)
	}
	if len(walked) != 1 {
		return fmt.Sprintf("%d session events", len(walked)), append(walked, harness.Event{})
	}
	var b strings.Builder
	var walk func(id any, depth int)
	walk = func(id any, depth int) {
		slices.SortFunc(children[id], func(x, y harness.Event) int { return cmp.Compare(start(x), start(y)) })
		for _, ev := range children[id] {
			fmt.Fprintf(&b, "%s%s %s\n", strings.Repeat("\t", depth), ev["event_type"], ev["event_name"])
			walked = append(walked, ev)
			walk(ev["event_id"], depth+1)
		}
	}
	walk(walked[0]["event_id"], 0)
	return strings.TrimSpace(b.String()), walked
}

func start(ev harness.Event) float64 {
	n, _ := ev["start_time"].(json.Number)
	f, _ := n.Float64() // what is not a number sorts first
	return f
}

// facts are values by their dotted path in an event. A list's element is named by
// its index; nil: there is nothing at the path.
type facts map[string]any

// with returns the facts with others over them.
func (f facts) with(over facts) facts {
	out := facts{}
	for _, from := range []facts{f, over} {
		for k, v := range from {
			out[k] = v
		}
	}
	return out
}

func (f facts) check(t *testing.T, name string, ev harness.Event) {
	t.Helper()
	for path, want := range f {
		got := at(ev, path)
		if diff := gocmp.Diff(plain(t, want), plain(t, got)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, path, diff)
		}
	}
}

func at(v any, path string) any {
	for _, key := range strings.Split(path, ".") {
		switch o := v.(type) {
		case map[string]any:
			v = o[key]
		case []any:
			var i int
			if n, err := fmt.Sscan(key, &i); n != 1 || err != nil || i >= len(o) {
				return nil
			}
			v = o[i]
		default:
			return nil
		}
	}
	return v
}

// plain returns a value as JSON reads it. The ids of tool calls, which hang on every
// byte of the request, are all "call".
func plain(t *testing.T, v any) any {
	t.Helper()
	var out any
	d := json.NewDecoder(bytes.NewReader(toJSON(t, v)))
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return sameCalls(out)
}

func sameCalls(v any) any {
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, "call_") || strings.HasPrefix(v, "toolu_") {
			return "call"
		}
	case []any:
		for i := range v {
			v[i] = sameCalls(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = sameCalls(v[k])
		}
	}
	return v
}
