package cli

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// What changes is shown line by line, also after the server was away; the beginning is not, but what may have been missed is.
func TestSessionWatch(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	var streams atomic.Int32
	serve := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "/v1/live?session=%2A" {
			t.Errorf("asked for %s", r.URL)
		}
		streams.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "retry: 2000\n\nevent: change\ndata: {\"session_id\":\"s1\",\"touched\":1790000000000,\"kind\":\"event\"}\n\n"+
			"event: change\ndata: {\"session_id\":null,\"touched\":1790000000001,\"kind\":\"session\"}\n\n")
	}
	stdout, _, err := execute(t, serve, "", "sessions", "watch", "--limit", "4", "--output", "jsonl")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"session_id":"s1","touched":1790000000000,"kind":"event"}
{"session_id":null,"touched":1790000000001,"kind":"session"}
{"kind":"reset"}
{"session_id":"s1","touched":1790000000000,"kind":"event"}
`
	if n := streams.Load(); stdout != want || n != 2 {
		t.Errorf("%d streams:\n%s\nwant\n%s", n, stdout, want)
	}
	stdout, _, err = execute(t, serve, "", "sessions", "watch", "--limit", "1")
	if err != nil || !strings.HasPrefix(stdout, "TIME") || !strings.Contains(stdout, "event    s1") {
		t.Errorf("%v\n%s", err, stdout)
	}
	if _, _, err := execute(t, serve, "", "sessions", "watch", "--limit", "-1"); err == nil {
		t.Error("a negative limit is taken")
	}
}
