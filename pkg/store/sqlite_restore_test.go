package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/pkg/store"
)

// TestRestoreBesideLog restores into a data directory whose database was taken away, and whose log was not: SQLite would copy the pages of that log
// into the database that is restored.
func TestRestoreBesideLog(t *testing.T) {
	t.Parallel()
	from, backups := sqlitePlace{dir: t.TempDir()}, t.TempDir()
	s := from.Open(t, store.Options{PackAfter: -1})
	putTools(t, s, 10)
	if _, err := store.BackupSQLite(t.Context(), from.dir, backups, store.BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	putTools(t, s, 500)
	log, err := os.ReadFile(filepath.Join(from.dir, "spangrove.db-wal"))
	if err != nil || len(log) == 0 {
		t.Fatalf("the log has %d bytes: %v", len(log), err)
	}
	dir := t.TempDir()
	stale := filepath.Join(dir, "spangrove.db-wal")
	if err := os.WriteFile(stale, log, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.RestoreSQLite(t.Context(), backups, "", dir, nil); err == nil || !strings.Contains(err.Error(), "spangrove.db-wal") {
		t.Errorf("a restore beside the log of another database: %v", err)
	}
	if err := os.Truncate(stale, 0); err != nil { // as a server at rest leaves it
		t.Fatal(err)
	}
	if _, err := store.RestoreSQLite(t.Context(), backups, "", dir, nil); err != nil {
		t.Errorf("a restore beside an empty log: %v", err)
	}
	if n := (sqlitePlace{dir: dir}).Count(t, "SELECT count(*) FROM event WHERE type <> 4"); n != 10 {
		t.Errorf("%d events were restored, want 10", n)
	}
}
