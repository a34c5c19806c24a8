package python

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/pkg/durable"
)

// wasm stands for the interpreter.
var wasm = []byte("\x00asm and so on")

func testPin() pin {
	sum := sha256.Sum256(wasm)
	return pin{hex.EncodeToString(sum[:]), int64(len(wasm))}
}

// wheel returns an archive with a file of these bytes.
func wheel(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, content := range map[string][]byte{"a/__init__.py": []byte("x = 1\n"), "a/python.wasm": content} {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestInstall(t *testing.T) {
	t.Parallel()
	first, second := packagesWithGuest[0], packagesWithGuest[1]
	good, other := wheel(t, wasm), wheel(t, []byte("\x00asm and so no"))
	for _, tt := range []struct {
		name  string
		pages map[string]string // by path
		from  string            // a path, or "file"
		file  []byte
		wrong string // part of the error
	}{
		{name: "index in JSON", pages: map[string]string{
			"/simple/" + first.name + "/": fmt.Sprintf(`{"files":[{"filename":"x.whl","url":"x"},{"filename":%q,"url":"../../files/1"}]}`, first.file),
			"/files/1":                    string(good)}},
		{name: "index in HTML", pages: map[string]string{
			"/simple/" + first.name + "/": fmt.Sprintf("<html><a href=\"x.whl\">x</a><A\nclass=y HREF=\"/files/%s?a=1&amp;b=2#sha256=0\">%[1]s</a>", first.file),
			"/files/" + first.file:        string(good)}},
		{name: "the second package", pages: map[string]string{
			"/simple/" + second.name + "/": fmt.Sprintf(`{"files":[{"filename":%q,"url":"/f"}]}`, second.file), "/f": string(good)}},
		{name: "no package", wrong: "404"},
		{name: "another version", pages: map[string]string{"/simple/" + first.name + "/": `{"files":[{"filename":"newer.whl","url":"/f"}]}`}, wrong: "has no file " + first.file},
		{name: "another file in the package", pages: map[string]string{
			"/simple/" + first.name + "/": fmt.Sprintf(`{"files":[{"filename":%q,"url":"/f"}]}`, first.file), "/f": string(other)}, wrong: "does not hold"},
		{name: "an address", pages: map[string]string{"/mine.wasm": string(wasm)}, from: "/mine.wasm"},
		{name: "an address of an archive", pages: map[string]string{"/mine.whl": string(good)}, from: "/mine.whl"},
		{name: "a file", from: "file", file: wasm},
		{name: "an archive", from: "file", file: good},
		{name: "another file", from: "file", file: []byte("\x00asm"), wrong: "not the interpreter"},
		{name: "no file", from: "file", wrong: "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				if user, password, _ := r.BasicAuth(); user != "me" || password != "secret" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				page, ok := tt.pages[r.URL.Path]
				if !ok {
					http.NotFound(w, r)
					return
				}
				_, _ = w.Write([]byte(page))
			}))
			defer server.Close()
			defer server.Client().CloseIdleConnections()
			base := strings.Replace(server.URL, "://", "://me:secret@", 1)
			in := Install{Directory: filepath.Join(t.TempDir(), "new", "evaluators"), Index: base + "/simple/", Client: server.Client(), pin: testPin()}
			switch {
			case tt.from == "file":
				in.From = filepath.Join(t.TempDir(), "f")
				if tt.file != nil {
					write(t, filepath.Dir(in.From), "f", string(tt.file))
				}
			case tt.from != "":
				in.From = base + tt.from
			}
			file, err := in.Run(t.Context())
			if tt.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wrong) || strings.Contains(err.Error(), "secret") {
					t.Fatalf("error %v, want %q in it and no password", err, tt.wrong)
				}
				if left, _ := filepath.Glob(filepath.Join(in.Directory, "*")); left != nil {
					t.Errorf("left behind: %v", left)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, wasm) {
				t.Errorf("installed %q, %v", got, err)
			}
			if licence, err := os.ReadFile(filepath.Join(in.Directory, "licences", "cpython.txt")); err != nil || !bytes.Contains(licence, []byte("PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2")) {
				t.Errorf("the licence is not there: %v", err)
			}
			if parts, _ := filepath.Glob(filepath.Join(in.Directory, "*"+durable.TempSuffix)); parts != nil {
				t.Errorf("left behind: %v", parts)
			}
			// What is there is not fetched again; what is damaged is.
			before := asked
			if _, err := in.Run(t.Context()); err != nil || asked != before {
				t.Errorf("the second time %d requests, %v", asked-before, err)
			}
			write(t, in.Directory, guestFile, "damaged")
			if _, err := in.Run(t.Context()); err != nil {
				t.Error(err)
			}
			if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, wasm) {
				t.Errorf("mended to %q, %v", got, err)
			}
		})
	}
}

// FuzzIndexPage: whatever an index answers, there is an address or none.
func FuzzIndexPage(f *testing.F) {
	f.Add([]byte(`{"files":[{"filename":"f.whl","url":"u"}]}`))
	f.Add([]byte(`<a href="x/f.whl#sha256=1">f.whl</a>`))
	f.Fuzz(func(_ *testing.T, page []byte) { linkTo(page, "f.whl") })
}
