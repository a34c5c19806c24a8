package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/query"
)

// loadTree reads a session's tree: of its newest spans, if there are too many.
func (s *Store) loadTree(ctx context.Context, tx *commit, key idKey) (*sessionTree, error) {
	k := &sessionTree{}
	var marked []uuid.UUID
	err := each(ctx, tx, `SELECT event_id, parent_id, trace_hash, start_ms, end_ms, type, spill, duplicate_key, span_id FROM event
		WHERE `+s.dialect.OfSession()+` AND trace_hash IS NOT NULL ORDER BY start_ms DESC, event_id LIMIT $3`,
		[]any{key.project, tx.id(key.id), maxTreeSpans}, func(scan func(...any) error) error {
			var n node
			var typ, spill int
			var duplicate []byte
			var span uuid.UUID
			if err := scan(scanID(&n.id), scanID(&n.parent), &n.trace, &n.start, &n.end, &typ, &spill, &duplicate, scanID(&span)); err != nil {
				return err
			}
			n.flags = nodeFlags(query.TypeOf(typ), spill)
			n.setDuplicateKey(duplicate)
			if n.flags&nodeDuplicate != 0 {
				marked = append(marked, n.id)
			}
			k.add(n, span)
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("read the tree of session %s: %w", key.id, err)
	}
	k.partial = len(k.nodes) == maxTreeSpans
	slices.Reverse(k.nodes) // oldest first: those are left out when it grows
	k.reindex()
	for _, id := range marked {
		e, err := s.find(ctx, tx, key.project, id)
		if err != nil {
			return nil, fmt.Errorf("read duplicate %s: %w", id, err)
		}
		k.setDuplicate(id, e.DuplicateOf())
	}
	return k, nil
}
