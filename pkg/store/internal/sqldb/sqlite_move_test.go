package sqldb

import "testing"

// TestBesideIsDurable has what a move writes into a store that others write to on disk with the commit: that it refuses changes must not be forgotten when
// the power goes.
func TestBesideIsDurable(t *testing.T) {
	t.Parallel()
	d, _ := openTwice(t)
	db, err := OpenSQLiteBeside(t.Context(), d.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var synchronous int
	if err := db.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&synchronous); err != nil {
		t.Fatal(err)
	}
	if synchronous != 2 {
		t.Errorf("synchronous is %d, want 2 (FULL)", synchronous)
	}
}
