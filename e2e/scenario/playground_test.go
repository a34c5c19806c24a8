package scenario_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spangrove/spangrove/e2e/fakeopenai"
	"github.com/spangrove/spangrove/e2e/inprocess"
	"github.com/spangrove/spangrove/pkg/client"
)

// TestPlayground asks models that are none through a whole server, by each API that they speak.
func TestPlayground(t *testing.T) {
	models := httptest.NewServer(fakeopenai.Handler())
	defer models.Close()
	for _, db := range []struct {
		name  string
		store func(*testing.T) string
	}{{"sqlite", inprocess.SQLite}, {"postgres", inprocess.Postgres}} {
		t.Run(db.name, func(t *testing.T) {
			api, _ := inprocess.StartWith(t, db.store(t), fmt.Sprintf("{secret: 0123456789abcdef0123456789abcdef, llm: {allow_addresses: [127.0.0.1], providers: {openai: {base_url: %q, api_key: models-key}, anthropic: {base_url: %[2]q, api_key: models-key}}}}", models.URL+"/v1", models.URL))
			c, err := client.New(api, inprocess.Key)
			if err != nil {
				t.Fatal(err)
			}
			ask := func(in client.PlaygroundInput) (text string, usage client.PlaygroundUsage, err error) {
				for e, failed := range c.Playground.Run(t.Context(), in) {
					switch {
					case failed != nil:
						return text, usage, failed
					case e.Usage != nil:
						usage = *e.Usage
					case e.Delta != nil:
						text += e.Delta.Text
						for _, call := range e.Delta.ToolCalls {
							text += call.Function.Name + call.Function.Arguments
						}
					}
				}
				return text, usage, nil
			}
			in := client.PlaygroundInput{Provider: "openai", Model: "gpt-4o-mini", Messages: []client.PlaygroundMessage{{Role: "user", Content: "Count to three."}}}
			text, usage, err := ask(in)
			if err != nil || text != "One, two, three." || usage.PromptTokens != 6 || usage.CompletionTokens != 3 || usage.Cost == nil || *usage.Cost <= 0 || usage.Estimated {
				t.Errorf("%q, %+v, %v", text, usage, err)
			}
			in.Provider, in.Model = "anthropic", "claude-3-5-haiku-20241022"
			if text, usage, err = ask(in); err != nil || text != "One, two, three." || usage.Cost == nil {
				t.Errorf("%q, %+v, %v", text, usage, err)
			}

			// A tool is called, a person answers in its place, and the model goes on.
			in.Tools = make([]client.PlaygroundTool, 1)
			in.Tools[0].Type, in.Tools[0].Function.Name = "function", "weather"
			in.Tools[0].Function.Parameters = client.Object{"type": "object", "required": []string{"city"}}
			in.Messages[0].Content = "What is the weather in Oslo?"
			for _, in.Provider = range []string{"openai", "anthropic"} {
				text, _, err := ask(in)
				if err != nil || text != `weather{"city":"Oslo"}` {
					t.Errorf("%s: %q, %v", in.Provider, text, err)
				}
			}
			in.Provider = "openai"
			call := client.PlaygroundToolCall{ID: "c1", Type: "function"}
			call.Function.Name, call.Function.Arguments = "weather", `{"city":"Oslo"}`
			in.Messages = append(in.Messages, client.PlaygroundMessage{Role: "assistant", ToolCalls: []client.PlaygroundToolCall{call}},
				client.PlaygroundMessage{Role: "tool", ToolCallID: "c1", Content: "rain"})
			if text, _, err = ask(in); err != nil || text != "The tool says: rain" {
				t.Errorf("%q, %v", text, err)
			}

			in.Model = fakeopenai.BrokenModel
			var failed *client.PlaygroundError
			if _, _, err = ask(in); !errors.As(err, &failed) || failed.Status != http.StatusTooManyRequests || failed.Temporary || !strings.Contains(failed.Message, fakeopenai.BrokenMessage) {
				t.Errorf("%v", err)
			}
			var asked int64
			var targets map[string]int64
			for until := time.Now().Add(time.Minute); asked < 6 && time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
				list, err := c.Audit.List(t.Context(), client.AuditQuery{Action: "playground.run"}) // an entry comes after the stream's end
				if err != nil {
					t.Fatal(err)
				}
				asked, targets = 0, map[string]int64{}
				for _, e := range list.Items {
					if e.KeyID == "" {
						t.Errorf("the audit log has %+v", e)
					}
					asked += e.Count
					targets[e.Target] += e.Count
				}
			}
			if asked != 6 || targets["openai/gpt-4o-mini"] != 1 || targets["anthropic/claude-3-5-haiku-20241022"] != 2 {
				t.Errorf("the audit log has %v", targets)
			}
			projects, err := c.Projects.List(t.Context(), client.ProjectQuery{})
			if err != nil {
				t.Fatal(err)
			}
			project := projects.Items[0].ID
			reader, err := c.Keys.Create(t.Context(), project, client.KeyInput{Name: "reader", Scope: "read", ExpiresAt: time.Now().Add(time.Hour)})
			if err != nil {
				t.Fatal(err)
			}
			if status, text := send(t, "POST", api+"/v1/playground/run", reader.Value, `{"messages": [{"role": "user", "content": "x"}]}`); status != http.StatusForbidden {
				t.Errorf("a key that may only read: %d %s", status, text)
			}

			// What it costs counts for the project's budget.
			one := 1e-9
			if _, err := c.Projects.SetLimits(t.Context(), project, client.Limits{JudgeUSDPerDay: &one}); err != nil {
				t.Fatal(err)
			}
			in.Model = "gpt-4o-mini"
			if _, _, err = ask(in); !errors.As(err, &failed) || failed.Failure != "budget" {
				t.Errorf("over the budget: %v", err)
			}
		})
	}
}
