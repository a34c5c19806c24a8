package fakeopenai

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// post returns the status and the body of an answer.
func post(t *testing.T, path, body string) (int, string) {
	t.Helper()
	srv := httptest.NewServer(Handler())
	defer srv.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer any")
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(got)
}

// TestReply covers what the assistant says and how it counts.
func TestReply(t *testing.T) {
	t.Parallel()
	weather := `[{"type":"function","function":{"name":"get_weather","parameters":{"required":["city"]}}}]`
	tests := map[string]struct {
		messages, tools string
		want            answer
	}{
		"known question": {
			`[{"role":"system","content":"You are terse."},{"role":"user","content":"What is the capital of Portugal?"}]`, `[]`,
			answer{text: "Lisbon.", prompt: 15, completion: 1},
		},
		"unknown question in parts": {
			`[{"role":"user","content":[{"type":"text","text":"a b"},{"type":"image_url"}]}]`, `[]`,
			answer{text: "You said: a b", prompt: 5, completion: 4},
		},
		"tool": {
			`[{"role":"user","content":"What is the weather in Oslo?"}]`, weather,
			answer{tool: "get_weather", arguments: `{"city":"Oslo"}`, prompt: 9, completion: 7},
		},
		"tool of the Responses API": {
			`[{"role":"user","content":"Oslo?"}]`, `[{"type":"function","name":"f","parameters":{"required":["a","b"]}}]`,
			answer{tool: "f", arguments: `{"a":"Oslo","b":"Oslo"}`, prompt: 4, completion: 7},
		},
		"tool has answered": {
			`[{"role":"user","content":"Oslo?"},{"role":"assistant","content":null},{"role":"tool","content":"21 degrees"}]`, weather,
			answer{text: "The tool says: 21 degrees", prompt: 12, completion: 5},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var messages []message
			var tools []tool
			for raw, to := range map[string]any{tt.messages: &messages, tt.tools: &tools} {
				if err := json.Unmarshal([]byte(raw), to); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tt.want, reply(messages, tools, schema{}), cmp.AllowUnexported(answer{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestVerdict: an answer that must have a schema has it.
func TestVerdict(t *testing.T) {
	t.Parallel()
	_, body := post(t, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"Good?"}],"response_format":{"type":"json_schema","json_schema":
		{"name":"v","schema":{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"number"},"c":{"type":"string","enum":["x","y"]},"d":{"type":"string"}}}}}}`)
	if want := `{\"a\":true,\"b\":1,\"c\":\"x\",\"d\":\"You said: Good?\"}`; !strings.Contains(body, want) {
		t.Errorf("%s\nlacks %s", body, want)
	}
}

// TestStreams puts the pieces of streamed answers together again.
func TestStreams(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ path, body, last string }{
		"chat completions": {"/v1/chat/completions",
			`{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Count to three."}]}`, "[DONE]"},
		"responses": {"/v1/responses", `{"model":"m","stream":true,"input":"Count to three."}`, `"type":"response.completed"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, body := post(t, tt.path, tt.body)
			if status != http.StatusOK {
				t.Fatalf("status %d: %s", status, body)
			}
			var text, last string
			for lines := bufio.NewScanner(strings.NewReader(body)); lines.Scan(); {
				data, ok := strings.CutPrefix(lines.Text(), "data: ")
				if !ok {
					continue
				}
				last = data
				var event struct {
					Choices []struct{ Delta struct{ Content string } }
					Delta   string
				}
				if json.Unmarshal([]byte(data), &event) == nil {
					text += event.Delta
					for _, c := range event.Choices {
						text += c.Delta.Content
					}
				}
			}
			if text != "One, two, three." || !strings.Contains(last, tt.last) {
				t.Errorf("text %q, last event %s", text, last)
			}
		})
	}
}

// TestErrors covers requests that get none of the answers.
func TestErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		path, body, want string
		status           int
	}{
		"broken model": {"/v1/chat/completions", `{"model":"broken"}`, BrokenMessage, http.StatusTooManyRequests},
		"not JSON":     {"/v1/responses", `{`, "unexpected end", http.StatusBadRequest},
		"no texts":     {"/v1/embeddings", `{"model":"m","input":7}`, "neither", http.StatusBadRequest},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, body := post(t, tt.path, tt.body)
			if status != tt.status || !strings.Contains(body, tt.want) {
				t.Errorf("status %d: %s", status, body)
			}
		})
	}
}
