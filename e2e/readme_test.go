package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/spangrove/spangrove/e2e/harness"
)

// readmeCode returns the first code block after the paragraph of the README that
// begins with heading: indented or fenced, without indent and fences.
func readmeCode(t *testing.T, heading string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(harness.Root(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "\n"+heading)
	if !ok {
		t.Fatalf("the README has no paragraph that begins with %q", heading)
	}
	var code []string
	fenced := false
	for line := range strings.Lines(rest) {
		indented := strings.HasPrefix(line, "    ")
		switch {
		case strings.HasPrefix(line, "```") && fenced:
			return strings.Join(code, "")
		case strings.HasPrefix(line, "```"):
			fenced = true
		case fenced:
			code = append(code, line)
		case indented:
			code = append(code, strings.TrimPrefix(line, "    "))
		case len(code) > 0 && strings.TrimSpace(line) != "":
			return strings.Join(code, "")
		case strings.HasPrefix(line, "#"), strings.HasPrefix(line, "**"):
			t.Fatalf("the README shows no code for %q", heading)
		}
	}
	return strings.Join(code, "")
}

// onServer puts the addresses of a running server in place of the default ones.
func onServer(t *testing.T, srv *harness.Server, code string) string {
	t.Helper()
	out := strings.NewReplacer(
		"http://127.0.0.1:7420", srv.URL,
		"http://127.0.0.1:4318", srv.HTTP,
		"http://127.0.0.1:4317", "http://"+srv.GRPC,
	).Replace(code)
	if out == code {
		t.Fatalf("the README's code names none of the default addresses:\n%s", code)
	}
	return out
}

// shell runs a script as a person would who has just typed the README's lines.
func shell(t *testing.T, srv *harness.Server, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "KEY="+srv.Key, "PYTHONDONTWRITEBYTECODE=1",
		"NODE_PATH="+filepath.Join(sdkDir(t), "node", "node_modules"),
		"HONEYHIVE_TELEMETRY=false", "TRACELOOP_TELEMETRY=false")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s\nof the script:\n%s", err, out, stderr.String(), script)
	}
	t.Logf("%s%s", out, stderr.String())
	return strings.TrimSpace(string(out))
}

// stored returns the names of all events, sorted, and the events by name. A session
// has "session " before its name, which may be that of its first step.
func stored(t *testing.T, srv *harness.Server) ([]string, map[string]harness.Event) {
	t.Helper()
	evs, err := srv.Export(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]harness.Event{}
	var names []string
	for _, ev := range evs {
		name := fmt.Sprint(ev["event_name"])
		if ev["event_type"] == "session" {
			name = "session " + name
		}
		byName[name], names = ev, append(names, name)
	}
	slices.Sort(names)
	return names, byName
}

// wantStored fails the test unless the server has exactly the events of these names.
func wantStored(t *testing.T, srv *harness.Server, want ...string) map[string]harness.Event {
	t.Helper()
	slices.Sort(want)
	names, byName := stored(t, srv)
	if !slices.Equal(names, want) {
		t.Fatalf("stored are %q, want %q", names, want)
	}
	return byName
}

// TestReadmeFirstTrace does what the README says, by each of its four ways, and
// reads the first trace back.
func TestReadmeFirstTrace(t *testing.T) {
	harness.Require(t)
	pythonFile := func(name string) string {
		return fmt.Sprintf("%q %q\n", python(t), filepath.Join(harness.Root(t), "e2e", "sdk", "python", name))
	}

	t.Run("curl", func(t *testing.T) {
		srv := harness.Start(t, harness.Options{})
		out := shell(t, srv, "curl() { command curl -fsS \"$@\"; }\n"+onServer(t, srv, readmeCode(t, "**With curl.**")))
		evs := wantStored(t, srv, "chat", "session first steps")
		if evs["chat"]["parent_id"] != evs["session first steps"]["event_id"] {
			t.Errorf("the event is not below its session: %v", evs["chat"])
		}
		if !strings.Contains(out, `"children"`) || !strings.Contains(out, "Lisbon") {
			t.Errorf("the last line does not show the tree: %s", out)
		}
	})

	t.Run("OpenTelemetry SDK", func(t *testing.T) {
		srv := harness.Start(t, harness.Options{})
		shell(t, srv, onServer(t, srv, readmeCode(t, "**With an OpenTelemetry SDK**"))+pythonFile("first_trace.py"))
		_, evs := stored(t, srv)
		top, chat := evs["invoke_agent helper"], evs["chat m-small"]
		if chat == nil || top == nil || chat["parent_id"] != top["event_id"] || chat["event_type"] != "model" {
			t.Errorf("the trace is not stored as a tree: %v", evs)
		}
	})

	t.Run("HoneyHive SDK in Python", func(t *testing.T) {
		srv := harness.Start(t, harness.Options{})
		shell(t, srv, onServer(t, srv, readmeCode(t, "**With the HoneyHive SDK**"))+pythonFile("first_session.py"))
		evs := wantStored(t, srv, "session first session", "greet")
		if evs["greet"]["session_id"] != evs["session first session"]["event_id"] {
			t.Errorf("the event is not in the session: %v", evs["greet"])
		}
	})

	t.Run("HoneyHive SDK in Node.js", func(t *testing.T) {
		srv := harness.Start(t, harness.Options{})
		shell(t, srv, onServer(t, srv, readmeCode(t, "**With the HoneyHive SDK**"))+
			fmt.Sprintf("node %q\n", filepath.Join(harness.Root(t), "e2e", "sdk", "node", "first_session.js")))
		evs := wantStored(t, srv, "session first session", "greet")
		if evs["greet"]["session_id"] != evs["session first session"]["event_id"] {
			t.Errorf("the event is not in the session: %v", evs["greet"])
		}
	})

	t.Run("existing Collector", func(t *testing.T) {
		srv := harness.Start(t, harness.Options{})
		throughCollector(t, srv, onServer(t, srv, readmeCode(t, "**From an existing OpenTelemetry Collector**")))
	})
}

// existing is the configuration of a Collector that knew nothing of us.
const existing = `
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: %s
processors:
  batch:
exporters:
  nop:
service:
  telemetry:
    metrics:
      level: none
  pipelines:
    traces:
      receivers: [otlp]
      processors: [batch]
      exporters: [nop]
`

// throughCollector runs our own binary as that Collector with the README's lines
// added, and sends a captured trace through it.
func throughCollector(t *testing.T, srv *harness.Server, added string) {
	t.Helper()
	dir := t.TempDir()
	addr := harness.FreeAddr(t)
	var args []string
	for i, text := range []string{fmt.Sprintf(existing, addr), added} {
		file := filepath.Join(dir, fmt.Sprintf("%d.yaml", i))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", file)
	}
	collector := harness.New(t, harness.Options{Args: args, Env: map[string]string{"SPANGROVE_KEY": srv.Key}})
	collector.Launch()

	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s := sampleOf(t, "otel-genai/agent_tool_loop")
	_, err = ptraceotlp.NewGRPCClient(conn).Export(t.Context(), toTraces(t, decode(t, s.traces)), grpc.WaitForReady(true))
	if err != nil {
		t.Fatalf("%v\n%s", err, collector.Tail())
	}
	// That Collector answers before it passes the spans on.
	deadline := time.Now().Add(2 * time.Minute)
	for {
		var got struct{ Count int }
		srv.Must(t, http.MethodPost, "/v1/events/search", map[string]any{"filters": []any{}}, &got)
		if _, spans := s.exports(t); got.Count >= len(spans) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d events after 2 minutes\n%s", got.Count, collector.Tail())
		}
		time.Sleep(20 * time.Millisecond)
	}
	checkEvents(t, checker(t), s, ofSample(s, readBack(t, srv)))
	if err := collector.Terminate(); err != nil {
		t.Errorf("SIGTERM to the Collector: %v", err)
	}
}
