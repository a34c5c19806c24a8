package client_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spangrove/spangrove/pkg/client"
)

// A stream is read piece by piece, and how it ends is told apart.
func TestPlaygroundRun(t *testing.T) {
	t.Parallel()
	begin := "event: delta\ndata: {\"text\":\"It \"}\n\n: ping\n\nevent: later\ndata: {}\n\nevent: delta\ndata: {\"text\":\"rains.\",\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}]}\n\n" +
		"event: usage\ndata: {\"prompt_tokens\":3,\"completion_tokens\":2,\"total_tokens\":5,\"cost\":null,\"estimated\":true}\n\n"
	answer, calls := "", 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		body, _ := io.ReadAll(r.Body)
		if got := r.Method + " " + r.URL.Path + " " + string(body); got != `POST /v1/playground/run {"model":"m","messages":[{"role":"user","content":"Oslo?"}]}` {
			t.Errorf("asked %s", got)
		}
		if answer == "" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"errorCode":"VALIDATION_ERROR","message":"model: no"}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, answer)
	}))
	defer srv.Close()
	c := must(client.New(srv.URL, "key"))(t)
	run := func(text string) (said string, usage *client.PlaygroundUsage, done *client.PlaygroundDone, err error) {
		answer = text
		for e, failed := range c.Playground.Run(t.Context(), client.PlaygroundInput{Model: "m", Messages: []client.PlaygroundMessage{{Role: "user", Content: "Oslo?"}}}) {
			switch {
			case failed != nil:
				err = failed
			case e.Delta != nil:
				said += e.Delta.Text
				for _, call := range e.Delta.ToolCalls {
					said += fmt.Sprintf("%d %s %s%s", call.Index, call.ID, call.Function.Name, call.Function.Arguments)
				}
			case e.Usage != nil:
				usage = e.Usage
			case e.Done != nil:
				done = e.Done
			}
		}
		return said, usage, done, err
	}
	said, usage, done, err := run(begin + "event: done\ndata: {\"model\":\"m1\",\"finish_reason\":\"stop\",\"duration\":1.5}\n\n")
	check(t, err)
	equal(t, "text", said, "It rains.0 c f{")
	equal(t, "usage", usage, &client.PlaygroundUsage{PromptTokens: 3, CompletionTokens: 2, TotalTokens: 5, Estimated: true})
	equal(t, "done", done, &client.PlaygroundDone{Model: "m1", FinishReason: "stop", Duration: 1.5})

	_, _, _, err = run(begin + "event: error\ndata: {\"failure\":\"provider\",\"message\":\"No.\",\"status\":429,\"temporary\":true}\n\n")
	var failed *client.PlaygroundError
	if !errors.As(err, &failed) || *failed != (client.PlaygroundError{Failure: "provider", Message: "No.", Status: 429, Temporary: true}) {
		t.Errorf("%v", err)
	}
	if _, _, _, err = run(begin); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a stream that breaks off: %v", err)
	}
	calls = 0
	if _, _, _, err = run(""); status(err) != http.StatusBadRequest || calls != 1 {
		t.Errorf("a request that is refused: %v after %d calls", err, calls)
	}
}
