//go:build unix

package sqldb

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
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
			return os.WriteFile(filepath.Join(dir, sqliteFile), nil, 0o666)
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
		p, err := s.resources.EnsureProject(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		e := event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeTool, Name: "a", Start: 1.79e12}
		e.Complete(s.options.Now())
		if err := s.events.Put(t.Context(), p.ID, event.Batch{Events: []event.Event{e}}); err != nil {
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

func TestASharedDirectoryIsNotTaken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if err := keepPrivate(dir, zap.NewNop()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
