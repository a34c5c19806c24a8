//go:build unix

package python

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCacheIsGuarded(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "evaluators", "compiled")
	if err := guardCache(dir); err != nil {
		t.Fatal(err)
	}
	mode := func(path string) os.FileMode {
		t.Helper()
		info, err := os.Lstat(path)
		if err != nil {
			return 0
		}
		return info.Mode().Perm()
	}
	if got := mode(dir); got != 0o700 {
		t.Errorf("made with %o", got)
	}
	good, planted, link := filepath.Join(dir, "good"), filepath.Join(dir, "planted"), filepath.Join(dir, "link")
	put := func() {
		t.Helper()
		write(t, dir, "good", "x")
		write(t, dir, "planted", "x")
		for path, mode := range map[string]os.FileMode{good: 0o600, planted: 0o666} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("/etc/passwd", link); err != nil {
			t.Fatal(err)
		}
	}
	put()
	if err := guardCache(dir); err != nil || mode(good) != 0o600 || mode(planted) != 0 || mode(link) != 0 {
		t.Errorf("%v; good %o, planted %o, link %o", err, mode(good), mode(planted), mode(link))
	}
	if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // that is what is tried
		t.Fatal(err)
	}
	if err := guardCache(dir); err != nil || mode(dir) != 0o700 || mode(good) != 0 {
		t.Errorf("others could write: %v; %o, good %o", err, mode(dir), mode(good))
	}
	elsewhere := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, elsewhere); err != nil {
		t.Fatal(err)
	}
	if err := guardCache(elsewhere); err == nil {
		t.Error("a link is taken for the directory")
	}
}
