package events

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/segment"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// The index of failed events has the condition of the filter "error exists", or no database would use it.
func TestErrorsAreFoundByTheirIndex(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{})
	filters, err := query.ParseFilters([]byte(`[{"field":"error","operator":"exists"}]`), "filters")
	if err != nil {
		t.Fatal(err)
	}
	from, to := 1000.0, 2000.0
	b := query.NewBuilder(query.SQLite)
	plan := query.CompileSearch(b, testProject, &query.Search{Filters: filters, From: &from, To: &to})
	var steps []string
	err = sqldb.Each(t.Context(), s.db, `EXPLAIN QUERY PLAN SELECT count(*) FROM event e WHERE `+plan.Where, b.Args(),
		func(scan func(...any) error) error {
			var id, parent, unused int
			var step string
			err := scan(&id, &parent, &unused, &step)
			steps = append(steps, step)
			return err
		})
	if err != nil || !strings.Contains(strings.Join(steps, "\n"), "INDEX event_error (project_id=? AND start_ms>? AND start_ms<?)") {
		t.Errorf("%q %v", steps, err)
	}
}

// The places of the few events that a search finds in a segment are kept, so that the next search with the same filters reads no column.
func TestPlacesOfFewEventsAreKept(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := openTest(t, Options{})
	makeTestProject(t, s)
	var b event.Batch
	var want []uuid.UUID // newest first
	for i := range 300 {
		e := event.Incoming{Event: event.Event{Type: event.TypeTool, Name: "other"}}
		e.Complete(time.Now().Add(time.Duration(i) * time.Millisecond))
		if i%100 == 0 {
			e.Name = "rare"
			want = slices.Insert(want, 0, e.ID)
		}
		b.Events = append(b.Events, e)
	}
	if err := s.Put(ctx, testProject, b); err != nil {
		t.Fatal(err)
	}
	if err := s.Seal(ctx); err != nil {
		t.Fatal(err)
	}
	filters, err := query.ParseFilters([]byte(`[{"field":"event_name","operator":"is","value":"rare"},{"field":"event_type","operator":"is","value":"tool"}]`), "filters")
	if err != nil {
		t.Fatal(err)
	}
	search := func(limit int, want []uuid.UUID) {
		t.Helper()
		set, err := s.Search(FromSegments(ctx), testProject, query.Search{Filters: filters, Limit: limit, Page: 1})
		if err != nil {
			t.Fatal(err)
		}
		var got []uuid.UUID
		for _, e := range set.Events {
			got = append(got, e.ID)
		}
		if !slices.Equal(got, want) || set.Total != 3 {
			t.Errorf("%d events, %v, want %v of 3", set.Total, got, want)
		}
	}
	search(2, want[:2])
	// A search that reads a column from now on finds it damaged, and drops the columns.
	s.columns = segment.NewCache(1 << 20)
	execTest(t, s, `UPDATE segment_column SET data = x'00'`)
	search(3, want)
	columns := 0
	if _, err := sqldb.One(ctx, s.db, `SELECT count(*) FROM segment_column`, nil, &columns); err != nil || columns == 0 {
		t.Errorf("there are %d columns, %v", columns, err)
	}
}
