package events

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
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

// What a process has deleted from a project and not counted before it ended is counted by the next one, which finds a mark of it.
func TestUsageDueAfterEnd(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := openTest(t, Options{})
	change := func(f func(ctx context.Context, tx *Commit) error) {
		t.Helper()
		if err := s.Change(ctx, 0, uuid.Nil, 0, f); err != nil {
			t.Fatal(err)
		}
	}
	due := func(what string, want bool) {
		t.Helper()
		s.usage.mu.Lock() // it knows nothing, as after a start
		s.usage.projects = map[int64]*storedBytes{}
		s.usage.mu.Unlock()
		if err := s.notCounted(ctx); err != nil {
			t.Fatal(err)
		}
		if _, ok := s.usage.due(time.Now().Add(countAfterChange)); ok != want {
			t.Errorf("%s: due is %v, want %v", what, ok, want)
		}
	}
	makeTestProject(t, s)
	change(func(_ context.Context, tx *Commit) error { tx.Counts.Stored(1, 100); return nil })
	due("what was added", false)
	change(func(_ context.Context, tx *Commit) error { tx.Counts.Shrunk(1); return nil })
	due("what was deleted", true)
	due("again", true)
	if err := s.Recount(ctx, 1); err != nil {
		t.Fatal(err)
	}
	due("what was counted", false)
}
