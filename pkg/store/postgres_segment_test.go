package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store"
)

// TestPostgresSealWaits deletes an event while it is sealed, in a transaction that has a later number than the one that marks the places, and has
// begun before that ends: it does not see the mark, so nothing records the deletion, and the segment must not be built before it has ended.
func TestPostgresSealWaits(t *testing.T) {
	t.Parallel()
	place := newPostgresPlace(t)
	s := place.Open(t, store.Options{PackAfter: -1})
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	p, err := s.EnsureProject(t.Context(), "p")
	ok(err)
	// The background does not come between: nothing is sealed while this has the row.
	holder, deleter := place.conn(t), place.conn(t)
	defer func() { _, _ = deleter.Close(context.Background()), holder.Close(context.Background()) }()
	hold, err := holder.Begin(t.Context())
	ok(err)
	_, err = hold.Exec(t.Context(), `SELECT FROM segment_progress FOR UPDATE`)
	ok(err)
	var batch event.Batch
	for range 3 {
		e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeTool, Name: "a", Start: float64(time.Now().UnixMilli())}}
		e.Complete(time.Now())
		batch.Events = append(batch.Events, e)
	}
	ok(s.Put(t.Context(), p.ID, batch))
	sealed := make(chan error, 1)
	go func() { sealed <- s.Seal(t.Context()) }()
	place.await(t, "nobody marks the places", fmt.Sprintf(`SELECT count(*) FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND %d = ANY(pg_blocking_pids(pid))`,
		holder.PgConn().PID()))
	deletion, err := deleter.Begin(t.Context())
	ok(err)
	tag, err := deletion.Exec(t.Context(), `DELETE FROM event WHERE event_id = $1`, batch.Events[0].ID)
	ok(err)
	if tag.RowsAffected() != 1 {
		t.Fatalf("%s", tag)
	}
	ok(hold.Rollback(t.Context()))
	place.await(t, "the places are not marked", `SELECT count(*) FROM segment_progress WHERE marked_seq > 0`)
	select {
	case err := <-sealed:
		t.Errorf("sealed before the deletion has ended: %v", err)
		ok(deletion.Commit(t.Context()))
	case <-time.After(500 * time.Millisecond):
		ok(deletion.Commit(t.Context()))
		ok(<-sealed)
	}
	filters, err := query.ParseFilters([]byte(`[{"field":"source","operator":"is not","type":"string","value":"x"},{"field":"event_type","operator":"is","type":"string","value":"tool"}]`), "filters")
	ok(err)
	set, err := s.Search(t.Context(), p.ID, query.Search{Filters: filters, Limit: 10, Page: 1})
	ok(err)
	if set.Total != 2 {
		t.Errorf("%d events, want 2", set.Total)
	}
}

// TestPostgresSealIndexes says that what is sealed is in the index of places before it is read, and not only after a vacuum: each statement that names
// places would read all that is not.
func TestPostgresSealIndexes(t *testing.T) {
	t.Parallel()
	place := newPostgresPlace(t)
	s := place.Open(t, store.Options{PackAfter: -1})
	p, err := s.EnsureProject(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	conn := place.conn(t)
	defer func() { _ = conn.Close(context.Background()) }()
	for range 2 {
		var batch event.Batch
		for range 1000 { // some pages more than a range has, which is 32
			e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeTool, Name: "a", Start: float64(time.Now().UnixMilli()),
				Metadata: fmt.Appendf(nil, `{"a":"%s"}`, strings.Repeat(uuid.NewString(), 10))}}
			e.Complete(time.Now())
			batch.Events = append(batch.Events, e)
		}
		if err := s.Put(t.Context(), p.ID, batch); err != nil {
			t.Fatal(err)
		}
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		var left int
		if err := conn.QueryRow(t.Context(), `SELECT coalesce(sum(brin_summarize_new_values(relid)), 0) FROM pg_partition_tree('event_seq_range') WHERE isleaf`).
			Scan(&left); err != nil || left > 0 {
			t.Errorf("%d ranges of pages are not in the index, %v", left, err)
		}
	}
}
