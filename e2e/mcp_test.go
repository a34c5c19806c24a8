package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spangrove/spangrove/e2e/harness"
	"github.com/spangrove/spangrove/pkg/client"
)

// TestMCP has the official Python client of the Model Context Protocol find the slowest session of a day and why it was slow, over both
// transports, in the protocol's current version and in those before it.
func TestMCP(t *testing.T) {
	harness.Require(t)
	t.Parallel()
	harness.OneStore(t, "sqlite", func(t *testing.T, store harness.Store) {
		srv := harness.Start(t, harness.Options{Store: store})
		c, err := client.New(srv.URL, srv.Key)
		if err != nil {
			t.Fatal(err)
		}
		noon := time.Now().UTC().Truncate(24 * time.Hour).Add(-12 * time.Hour) // of yesterday
		storeSlowSession(t, c, noon)
		for _, transport := range []string{"stdio", "http"} {
			for _, mode := range []string{"auto", "legacy"} {
				t.Run(transport+" "+mode, func(t *testing.T) {
					cmd := exec.CommandContext(t.Context(), filepath.Join(sdkDir(t), "venv-mcp", "bin", "python"),
						filepath.Join(harness.Root(t), "e2e", "sdk", "python", "mcp_client.py"), transport, mode, noon.Format(time.DateOnly))
					cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "SPANGROVE_URL="+srv.URL, "SPANGROVE_API_KEY="+srv.Key,
						"SPANGROVE_BINARY="+harness.Binary(t), "XDG_CONFIG_HOME="+t.TempDir())
					out, err := cmd.CombinedOutput()
					if err != nil {
						t.Fatalf("%v\n%s", err, out)
					}
					const want = "is checkout: it took 14.2 s. 87% of that, 12.4 s, is the tool search_docs with {'query': 'refund'}."
					if !strings.Contains(string(out), want) {
						t.Errorf("the answer is not %q:\n%s", want, out)
					}
					if file := os.Getenv("SPANGROVE_E2E_TRANSCRIPT"); file != "" && transport == "http" && mode == "auto" {
						if err := os.WriteFile(file, out, 0o600); err != nil {
							t.Fatal(err)
						}
					}
				})
			}
		}
	})
}

// storeSlowSession stores three sessions that begin at a time, of which one is slow because of a call of a tool.
func storeSlowSession(t *testing.T, c *client.Client, begin time.Time) {
	t.Helper()
	for i, s := range []struct {
		name string
		tool float64 // milliseconds of the call of the tool
	}{{"greeting", 180}, {"checkout", 12_400}, {"greeting", 240}} {
		start := client.Millis(begin.Add(time.Duration(i) * time.Minute))
		session, err := c.Sessions.Start(t.Context(), client.SessionInput{SessionName: s.name, StartTime: start, Duration: s.tool + 1800})
		if err != nil {
			t.Fatal(err)
		}
		step := func(kind, name, parent string, after, took float64, more func(*client.EventInput)) string {
			e := client.EventInput{
				SessionID: session.SessionID, ParentID: parent, EventType: kind, EventName: name, StartTime: start + after, Duration: took, Inputs: client.Object{},
			}
			if more != nil {
				more(&e)
			}
			id, err := c.Events.Create(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		agent := step(client.EventChain, "agent", session.SessionID, 20, s.tool+1700, nil)
		model := func(e *client.EventInput) {
			e.Config = client.Object{"model": "gpt-4o-mini"}
			e.Metadata = client.Object{"prompt_tokens": 900, "completion_tokens": 120, "total_tokens": 1020, "cost": 0.000207}
			e.Inputs = client.Object{"messages": []any{client.Object{"role": "user", "content": "Where is my refund?"}}}
		}
		step(client.EventModel, "plan", agent, 40, 600, model)
		step(client.EventTool, "search_docs", agent, 660, s.tool, func(e *client.EventInput) {
			e.Inputs = client.Object{"query": "refund"}
			e.Outputs = client.Object{"documents": 40}
		})
		step(client.EventModel, "answer", agent, s.tool+700, 900, model)
	}
}
