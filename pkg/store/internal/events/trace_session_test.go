package events

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// TestTraceNamedAsItsSessionGoes deletes a session in the transaction that stores a span of another trace in it: the next span of that trace
// makes the trace's row anew, which the database has no more.
func TestTraceNamedAsItsSessionGoes(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{})
	session, trace := uuid.New(), uuid.New()
	span := func(trace, session uuid.UUID, provisional bool) event.Incoming {
		e := event.Incoming{TraceID: trace, Provisional: provisional, Event: event.Event{ID: uuid.New(), SessionID: session, Type: event.TypeTool}}
		e.Complete(time.Now())
		return e
	}
	put := func(e event.Incoming) {
		if err := s.Put(context.Background(), testProject, event.Batch{Events: []event.Incoming{e}}); err != nil {
			t.Error(err)
		}
	}
	put(span(uuid.New(), session, false))
	x := newSharing(s)
	x.ask(func() { put(span(trace, session, false)) })
	x.ask(func() {
		if err := s.DeleteSession(context.Background(), testProject, session); err != nil {
			t.Error(err)
		}
	})
	x.release()
	late := span(trace, trace, true)
	put(late)
	e, err := s.Event(t.Context(), testProject, late.ID)
	if err != nil {
		t.Fatal(err)
	}
	var row uuid.UUID
	if _, err := sqldb.One(t.Context(), s.db, `SELECT session_id FROM trace WHERE project_id = $1 AND trace_id = $2`,
		[]any{testProject, s.db.ID(trace)}, sqldb.ScanID(&row)); err != nil {
		t.Fatal(err)
	}
	if row != e.SessionID {
		t.Errorf("a late span is in session %s, and the row of its trace names %s", e.SessionID, row)
	}
}
