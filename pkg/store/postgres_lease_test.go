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
	wait := func(what, text string, within time.Duration) {
		t.Helper()
		for end := time.Now().Add(within); place.Count(t, text) == 0; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal(what)
			}
		}
	}
	// As if a server was killed a moment ago.
	first := place.Open(t, store.Options{})
	wait("nobody has the lease", of("<> ''"), time.Minute)
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := place.Count(t, of("<> ''")); n != 0 {
		t.Errorf("%d leases are left by a server that has ended", n)
	}
	place.Exec(t, `INSERT INTO setting(name, value) VALUES ('segment_lease', lpad(((extract(epoch FROM now()) + 10) * 1000)::bigint::text, 14, '0') || 'killed')`)
	second := place.Open(t, store.Options{})
	time.Sleep(5 * time.Second)
	if n := place.Count(t, of("= 'killed'")); n != 1 {
		t.Error("a lease was taken before its end")
	}
	wait("nobody has taken over from a server that was killed", of("<> 'killed'"), time.Minute)
	third := place.Open(t, store.Options{})
	time.Sleep(5 * time.Second)
	if err := second.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait("nobody has taken over from a server that has ended", of("<> 'killed'"), time.Minute)
	if err := third.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
