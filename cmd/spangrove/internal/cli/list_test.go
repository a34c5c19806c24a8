package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// execute runs a command against a server that answers by handle.
func execute(t *testing.T, handle http.HandlerFunc, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	server := httptest.NewServer(handle)
	defer server.Close()
	root := &cobra.Command{Use: "spangrove", SilenceUsage: true, SilenceErrors: true}
	Add(root, nil)
	var out, errs bytes.Buffer
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&errs)
	root.SetArgs(append([]string{"--server", server.URL, "--api-key", "sg_test_0123456789abcdef"}, args...))
	err = root.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

// tools answers as a server with so many tools.
func tools(total int, pages *[]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		limit, _ := strconv.Atoi(q.Get("limit"))
		page, _ := strconv.Atoi(q.Get("page"))
		*pages = append(*pages, q.Get("limit")+"/"+q.Get("page"))
		w.Header().Set("X-Total-Count", strconv.Itoa(total))
		var items []json.RawMessage
		for i := (page - 1) * limit; i < min(total, page*limit); i++ {
			items = append(items, json.RawMessage(fmt.Sprintf(`{"id":"%d"}`, i)))
		}
		_, _ = w.Write(wrapped("tools", array(items)))
	}
}

func TestPages(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for _, tt := range []struct {
		total  int
		args   string
		pages  string // limit/page of each request
		shown  int
		first  string
		remark string
		usage  bool
	}{
		{total: 2500, args: "", pages: "100/1", shown: 100, first: "0", remark: "1 to 100 of 2500 tools; --limit 0 shows all"},
		{total: 2500, args: "--limit 0", pages: "1000/1 1000/2 1000/3", shown: 2500, first: "0"},
		{total: 2000, args: "--limit 0", pages: "1000/1 1000/2 1000/3", shown: 2000, first: "0"},
		{total: 2500, args: "--limit 1500", pages: "1000/1 1000/2", shown: 1500, first: "0", remark: "1 to 1500 of 2500 tools; --limit 0 shows all"},
		{total: 25, args: "--limit 10 --page 3", pages: "10/3", shown: 5, first: "20"},
		{total: 25, args: "--limit 10 --page 2", pages: "10/2", shown: 10, first: "10", remark: "11 to 20 of 25 tools; --limit 0 shows all"},
		{total: 25, args: "--limit 0 --page 2", usage: true},
		{total: 25, args: "--limit 1001 --page 2", usage: true},
		{total: 25, args: "--page 0", usage: true},
		{total: 25, args: "--limit -1", usage: true},
	} {
		var pages []string
		stdout, stderr, err := execute(t, tools(tt.total, &pages), "", append([]string{"tools", "list", "--output", "jsonl"}, strings.Fields(tt.args)...)...)
		if tt.usage {
			var f *Failure
			if !errors.As(err, &f) || f.Exit != ExitUsage || len(pages) > 0 {
				t.Errorf("%s: %v, asked for %v", tt.args, err, pages)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		if got := strings.Join(pages, " "); got != tt.pages || len(lines) != tt.shown || lines[0] != `{"id":"`+tt.first+`"}` || strings.TrimSpace(stderr) != tt.remark {
			t.Errorf("%s: asked for %s, want %s; %d lines from %s, want %d from %s; remark %q, want %q",
				tt.args, got, tt.pages, len(lines), lines[0], tt.shown, tt.first, stderr, tt.remark)
		}
	}
}

// TestArrivals lists events page by page while newer ones come: each is shown once.
func TestArrivals(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for _, args := range [][]string{{"events", "list"}, {"sessions", "list"}} {
		come := 0 // meanwhile
		stdout, stderr, err := execute(t, func(w http.ResponseWriter, r *http.Request) {
			var q struct{ Limit, Page int }
			if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
				t.Error(err)
			}
			var items []json.RawMessage
			for i := (q.Page-1)*q.Limit - come; i < min(2500, q.Page*q.Limit-come); i++ {
				items = append(items, json.RawMessage(fmt.Sprintf(`{"event_id":"%d","session_id":"s"}`, i)))
			}
			_, _ = fmt.Fprintf(w, `{"events":%s,"totalEvents":%d}`, array(items), 2500+come)
			come += 3
		}, "", append(args, "--limit", "0", "--output", "jsonl")...)
		if err != nil {
			t.Fatal(err)
		}
		times := map[string]int{}
		for line := range strings.Lines(stdout) {
			times[line]++
		}
		if n := strings.Count(stdout, "\n"); n != 2500 || len(times) != 2500 || stderr != "" {
			t.Errorf("%v: %d lines of %d events; %s", args, n, len(times), stderr)
		}
	}
}

// TestDeletions lists things page by page while somebody deletes some that were shown: those behind them move to pages before, and are shown, too.
func TestDeletions(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for _, gone := range []int{1, 30, 700} {
		ids := make([]string, 5000)
		for i := range ids {
			ids[i] = fmt.Sprintf(`{"id":"%d"}`, i)
		}
		left := ids
		reads := 0
		stdout, stderr, err := execute(t, func(w http.ResponseWriter, r *http.Request) {
			reads++
			q := r.URL.Query()
			limit, _ := strconv.Atoi(q.Get("limit"))
			page, _ := strconv.Atoi(q.Get("page"))
			w.Header().Set("X-Total-Count", strconv.Itoa(len(left)))
			part := left[min(len(left), (page-1)*limit):min(len(left), page*limit)]
			_, _ = fmt.Fprintf(w, `{"tools":[%s]}`, strings.Join(part, ","))
			if reads < 7 {
				left = left[min(len(left), gone):]
			}
		}, "", "tools", "list", "--limit", "0", "--output", "jsonl")
		if err != nil || stderr != "" {
			t.Fatal(err, stderr)
		}
		times := map[string]int{}
		for line := range strings.Lines(stdout) {
			times[strings.TrimSpace(line)]++
		}
		for _, id := range left {
			if times[id] != 1 {
				t.Fatalf("%d gone with each page: %s is there, and was shown %d times", gone, id, times[id])
			}
		}
		if reads > 15 {
			t.Errorf("%d pages were read", reads)
		}
	}
}

// TestListBreaksOff checks that what a list had shown stays visible as a part.
func TestListBreaksOff(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for _, format := range formats {
		var pages []string
		all := tools(2500, &pages)
		stdout, _, err := execute(t, func(w http.ResponseWriter, r *http.Request) {
			if len(pages) == 2 {
				w.WriteHeader(http.StatusForbidden)
				_, _ = io.WriteString(w, `{"message": "not any more", "errorCode": "FORBIDDEN"}`)
				return
			}
			all(w, r)
		}, "", "tools", "list", "--limit", "0", "--output", format)
		var f *Failure
		if !errors.As(err, &f) || f.Exit != 3 || !strings.HasSuffix(f.Line, "; showed 2000 tools") {
			t.Errorf("%s: %v", format, err)
		}
		if !strings.Contains(stdout, "1999") || json.Valid([]byte(stdout)) {
			t.Errorf("%s: %d bytes were shown: …%s", format, len(stdout), stdout[max(0, len(stdout)-80):])
		}
	}
}

// TestRowsInRequests checks that many rows go in several requests, and what an error tells.
func TestRowsInRequests(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	var rows strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&rows, `{"q": %d.0}`+"\n", i)
	}
	for _, refuse := range []int{-1, 2} {
		var sizes []int
		handle := func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			n := 0
			var ids []json.RawMessage
			for range rawjson.Array(rawjson.Get(body, "data")) {
				ids = append(ids, json.RawMessage(`"id"`))
				n++
			}
			sizes = append(sizes, n)
			if len(sizes) == refuse {
				w.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(w, `{"message": "no such dataset", "errorCode": "NOT_FOUND"}`)
				return
			}
			_, _ = w.Write(wrapped("datapoint_ids", array(ids)))
		}
		stdout, stderr, err := execute(t, handle, rows.String(), "datasets", "add", "65a1b2c3d4e5f60718293a4b", "--file", "-", "--input", "q")
		if refuse < 0 {
			if err != nil || fmt.Sprint(sizes) != "[1000 1000 500]" || strings.Count(stdout, "id\n") != 2500 || stderr != "added 2500 datapoints\n" {
				t.Errorf("requests of %v rows, %d lines, %q, %v", sizes, strings.Count(stdout, "id\n"), stderr, err)
			}
			continue
		}
		var f *Failure
		if !errors.As(err, &f) || f.Exit != exitNotFound || f.Line != "no such dataset; added 1000 datapoints" || strings.Count(stdout, "id\n") != 1000 {
			t.Errorf("%v; %d lines", err, strings.Count(stdout, "id\n"))
		}
	}
}

// TestLargeRows checks that requests stay below what a server takes.
func TestLargeRows(t *testing.T) {
	t.Parallel()
	row := json.RawMessage(`{"text":"` + strings.Repeat("x", 3<<20) + `"}`)
	var sizes []int
	rows := func(yield func(json.RawMessage, error) bool) {
		for range 5 {
			if !yield(row, nil) {
				return
			}
		}
	}
	err := inChunks(rows, func(chunk []json.RawMessage) error { sizes = append(sizes, len(chunk)); return nil })
	if err != nil || fmt.Sprint(sizes) != "[2 2 1]" {
		t.Errorf("%v, %v", sizes, err)
	}
	stop := errors.New("stop")
	if err := inChunks(rows, func([]json.RawMessage) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

func TestRows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ format, in, want string }{
		{"json", `{"a": 1.0} {"b":2}`, `{"a": 1.0}|{"b":2}`},
		{"json", "{\"a\": 1}\n\n{\"b\":2}\n", `{"a": 1}|{"b":2}`},
		{"json", "\xef\xbb\xbf{\"a\": 1}\r\n{\"b\":2}\r\n", `{"a": 1}|{"b":2}`}, {"json", "\xef\xbb\xbf[{\"a\": 1}]", `{"a": 1}`},
		{"json", ` [ {"a": 1} , {"b":2} ] `, `{"a": 1}|{"b":2}`},
		{"json", `[{"a": 1}] {"b": 2}`, `{"a": 1}|!`}, {"json", "[]\n", ``}, {"json", ``, ``}, {"csv", ``, ``}, {"csv", "a,b\n", ``},
		{"json", `[{"a": 1}`, `{"a": 1}|!`}, {"json", `[1]`, `!`}, {"json", `nope`, `!`}, {"json", `{"a": 1}]`, `{"a": 1}|!`},
		{"csv", "\xef\xbb\xbfa,b\n1,\"x\ny\"\n", `{"a":"1","b":"x\ny"}`},
		{"csv", "a;b\n1,0;\"x;y\"\n", `{"a":"1,0","b":"x;y"}`}, {"csv", "a\tb\n1\t2\n", `{"a":"1","b":"2"}`},
		{"csv", "a\n\xe4\n", `!`}, {"csv", "\xe4\n1\n", `!`},
		{"csv", "a,b\n1\n", `!`}, {"csv", "a,a\n", `!`}, {"xml", ``, `!`},
	} {
		var got []string
		for row, err := range rowsOf(strings.NewReader(tt.in), "rows", tt.format) {
			if err != nil {
				row = json.RawMessage("!")
			}
			got = append(got, string(row))
		}
		if strings.Join(got, "|") != tt.want {
			t.Errorf("%s of %q: %v, want %s", tt.format, tt.in, got, tt.want)
		}
	}
}

func FuzzRows(f *testing.F) {
	f.Add(`[{"a":1}]`, "json")
	f.Add("a,b\n1,2\n", "csv")
	f.Fuzz(func(t *testing.T, in, format string) {
		for row, err := range rowsOf(strings.NewReader(in), "rows", format) {
			if err == nil && rawjson.KindOf(row) != '{' {
				t.Errorf("%q is no object", row)
			}
		}
	})
}

func FuzzYAML(f *testing.F) {
	f.Add("a: &x [1, *x]")
	f.Add("a: {b: 0x1, c: .5}\n? d\n: e")
	f.Fuzz(func(t *testing.T, in string) {
		document, err := fromYAML([]byte(in))
		if err == nil && !json.Valid(document) {
			t.Errorf("%q becomes %s", in, document)
		}
	})
}

func FuzzConfigFile(f *testing.F) {
	f.Add("server: http://127.0.0.1:7420\napi_key: k # mine\n")
	f.Add("? [a]\n: b")
	f.Add("*x")
	f.Add("- 1\n--- 2")
	f.Fuzz(func(t *testing.T, in string) {
		path := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(path, []byte(in), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := readConfig(path)
		if err != nil {
			return
		}
		for _, name := range settingNames() {
			file.get(name)
		}
	})
}

func FuzzImportable(f *testing.F) {
	f.Add(`{"event_id":"1","session_id":"2","event_name":"n","project_id":"p"}`)
	f.Add(`{"event_id":1,"event_id":"1","session_id":"2","inputs":null}`)
	f.Fuzz(func(t *testing.T, line string) {
		if event, err := importable([]byte(line)); err == nil && !json.Valid(event) {
			t.Errorf("%q becomes %s", line, event)
		}
	})
}

func TestWithoutJudges(t *testing.T) {
	for _, tt := range []struct{ filters, want string }{
		{"", "source is not evaluator"},
		{"error exists|metadata.source is x", "error exists|metadata.source is x|source is not evaluator"},
		{"source = evaluator", "source = evaluator"},
		{"error exists| source exists", "error exists| source exists"},
	} {
		var filters []string
		if tt.filters != "" {
			filters = strings.Split(tt.filters, "|")
		}
		if got := strings.Join(withoutJudges(filters), "|"); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.filters, got, tt.want)
		}
	}
}

func TestPurge(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for _, things := range []string{"events", "sessions"} {
		var asked []string
		handle := func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.Method+" "+strings.TrimPrefix(r.URL.RequestURI(), "/v1"))
			_, _ = w.Write([]byte(`{"success":true,"deleted":"a"}`))
		}
		for _, args := range [][]string{{things, "delete", "a", "--yes"}, {things, "delete", "a", "b", "--yes", "--purge"}} {
			if _, _, err := execute(t, handle, "", args...); err != nil {
				t.Fatal(err)
			}
		}
		want := fmt.Sprintf("[DELETE /%[1]s/a DELETE /%[1]s/a?purge=true DELETE /%[1]s/b?purge=true]", things)
		if got := fmt.Sprint(asked); got != want {
			t.Errorf("asked for %s, want %s", got, want)
		}
	}
}
