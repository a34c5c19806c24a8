package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestVersion(t *testing.T) {
	at := time.Date(2026, 11, 25, 22, 36, 37, 0, time.UTC)
	parsed := func(text string) version {
		v, err := parseVersion(text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, tt := range []struct {
		v                          version
		people, npm, pip, packages string
	}{
		{parsed("1.2.3"), "1.2.3", "1.2.3", "1.2.3", "1.2.3"},
		{parsed("1.2.3-rc.10"), "1.2.3-rc.10", "1.2.3-rc.10", "1.2.3rc10", "1.2.3~rc.10"},
		{parsed("1.0.0-alpha.1"), "1.0.0-alpha.1", "1.0.0-alpha.1", "1.0.0a1", "1.0.0~alpha.1"},
		{
			developmentVersion(at, "0123456789abcdef", true), "0.0.0-dev.20261125223637+0123456789ab.dirty",
			"0.0.0-dev.20261125223637", "0.0.0.dev20261125223637", "0.0.0~dev.20261125223637",
		},
	} {
		if got := [...]string{tt.v.String(), tt.v.npm(), tt.v.pep440(), tt.v.linux()}; got != [...]string{tt.people, tt.npm, tt.pip, tt.packages} {
			t.Errorf("%+v is spelled %q", tt.v, got)
		}
	}
	for _, text := range []string{"", "1.2", "01.2.3", "1.2.3-rc1", "1.2.3-nightly.1", "1.2.3+build", "v1.2.3"} {
		if v, err := parseVersion(text); err == nil {
			t.Errorf("%q is taken as %+v", text, v)
		}
	}
}

// TestSource reads versions from a repository of its own.
func TestSource(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-11-25T22:36:37Z")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	t.Setenv("SOURCE_DATE_EPOCH", "")
	want := func(version string, at int64) {
		t.Helper()
		s, err := readSource(t.Context(), dir, false)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(s.version.String(), version) || s.time.Unix() != at {
			t.Errorf("version %s of %d, want %s of %d", s.version, s.time.Unix(), version, at)
		}
	}
	const committed = 1795646197
	git("init", "--quiet")
	git("commit", "--quiet", "--allow-empty", "--message", "one")
	want("0.0.0-dev.20261125223637+", committed)
	git("tag", "other")
	git("tag", "v1.2.3-rc.1")
	want("1.2.3-rc.1", committed)
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	want("1.2.3-rc.1", 1700000000)
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if _, err := readSource(t.Context(), dir, false); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Errorf("a wrong SOURCE_DATE_EPOCH: %v", err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "")
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readSource(t.Context(), dir, false); err == nil || !strings.Contains(err.Error(), "not as committed") {
		t.Errorf("files that are not committed: %v", err)
	}
	if s, err := readSource(t.Context(), dir, true); err != nil || !strings.HasSuffix(s.version.String(), ".dirty") {
		t.Errorf("with -dirty: %v (%v)", s, err)
	}
	git("add", "x")
	git("commit", "--quiet", "--message", "two")
	git("tag", "v2")
	if _, err := readSource(t.Context(), dir, false); err == nil || !strings.Contains(err.Error(), "tag v2") {
		t.Errorf("a tag that is no version: %v", err)
	}
}

func TestOptions(t *testing.T) {
	for args, want := range map[string]string{
		"-platforms linux/mips": `unknown platform "linux/mips"; must be one of linux/amd64, `,
		"-formats snap":         `unknown format "snap"; must be one of archive, `,
		"-formats homebrew":     "the format homebrew needs archive",
		"now":                   `unknown argument "now"`,
	} {
		if _, err := parseOptions(strings.Fields(args)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}

// TestOutput checks that only what a release was written to is replaced.
func TestOutput(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "precious"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := newOutput(dir); err == nil {
		t.Error("a folder with other files would be replaced")
	}
	own := filepath.Join(t.TempDir(), "release")
	for range 2 {
		o, err := newOutput(own)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.writeSums(); err != nil {
			t.Fatal(err)
		}
	}
}
