package evalqueue

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/store/internal/events/eventstest"
	"github.com/spangrove/spangrove/pkg/store/internal/resource"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openTest opens the storage of evaluations in a data directory of its own.
func openTest(t *testing.T) (*eventstest.DB, *Store) {
	t.Helper()
	db, e := eventstest.Open(t)
	limits := project.DefaultBounds()
	r := resource.New(db, e, resource.Options{
		Logger:          eventstest.Logger,
		Now:             time.Now,
		Limits:          &limits,
		AuditRetention:  resource.DefaultAuditRetention,
		AuditMaxEntries: resource.DefaultAuditMaxEntries,
	})
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db, New(db, e, r, Options{Now: time.Now})
}

func oneEvent() event.Batch {
	e := event.Incoming{Event: event.Event{Type: event.TypeTool, Inputs: []byte(`{"q":"text"}`)}}
	e.Complete(time.UnixMilli(1767355200000))
	return event.Batch{Events: []event.Incoming{e}}
}
