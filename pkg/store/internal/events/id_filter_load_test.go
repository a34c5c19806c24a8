package events

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
)

// Filters are filled from segments, from segments without columns, and from rows that are in none; where a segment is damaged, from rows.
func TestFillIDFilter(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := openTest(t, Options{})
	start := time.Now().Add(-48 * time.Hour) // near days have filters
	var ids []uuid.UUID
	put := func(day, n int) {
		t.Helper()
		var b event.Batch
		for i := range n {
			e := event.Incoming{Event: event.Event{Type: event.TypeTool}}
			e.Complete(start.Add(time.Duration(day)*24*time.Hour + time.Duration(i)*time.Millisecond))
			b.Events = append(b.Events, e)
			ids = append(ids, e.ID)
		}
		if err := s.Put(ctx, testProject, b); err != nil {
			t.Fatal(err)
		}
	}
	// check fills filters anew, and says whether it was from segments. Each id must be found on its day and, but for a few, on no other.
	check := func(fromSegments bool) {
		t.Helper()
		days, err := s.bulk.days(ctx)
		if err != nil {
			t.Fatal(err)
		}
		s.idFilter = newIDFilter(1<<20, false)
		for _, k := range days {
			s.idFilter.known(k.project, k.day)
		}
		filled, err := s.fillFromSegments(ctx, days)
		if got := len(filled) == len(days) && err == nil; got != fromSegments {
			t.Errorf("filled %d of %d days from segments (%v)", len(filled), len(days), err)
		}
		s.fillIDFilter(ctx, days)
		more := 0
		for _, id := range ids {
			found, _ := s.idFilter.mayContain(testProject, id, nil)
			e, err := s.Event(ctx, testProject, id)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(found, dayOf(e.Start)) {
				t.Errorf("an event is not found on its day")
			}
			more += len(found) - 1
		}
		if more > len(ids)/10 {
			t.Errorf("%d events are looked for on %d other days", len(ids), more)
		}
	}
	makeTestProject(t, s)
	put(0, 300)
	put(1, 200)
	check(true) // rows
	if err := s.Seal(ctx); err != nil {
		t.Fatal(err)
	}
	check(true) // segments
	put(1, 50)
	put(2, 70)
	check(true)
	execTest(t, s, `UPDATE segment SET header = NULL`)
	execTest(t, s, `DELETE FROM segment_column`)
	check(true) // segments without columns
	if err := s.Seal(ctx); err != nil {
		t.Fatal(err)
	}
	check(true)
	execTest(t, s, `UPDATE segment_column SET data = x'00' WHERE number = 0`)
	check(false)
}
