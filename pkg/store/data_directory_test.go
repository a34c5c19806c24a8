//go:build unix

package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/spangrove/spangrove/pkg/event"
)

// What stands in a data directory is its owner's alone, whatever the umask is and whoever made the
// directory and the files. It changes the umask of the process, so it does not run beside others.
func TestDataDirectoryIsPrivate(t *testing.T) {
	before := unix.Umask(0)
	defer unix.Umask(before)
	for name, prepare := range map[string]func(dir string) error{
		"new":      func(string) error { return nil },
		"existing": func(dir string) error { return os.MkdirAll(dir, 0o755) },
		"with files": func(dir string) error {
			if err := os.MkdirAll(dir, 0o777); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "spangrove.db"), nil, 0o666)
		},
	} {
		dir := filepath.Join(t.TempDir(), "data")
		if err := prepare(dir); err != nil {
			t.Fatal(err)
		}
		s, err := OpenSQLite(t.Context(), dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.EnsureProject(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeTool, Name: "a", Start: 1.79e12}}
		e.Complete(time.Now())
		if err := s.Put(t.Context(), p.ID, event.Batch{Events: []event.Incoming{e}}); err != nil {
			t.Fatal(err)
		}
		files := 0
		err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %s is %s", name, path, info.Mode())
			}
			files++
			return nil
		})
		if err != nil || files < 4 {
			t.Errorf("%s: %d files, %v", name, files, err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
