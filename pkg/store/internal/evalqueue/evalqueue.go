// Package evalqueue holds evaluations in a database: which metric is to score which event, and what came
// of it; backfills; and the outbox, by which each commit says what is new to evaluate.
//
// The way of an event through it:
//
//  1. The commit that stores it writes its id into table outbox, if the project has metrics that run over new events
//     (package events).
//  2. A server claims outbox rows, decides which metrics are to score which events, and replaces the rows by rows of table
//     evaluation (outbox_claim.go). What has not ended yet waits in outbox_delayed.
//  3. Workers claim evaluations and store what came of them, the score in the event included (evaluation.go).
//
// Backfills enter at the third step: they ask for evaluations of events that are stored already (evaluation_backfill.go).
//
// What is decided on the way, package evaluate/online decides. Here is only what must be one transaction, and what holds
// if a server dies or several work on one database: whoever takes work gets it for the time of a lease, and nothing about it
// is kept in memory. Leases compare times of the servers' own clocks (Options.Now), which should therefore differ by much less
// than a lease.
package evalqueue

import (
	"time"

	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/resource"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Options of the storage of evaluations. All must be set.
type Options struct {
	// Now is the clock of leases, due times and ages. Times are stored in Unix milliseconds.
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
