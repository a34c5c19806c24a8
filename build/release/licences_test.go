package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/licenseclassifier/v2/assets"
)

// TestLicences checks that a release fails over a licence that is unknown or not accepted.
func TestLicences(t *testing.T) {
	c, err := newClassifier()
	if err != nil {
		t.Fatal(err)
	}
	known := func(name string) string {
		text, err := assets.ReadLicenseFile("License/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, tt := range []struct {
		name    string
		files   map[string]string
		want    string
		wantErr string
	}{
		{"accepted", map[string]string{"LICENSE": known("MIT/pristine.txt"), "main.go": "package main"}, "MIT", ""},
		{"two, with a notice", map[string]string{"LICENSE.txt": known("Apache-2.0/pristine.txt"), "COPYING": known("MIT/pristine.txt"), "NOTICE": "Copyright 2026"}, "Apache-2.0 MIT", ""},
		{"without attribution", map[string]string{"LICENSE": string(mit0)}, "MIT-0", ""},
		{"none", map[string]string{"README": "free software"}, "", "no licence was recognized"},
		{"unknown", map[string]string{"LICENSE": "Do what you like on Tuesdays."}, "", "no licence was recognized"},
		{"not accepted", map[string]string{"LICENSE": known("AGPL-3.0/license.txt")}, "AGPL-3.0", "the licence AGPL-3.0 is not one that is accepted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range tt.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			m := &module{name: "example.com/x", version: "v1.0.0"}
			if err := m.read(dir, "", c); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(m.licences, " "); got != tt.want {
				t.Errorf("licences: %q, want %q", got, tt.want)
			}
			err := m.check()
			if tt.wantErr == "" && err != nil || tt.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tt.wantErr)) {
				t.Errorf("check: %v, want %q", err, tt.wantErr)
			}
		})
	}
}

// TestCopies holds the table of copies to the folders, and its versions to the page beside them.
func TestCopies(t *testing.T) {
	root, err := repository("")
	if err != nil {
		t.Fatal(err)
	}
	const lib = "pkg/webui/src/lib"
	page, err := os.ReadFile(filepath.Join(root, lib, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for _, c := range copies {
		dirs = append(dirs, c.dir)
		if !strings.HasPrefix(c.dir, lib) {
			continue
		}
		if !slices.ContainsFunc(strings.Split(string(page), "\n"), func(line string) bool {
			return strings.HasPrefix(line, "| "+c.name+" ") && strings.Contains(line, "| "+c.version+" |") || strings.HasPrefix(line, "| "+c.name+",") && strings.Contains(line, "| "+c.version+" |")
		}) {
			t.Errorf("%s %s is not in %s/README.md", c.name, c.version, lib)
		}
	}
	entries, err := os.ReadDir(filepath.Join(root, lib))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !slices.Contains(dirs, lib+"/"+e.Name()) {
			t.Errorf("%s/%s is in no inventory", lib, e.Name())
		}
	}
}

func TestThirdPartyText(t *testing.T) {
	got := string(thirdPartyText([]module{
		{name: "a", version: "v1", url: "https://a", licences: []string{"MIT"}, texts: []text{{"LICENSE", "same\n"}}},
		{name: "b", version: "v2", url: "https://b", licences: []string{"MIT"}, texts: []text{{"LICENSE", "same\n"}, {"NOTICE", "ours\n"}}},
	}))
	if strings.Count(got, "same\n") != 1 || !strings.Contains(got, "a v1 (MIT), LICENSE: https://a\nb v2 (MIT), LICENSE: https://b\n") || !strings.Contains(got, "\nours\n") {
		t.Error(got)
	}
}
