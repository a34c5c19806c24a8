package events

import (
	"testing"
	"time"
)

// All rows of a project are read again soon after a deletion, later after a replacement, and for what is only added when it may have grown by half.
func TestUsageDue(t *testing.T) {
	t.Parallel()
	began := time.Now()
	later := func(d time.Duration) time.Time { return began.Add(d + time.Minute) }
	for _, c := range []struct {
		name    string
		changes eventCounts
		wait    time.Duration // until it is due; 0: it never is
		added   int64
	}{
		{"nothing", eventCounts{}, 0, 0},
		{"added", eventCounts{{1, 1}: 3, {1, typeStored}: 700}, countAfterChange, 700},
		{"smaller by what was rewritten", eventCounts{{1, typeStored}: -5}, 0, 0},
		{"replaced", eventCounts{{1, typeStored}: 700, {1, typeReplaced}: 0}, countAfterChange, 0},
		{"deleted", eventCounts{{1, 1}: -3, {1, typeStored}: 700}, countAfterDelete, 0},
		{"something else was deleted", eventCounts{{1, typeShrunk}: 0}, countAfterDelete, 0},
	} {
		u := newUsage()
		u.committed(c.changes)
		if _, _, ok := u.due(began); ok {
			t.Errorf("%s: due at once", c.name)
		}
		project, added, ok := u.due(later(countAfterChange))
		if want := c.wait > 0; ok != want || ok && (project != 1 || added != c.added) {
			t.Errorf("%s: due %v of project %d, added %d; want %v, added %d", c.name, ok, project, added, want, c.added)
		}
		if _, _, ok := u.due(later(countAfterDelete)); ok != (c.wait == countAfterDelete) {
			t.Errorf("%s: due %v after %v", c.name, ok, countAfterDelete)
		}
	}
}
