package resource

import (
	"context"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// A document to which many rows belong is deleted at once for its callers, its rows follow in
// slices. What a process leaves undone when it ends, the next finishes: the table deletion names it.
//
// The row of deletion is written by the transaction that deletes the document, and deleted by that of the last slice. So there is no
// moment at which rows are left and nobody knows. Slices may be deleted by two servers at once, or twice: what is gone
// is no error. Readers look for the document first, and do not get to rows without one.

// sweeps delete a slice of what belongs to a document of each table that has such rows. Each deletes at most about
// events.DeleteDocsSlice rows and reports whether there may be more; the document itself is gone by then.
var sweeps = map[string]func(ctx context.Context, tx *events.Commit, project int64, id string) (more bool, err error){
	configurations.Table: configurations.deleteVersions,
	datapoints.Table:     datapoints.deleteVersions,
	datasets.Table:       sweepDataset,
	Metrics.Table:        forgetMetricVersions,
	queues.Table:         sweepQueue,
	runs.Table:           sweepRun,
}

// deleteDocument deletes a document and what belongs to it. fault.NotFound if there is none. The caller waits for all slices;
// if its context ends, or a slice fails, it gets that error although the document is gone, and FinishDeletions does the rest.
func (s *Store) deleteDocument(ctx context.Context, t Documents, project int64, id string) error {
	op := "delete " + t.Noun
	err := s.ChangeDocs(ctx, 0, op, func(ctx context.Context, tx *events.Commit) error {
		if err := t.remove(ctx, tx, project, id); err != nil {
			return err
		}
		_, err := events.InsertRows(ctx, tx, "deletion", []string{"project_id", "kind", "id"}, [][]any{{project, t.Table, id}})
		return err
	})
	if err != nil {
		return err
	}
	return s.sweep(ctx, t.Table, project, id)
}

// sweep deletes what belongs to a document that is deleted, a slice in a transaction, so that others write in between.
func (s *Store) sweep(ctx context.Context, kind string, project int64, id string) error {
	for more := true; more; {
		err := s.ChangeDocs(ctx, 0, "delete from "+kind, func(ctx context.Context, tx *events.Commit) (err error) {
			if more, err = sweeps[kind](ctx, tx, project, id); err != nil || more {
				return err
			}
			_, err = tx.Exec(ctx, `DELETE FROM deletion WHERE project_id = $1 AND kind = $2 AND id = $3`, project, kind, id)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// FinishDeletions sweeps what was left undone, also by a process that ended: when the store is opened, and every ten minutes.
// It takes 1000 at a time and ends at the first error, which is logged: the next round begins again. Kinds that it does not
// know are left alone: requests to erase names from field indexes, and staged rows of datasets, which the next change of datasets
// takes back.
func (s *Store) FinishDeletions(ctx context.Context) {
	type left struct {
		project  int64
		kind, id string
	}
	var list []left
	err := sqldb.Each(ctx, s.db, `SELECT project_id, kind, id
		FROM deletion
		WHERE kind <> $1
		ORDER BY project_id, kind, id LIMIT 1000`, []any{events.DeletedNames}, func(scan func(...any) error) error {
		var l left
		err := scan(&l.project, &l.kind, &l.id)
		list = append(list, l)
		return err
	})
	for _, l := range list {
		switch {
		case err != nil:
		case l.kind == events.DeletedSession:
			err = s.events.FinishDeletion(ctx, l.project, uuid.MustParse(l.id))
		case sweeps[l.kind] != nil:
			err = s.sweep(ctx, l.kind, l.project, l.id)
		}
	}
	if err != nil && ctx.Err() == nil {
		s.options.Logger.Warn("finish deletions", zap.Error(err))
	}
}

// documentTables are all tables of resources, with the columns of their keys but project_id. A project's deletion goes through
// them; a test compares them with the schema.
var documentTables = []struct{ table, key string }{
	{"dataset", "id"},
	{"dataset_row", "dataset_id, pos, from_version"},
	{"datapoint", "id"},
	{"configuration", "id"},
	{"tool", "id"},
	{"chart", "id"},
	{"saved_view", "id"},
	{"event_comment", "id"},
	{"dashboard", "id"},
	{"alert", "id"},
	{"alert_change", "alert_id, id"},
	{"alert_notice", "alert_id, id"},
	{"run", "id"},
	{"metric", "id"},
	{"metric_version", "metric_id, number"},
	{"backfill", "id"},
	{"provider", "id"},
	{"queue", "id"},
	{"queue_item", "queue_id, event_id"},
	{"queue_turn", "queue_id, event_id, annotator"},
	{"document_version", "kind, id, version"},
	{"deletion", "kind, id"},
	{"bulk_deletion", "id"},
	{"bulk_deletion_part", "deletion_id, number"},
}
