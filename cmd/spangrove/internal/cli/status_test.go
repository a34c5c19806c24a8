package cli

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

// What is wrong decides how the command exits, and only that.
func TestStatusExits(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	const low = `{"code":"disk_low","severity":"error","message":"12 MB are free"}`
	const unwritable = `{"code":"store_not_writable","severity":"error","message":"the store cannot be written"}`
	const slow = `{"code":"commits_slow","severity":"warning","message":"commits are slow"}`
	for _, tt := range []struct {
		problems string
		args     []string
		shows    string
		fails    string
	}{
		{``, nil, "problems  none", ""},
		{slow, nil, "warning  commits are slow (commits_slow)", ""},
		{low, nil, "error    12 MB are free (disk_low)", "12 MB are free"},
		{unwritable + "," + low + "," + slow, nil, "commits_slow", "the store cannot be written; 12 MB are free"},
		{low, []string{"--output", "json"}, `"code": "disk_low"`, "12 MB are free"},
		{low, []string{"--output", "json", "--space"}, `"kinds": [`, "12 MB are free"},
		{low, []string{"--diagnosis"}, "## Spangrove diagnosis", ""},
		{low, []string{"--diagnosis", "--output", "json"}, `"code": "disk_low"`, ""},
	} {
		handle := func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/v1/server/space":
				_, _ = w.Write([]byte(`{"bytes":10,"kinds":[{"kind":"heads","bytes":10}]}`))
			case r.URL.Path == "/v1/server/diagnosis" && r.URL.Query().Get("format") == "":
				_, _ = w.Write([]byte("## Spangrove diagnosis\n"))
			default:
				_, _ = w.Write([]byte(`{"covers":"server","server":{"version":"1"},"problems":[` + tt.problems + `]}`))
			}
		}
		out, _, err := execute(t, handle, "", append([]string{"status"}, tt.args...)...)
		if !strings.Contains(out, tt.shows) {
			t.Errorf("%q %q shows\n%s", tt.problems, tt.args, out)
		}
		var f *Failure
		if got := errors.As(err, &f); got != (tt.fails != "") || got && (f.Exit != ExitFailed || f.Line != tt.fails) {
			t.Errorf("%q %q: %v, want %q", tt.problems, tt.args, err, tt.fails)
		}
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KB", 5 << 20: "5.0 MB", 5 << 30: "5.0 GB", 1 << 50: "1024.0 TB"} {
		if got := size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
