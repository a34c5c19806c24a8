package durable

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestWriteFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, text := range []string{"one", "another"} {
		if err := WriteFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q, %v; want %q", got, err, text)
		}
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; only its owner may read the file", info.Mode(), err)
	}
	if err := SyncDirectory(dir); err != nil {
		t.Error(err)
	}
	// What cannot be put in place leaves nothing behind: here a directory has the name.
	taken := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(taken, []byte("text")); err == nil {
		t.Error("a file has taken the place of a directory")
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*"+TempSuffix)); err != nil || left != nil {
		t.Errorf("left behind: %q, %v", left, err)
	}
}
