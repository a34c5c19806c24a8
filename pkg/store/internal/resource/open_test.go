package resource

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/store/internal/events/eventstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openTest opens the storage of resources in a data directory of its own.
func openTest(t *testing.T) *Store {
	t.Helper()
	db, e := eventstest.Open(t)
	limits := project.DefaultBounds()
	s := New(db, e, Options{
		Logger:          eventstest.Logger,
		Now:             time.Now,
		Limits:          &limits,
		AuditRetention:  DefaultAuditRetention,
		AuditMaxEntries: DefaultAuditMaxEntries,
	})
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}
