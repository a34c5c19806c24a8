// Package resource holds what is not telemetry in a database: documents such as datasets and metrics,
// projects, keys, and the audit log.
//
// A document is one JSON text that its noun's package reads and writes, with a version and the columns that
// lists are filtered and sorted by (document.go). Old versions are kept where a noun has versions
// (document_version.go); what belongs to a deleted document is deleted in slices (document_delete.go).
//
// The family of a file stands first in its name: dataset, datapoint, configuration, metric, queue, run, tool,
// chart, provider, project, key, audit.
//
// All writes go through the writers of package events. What a closure sets outside of its transaction it sets anew each time,
// since it may run more than once. Most resources are written by the one writer that writes no telemetry, so that ingestion into
// PostgreSQL does not wait for them. Other servers change the same rows there: a document that is changed is held
// (getForUpdate), and what may meet without being held says so.
package resource

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/audit"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Options of the storage of resources. All must be set.
type Options struct {
	Logger          *zap.Logger
	Now             func() time.Time
	Limits          *project.Bounds       // of projects that set none of their own
	Retention       project.RetentionRule // of projects that set none of their own
	AuditRetention  time.Duration         // how long entries of the audit log are kept
	AuditMaxEntries int64                 // bound on the entries of the audit log
}

// Store holds resources in a database. It is safe for concurrent use.
type Store struct {
	events    *events.Store
	db        sqldb.DB
	options   Options
	purges    *purges
	keys      changeCounter
	limits    *limitCache
	retention *retention
	bulk      *bulkWork
	audit     *auditNotes
	keyUses   keyUses
	datasetMu chan struct{} // one place: held by the change of datasets that runs (dataset_change.go)

	orgID, workspaceID string
}

// New returns the storage of resources in the database of the events. Load must be called before it is used.
func New(db sqldb.DB, e *events.Store, o Options) *Store {
	return &Store{
		events:    e,
		db:        db,
		options:   o,
		purges:    newPurges(),
		limits:    newLimits(),
		retention: newRetention(),
		bulk:      newBulkWork(),
		audit:     &auditNotes{notes: audit.Notes{Max: auditNotesPerMinute}},
		datasetMu: make(chan struct{}, 1),
	}
}

// Load reads what the store keeps in memory: which projects have metrics that run over new events (only their events enter the outbox), and the
// ids of the organization and the workspace, which are made once for a database.
func (s *Store) Load(ctx context.Context) (err error) {
	if err := s.loadOnline(ctx); err != nil {
		return err
	}
	if s.orgID, err = s.events.Setting(ctx, "org_id", newPublicID); err != nil {
		return err
	}
	if s.workspaceID, err = s.events.Setting(ctx, "workspace_id", newPublicID); err != nil || s.db.Exclusive() {
		return err
	}
	// On PostgreSQL no change of a dataset is written in slices. Rows of such a change came with a store that was moved from SQLite before the change
	// was finished.
	return sqldb.WrapError(s.db, s.rollback(ctx), "roll back an unfinished change of a dataset")
}

// Start begins what is done in the background until ctx ends; work counts it.
func (s *Store) Start(ctx context.Context, work *sync.WaitGroup) {
	if !s.db.Exclusive() {
		work.Go(func() { s.watchOnline(ctx) })
	}
	work.Go(func() { s.writingAudit(ctx) })
	work.Go(func() { s.purge(ctx) })
	work.Go(func() { s.retaining(ctx) })
	work.Go(func() { s.deleting(ctx) })
}
