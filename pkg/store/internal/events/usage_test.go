package events

import (
	"testing"
	"time"
)

// All rows of a project are read again soon after a deletion and later after a replacement, and not for what is only added.
func TestUsageDue(t *testing.T) {
	t.Parallel()
	began := time.Now()
	after := func(d time.Duration) time.Time { return began.Add(d + time.Minute) }
	for _, c := range []struct {
		name    string
		changes eventCounts
		wait    time.Duration // until it is due; 0: it never is
	}{
		{"nothing", eventCounts{}, 0},
		{"added", eventCounts{{1, 1}: 3, {1, typeStored}: 700}, 0},
		{"replaced", eventCounts{{1, typeStored}: 700, {1, typeReplaced}: 0}, countAfterChange},
		{"deleted", eventCounts{{1, 1}: -3, {1, typeStored}: 700}, countAfterDelete},
		{"something else was deleted", eventCounts{{1, typeShrunk}: 0}, countAfterDelete},
	} {
		u := newUsage()
		u.committed(c.changes)
		if _, ok := u.due(began); ok {
			t.Errorf("%s: due at once", c.name)
		}
		if project, ok := u.due(after(countAfterChange)); ok != (c.wait > 0) || ok && project != 1 {
			t.Errorf("%s: due %v of project %d", c.name, ok, project)
		}
		if _, ok := u.due(after(countAfterDelete)); ok != (c.wait == countAfterDelete) {
			t.Errorf("%s: due %v after %v", c.name, ok, countAfterDelete)
		}
	}
}
