package events

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/sessiontree"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// loadTree reads a session's tree from the columns of its spans' rows: at most MaxSpans of them, the newest ones, which are
// those that spans to come may hang on. No payload is read, but that of events which are marked as
// duplicates: of which event one is a duplicate stands in its metadata alone.
func (s *Store) loadTree(ctx context.Context, tx *Commit, key writer.Key) (*sessiontree.Tree, error) {
	k := &sessiontree.Tree{}
	var marked []uuid.UUID
	err := sqldb.Each(ctx, tx, `SELECT event_id, parent_id, trace_hash, start_ms, end_ms, type, spill, duplicate_key, span_id FROM event
		WHERE `+s.Dialect.OfSession()+` AND trace_hash IS NOT NULL ORDER BY start_ms DESC, event_id LIMIT $3`,
		[]any{key.Project, tx.ID(key.ID), sessiontree.MaxSpans}, func(scan func(...any) error) error {
			var n sessiontree.Node
			var typ, spill int
			var duplicate []byte
			var span uuid.UUID
			if err := scan(sqldb.ScanID(&n.ID), sqldb.ScanID(&n.Parent), &n.Trace, &n.Start, &n.End, &typ, &spill, &duplicate, sqldb.ScanID(&span)); err != nil {
				return err
			}
			n.Flags = sessiontree.Flags(query.TypeOf(typ), spill)
			n.SetDuplicateKey(duplicate)
			if n.Flags&sessiontree.Duplicate != 0 {
				marked = append(marked, n.ID)
			}
			k.Add(n, span)
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("read the tree of session %s: %w", key.ID, err)
	}
	k.Partial = len(k.Nodes) == sessiontree.MaxSpans
	slices.Reverse(k.Nodes) // oldest first: those are left out when it grows
	k.Reindex()
	// One read for each duplicate. They are few: only calls that two instrumentations reported have any.
	for _, id := range marked {
		e, err := s.Find(ctx, tx, key.Project, id)
		if fault.IsNotFound(err) {
			return nil, sqldb.ErrConflict // deleted since
		}
		if err != nil {
			return nil, fmt.Errorf("read duplicate %s: %w", id, err)
		}
		k.SetDuplicate(id, e.DuplicateOf())
	}
	return k, nil
}
