// Package evalqueue holds evaluations in a database: which metric is to score which event, and what came
// of it; backfills; and the outbox, by which each commit says what is new to evaluate.
package evalqueue

import (
	"time"

	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/resource"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Options of the storage of evaluations. All must be set.
type Options struct {
	Now func() time.Time
}

// Store holds evaluations in a database. It is safe for concurrent use.
type Store struct {
	events    *events.Store
	resources *resource.Store
	db        sqldb.DB
	options   Options
}

// New returns the storage of evaluations in the database of events and resources.
func New(db sqldb.DB, e *events.Store, r *resource.Store, o Options) *Store {
	return &Store{events: e, resources: r, db: db, options: o}
}
