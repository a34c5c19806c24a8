package sqldb

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
)

// TestDumpOfWhatChanges reads a database that cannot have an index of its log, as one whose directory may not be written, and has it change
// meanwhile, as when a server begins.
func TestDumpOfWhatChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, err := OpenSQLite(t.Context(), dir, "full", zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, sqliteFile)
	if err := os.Symlink(filepath.Join(dir, "nowhere", "shm"), path+"-shm"); err != nil {
		t.Fatal(err)
	}
	dump, err := DumpSQLite(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dump.Close(t.Context()) }()
	table := dump.Layout().Tables[0]
	if _, err := dump.Copy(t.Context(), table, io.Discard); err != nil {
		t.Fatalf("while nobody changes it: %v", err)
	}
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
	if _, err := dump.Copy(t.Context(), table, io.Discard); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("after somebody changed it: %v", err)
	}
}
