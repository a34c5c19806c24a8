package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestPlaygroundRun(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	end := "event: done\ndata: {\"provider\":\"own\",\"model\":\"m\",\"finish_reason\":\"tool_calls\",\"duration\":1200,\"time_to_first_token\":300}\n\n"
	serve := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if got, want := r.URL.Path+" "+string(body), `/v1/playground/run {"model":"m","parameters":{"seed":9007199254740993},"messages":[{"role":"user","content":"Oslo?"}]}`; got != want {
			t.Errorf("asked %s, want %s", got, want)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: delta\ndata: {\"text\":\"It \\u001b[31m\"}\n\nevent: delta\ndata: {\"text\":\"rains.\\nHard.\"}\n\n"+
			"event: delta\ndata: {\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\"\"}}]}\n\n"+
			"event: delta\ndata: {\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\":1}\"}}]}\n\n"+
			"event: usage\ndata: {\"prompt_tokens\":3,\"completion_tokens\":2,\"total_tokens\":5,\"cost\":0.0000125,\"estimated\":true}\n\n"+end)
	}
	ask := func(args ...string) (stdout, stderr string, err error) {
		return execute(t, serve, `{"model":"m","parameters":{"seed":9007199254740993}}`, append([]string{"playground", "run", "--file", "-", "--prompt", "Oslo?"}, args...)...)
	}
	stdout, stderr, err := ask()
	if want := "It [31mrains.\nHard.\nf({\"a\":1})\n"; err != nil || stdout != want {
		t.Errorf("%q, %v, want %q", stdout, err, want)
	}
	if want := "m: about 3 + 2 tokens, $0.000013, 1.2 s (first after 0.3 s), tool_calls\n"; stderr != want {
		t.Errorf("%q, want %q", stderr, want)
	}
	stdout, _, err = ask("--output", "json")
	for _, part := range []string{`"text": "It \u001b[31mrains.\nHard."`, `"arguments": "{\"a\":1}"`, `"total_tokens": 5`, `"finish_reason": "tool_calls"`} {
		if err != nil || !strings.Contains(stdout, part) {
			t.Errorf("%v\n%s\nlacks %s", err, stdout, part)
		}
	}
	stdout, _, err = ask("--output", "jsonl")
	if lines := strings.Split(stdout, "\n"); err != nil || len(lines) != 7 || !strings.HasPrefix(lines[0], `{"delta":`) || !strings.HasPrefix(lines[5], `{"done":`) {
		t.Errorf("%v\n%s", err, stdout)
	}
	end = "event: error\ndata: {\"failure\":\"provider\",\"message\":\"The provider own answered 429.\",\"status\":429,\"temporary\":true}\n\n"
	if stdout, _, err = ask(); err == nil || err.Error() != "The provider own answered 429." || !strings.HasSuffix(stdout, "Hard.\n") {
		t.Errorf("%q, %v", stdout, err)
	}
}
