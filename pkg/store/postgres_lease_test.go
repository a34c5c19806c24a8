package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/store"
)

// TestPostgresLeases has two servers on one database: one of them has the lease of segments, the other gets it when that one ends, and at the
// end of its time if it was killed.
func TestPostgresLeases(t *testing.T) {
	t.Parallel()
	place := newPostgresPlace(t)
	of := func(owner string) string {
		return fmt.Sprintf(`SELECT count(*) FROM setting WHERE name = 'segment_lease' AND substr(value, 15) %s`, owner)
	}
	first := place.Open(t, store.Options{})
	place.await(t, "nobody has the lease", of("<> ''"))
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := place.Count(t, of("<> ''")); n != 0 {
		t.Errorf("%d leases are left by a server that has ended", n)
	}
	// As if a server was killed a moment ago.
	place.Exec(t, `INSERT INTO setting(name, value) VALUES ('segment_lease', lpad(((extract(epoch FROM now()) + 10) * 1000)::bigint::text, 14, '0') || 'killed')`)
	second := place.Open(t, store.Options{})
	time.Sleep(5 * time.Second)
	if n := place.Count(t, of("= 'killed'")); n != 1 {
		t.Error("a lease was taken before its end")
	}
	place.await(t, "nobody has taken over from a server that was killed", of("<> 'killed'"))
	third := place.Open(t, store.Options{})
	time.Sleep(5 * time.Second)
	if err := second.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	place.await(t, "nobody has taken over from a server that has ended", of("<> 'killed'"))
	if err := third.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
