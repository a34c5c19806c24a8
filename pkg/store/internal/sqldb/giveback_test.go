package sqldb

import (
	"context"
	"testing"

	"go.uber.org/zap"
)

// Pages are given back to the file system once a fifth of them is free.
func TestGiveBack(t *testing.T) {
	t.Parallel()
	d, err := OpenSQLite(t.Context(), t.TempDir(), "full", zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close(context.Background()) })
	change := func(ctx context.Context, f func(context.Context, Tx) error) error {
		return d.Write(ctx, func(tx Tx) error { return f(ctx, tx) })
	}
	exec := func(text string) {
		t.Helper()
		if err := change(t.Context(), func(ctx context.Context, tx Tx) error { _, err := tx.Exec(ctx, text); return err }); err != nil {
			t.Fatal(err)
		}
	}
	free := func() (n int) {
		t.Helper()
		if err := d.GiveBack(t.Context(), change); err != nil {
			t.Fatal(err)
		}
		if _, err := One(t.Context(), d, `SELECT freelist_count FROM pragma_freelist_count`, nil, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT INTO chunk(id, data) SELECT i, zeroblob(40000) FROM n`)
	exec(`DELETE FROM chunk WHERE id > 95`)
	if n := free(); n == 0 {
		t.Error("a few free pages were given back, want them kept for what comes next")
	}
	exec(`DELETE FROM chunk WHERE id > 60`)
	if n := free(); n != 0 {
		t.Errorf("%d pages are free of which a third of the file was", n)
	}
}
