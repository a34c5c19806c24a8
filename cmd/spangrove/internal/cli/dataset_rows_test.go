package cli

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDatasetImport(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	for _, tt := range []struct{ name, text, to, want string }{
		{"latin1.csv", "question\nfirst\nStra\xdfe\n", "inputs.question", "latin1.csv: line 3 is not UTF-8: save the file as UTF-8"},
		{"wide.jsonl", "\xff\xfe{\x00}\x00", "inputs.question", "wide.jsonl: line 1 is not UTF-8: save the file as UTF-8"},
		{"good.csv", "question\nStra\u00dfe\n", "inputs.question", ""},
		{"none.csv", "note\nStra\u00dfe\n", "metadata.note", "no column becomes inputs"},
	} {
		file := filepath.Join(dir, tt.name)
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		sent := ""
		_, stderr, err := execute(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			sent = string(body)
			_, _ = io.WriteString(w, `{"rows":1,"bad":0,"errors":[],"columns":[{"name":"a","to":"`+tt.to+`"}]}`)
		}, "", "datasets", "import", file, "--dry-run")
		said := stderr
		if err != nil {
			said += err.Error()
		}
		refused := strings.Contains(tt.want, "UTF-8")
		if refused != (err != nil) || refused != (sent == "") || !strings.Contains(said, tt.want) || tt.want == "" && strings.Contains(said, "no column") {
			t.Errorf("%s: said %q, sent %q, want %q", tt.name, said, sent, tt.want)
		}
		if !refused && !strings.Contains(sent, "Stra\u00dfe") {
			t.Errorf("%s: sent %s", tt.name, sent)
		}
	}
}
