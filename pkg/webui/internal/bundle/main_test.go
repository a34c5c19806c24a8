package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// What the server embeds is what the sources give: a change of them that was not generated is found here.
func TestDistIsFresh(t *testing.T) {
	t.Parallel()
	files, err := build(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := compare(filepath.Join(root, "dist"), files); err != nil {
		t.Error(err)
	}
}

// The same sources give the same bytes, in whatever directory they are.
func TestBuildIsReproducible(t *testing.T) {
	t.Parallel()
	elsewhere := t.TempDir()
	if err := os.CopyFS(filepath.Join(elsewhere, "src"), os.DirFS(filepath.Join(root, "src"))); err != nil {
		t.Fatal(err)
	}
	files, err := build(elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	if err := compare(filepath.Join(root, "dist"), files); err != nil {
		t.Error(err)
	}
}

// firstPage reports whether the first page loads a file; others are loaded by what needs them.
func firstPage(index []byte, name string) bool {
	return bytes.Contains(index, []byte("/"+name+`"`)) || slices.Contains([]string{"index.html", "geist-mono-latin-400-normal.woff2"}, name)
}

// What the first page needs of the sources is one file beside the libraries: files for each set of pages that share something compress worse.
func TestFirstPageIsOneFile(t *testing.T) {
	t.Parallel()
	files, err := build(root)
	if err != nil {
		t.Fatal(err)
	}
	loaded := regexp.MustCompile(`modulepreload" href="ui/\{hash\}/([^"]+)"`).FindAllSubmatch(files["index.html"], -1)
	var chunks []string
	for _, m := range loaded {
		if name := string(m[1]); name != "lib.js" {
			chunks = append(chunks, name)
		}
	}
	if len(chunks) != 1 || files[chunks[0]] == nil {
		t.Errorf("the first page loads %q beside lib.js, want one file that is there", chunks)
	}
	if len(files["app.js"]) > 100 {
		t.Errorf("app.js has %d bytes, want one import", len(files["app.js"]))
	}
}

// Hashes in names are cut to four characters, and to more where two files would have one name.
func TestShorten(t *testing.T) {
	t.Parallel()
	got := shorten(map[string][]byte{
		"app.js": []byte(`import"./chunk-ABCDEFGH.js";import("./page-ABCDEFGH.js")`), "app.css": []byte("chunk-ABCDEFGH.js"), "chunk-ABCDEFGH.js": nil, "chunk-ABCDXYZ2.js": nil, "page-ABCDEFGH.js": nil,
	})
	want := []string{"ABCD.js", "ABCDX.js", "app.css", "app.js", "page-ABCD.js"}
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) {
		t.Errorf("files %q, want %q", names, want)
	}
	if js := string(got["app.js"]); js != `import"./ABCD.js";import("./page-ABCD.js")` {
		t.Errorf("app.js is %s", js)
	}
}

// The pages stay light: bounds are in bytes as they are sent, compressed.
func TestSize(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(filepath.Join(root, "dist"))
	if err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join(root, "dist", "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	// Of each file as it is, as gzip and as Brotli.
	size := map[string][3]int{}
	page := 0
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(root, "dist", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(e.Name(), "case.") { // of files that are written, which no page loads
			page += len(raw)
			continue
		}
		if name, ok := strings.CutSuffix(e.Name(), ".br"); ok { // comes after the file
			s := size[name]
			s[2] = len(raw)
			size[name] = s
			continue
		}
		var b bytes.Buffer
		w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if _, err := w.Write(raw); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		n := min(b.Len(), len(raw))
		size[e.Name()] = [3]int{len(raw), n, n}
	}
	var all, first [3]int
	for name, s := range size {
		for form, n := range s {
			all[form] += n
			if firstPage(index, name) {
				first[form] += n
			}
		}
		t.Logf("%-40s %7d bytes, %7d as gzip, %7d as Brotli", name, s[0], s[1], s[2])
	}
	t.Logf("all %v, the first page %v", all, first)
	if all[2] > 250_000 || first[2] > 120_000 { // docs/adr/020-weight-of-pages.md
		t.Errorf("as Brotli %d bytes in all, at most 250,000; %d for the first page, at most 120,000", all[2], first[2])
	}
	if all[1] > 280_000 || first[1] > 130_000 {
		t.Errorf("as gzip %d bytes in all, at most 280,000; %d for the first page, at most 130,000", all[1], first[1])
	}
	if page > 350_000 { // as it stands in each case file
		t.Errorf("the page of a case file is %d bytes, at most 350,000", page)
	}
}

// Third-party modules are as their authors published them.
func TestVendoredModules(t *testing.T) {
	t.Parallel()
	lib := filepath.Join(root, "src/lib")
	list, err := os.ReadFile(filepath.Join(lib, "hashes.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(list)) {
		hash, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		want[filepath.Clean(name)] = hash
	}
	err = filepath.WalkDir(lib, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "hashes.txt" || d.Name() == "README.md" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(lib, path)
		sum := sha256.Sum256(raw)
		if got := hex.EncodeToString(sum[:]); got != want[name] {
			t.Errorf("%s has the hash %s, and hashes.txt %q", name, got, want[name])
		}
		delete(want, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range want {
		t.Errorf("hashes.txt has %s, which is not there", name)
	}
}

// A module that is not vendored is an error that names it, not a request to a registry.
func TestUnknownModule(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "src"), os.DirFS(filepath.Join(root, "src"))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "src/main.tsx"), []byte(`import "left-pad";`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := build(dir); err == nil || !strings.Contains(err.Error(), "left-pad is not vendored") {
		t.Errorf("the error is %v", err)
	}
}

// The layers of the sources: parts get all they show as properties, pages know no other page's inside, models know no page at all.
func TestImports(t *testing.T) {
	t.Parallel()
	forbidden := map[string][]string{
		"model": {"/app/", "/parts/", "/pages/", "preact", "/api/client", "/api/cache"},
		"parts": {"/api/client", "/api/cache", "/pages/"},
		"api":   {"/app/", "/parts/", "/pages/"},
	}
	for dir, words := range forbidden {
		seen := 0
		err := filepath.WalkDir(filepath.Join(root, "src", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.Contains(filepath.Ext(path), ".ts") {
				return err
			}
			seen++
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(raw)) {
				_, from, ok := strings.Cut(line, ` from "`)
				if !ok {
					continue
				}
				for _, word := range words {
					if strings.Contains(from, word) {
						t.Errorf("%s must not import %s", strings.TrimPrefix(path, root+"/"), strings.TrimSpace(from))
					}
				}
			}
			return nil
		})
		if err != nil || seen == 0 {
			t.Errorf("%s: %d sources, %v", dir, seen, err)
		}
	}
}

// The policy of the pages refuses elements that are made of markup, so no source may try.
func TestNoMarkup(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir(filepath.Join(root, "src"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "lib" {
			return fs.SkipDir
		}
		if !strings.Contains(filepath.Ext(path), ".ts") {
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, word := range []string{"innerHTML", "outerHTML =", "insertAdjacentHTML", "document.write"} {
			if strings.Contains(string(raw), word) {
				t.Errorf("%s uses %s", path, word)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
