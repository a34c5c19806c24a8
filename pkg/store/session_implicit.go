package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// userGiven is session.user_ms where an update has set the user: no event's user comes before it.
const userGiven = noLast

// refreshImplicitSession recomputes the name, source, resource and user of an implicit session's event
// after its events changed or were deleted: resource and source are those of the first root, or else of
// the first event; a name that was the service's is renewed; the user is that of the first event with one.
func (s *Store) refreshImplicitSession(ctx context.Context, tx writeTx, project int64, now *event.Event, rank int) error {
	key := []any{project, tx.id(now.ID)}
	below := ` FROM ev WHERE ` + s.db.frag().bySession + ` AND event_id <> $2`
	var id uuid.UUID
	var day int32
	var root bool
	ok, err := one(ctx, tx, `SELECT event_id, day, parent_id IS NULL`+below+` ORDER BY CASE WHEN parent_id IS NULL THEN 0 ELSE 1 END, start_ms, event_id LIMIT 1`,
		key, scanID{&id}, &day, &root)
	if err != nil || !ok {
		return err
	}
	first, err := s.load(ctx, tx, project, day, id)
	if err != nil && fault.Of(err) == fault.NotFound {
		return errConflict
	}
	if err != nil {
		return err
	}
	hint := hintOf(&first.Event)
	now.Source = first.Source
	now.ColdMetadata = rawjson.Merge(now.ColdMetadata, without(hint.Metadata, now.Metadata))
	if rank != rankHint { // what gave the name may be gone
		was := rank
		switch {
		case root && first.Name != event.Unknown:
			now.Name, rank = first.Name, rankRoot
		case hint.Fallback != "":
			now.Name, rank = hint.Fallback, rankFallback
		}
		if rank != was {
			if _, err := tx.exec(ctx, `UPDATE session SET name_rank = $3 WHERE project_id = $1 AND session_id = $2`, project, tx.id(now.ID), rank); err != nil {
				return err
			}
		}
	}
	var was *float64
	if _, err := one(ctx, tx, `SELECT user_ms FROM session WHERE project_id = $1 AND session_id = $2`, key, &was); err != nil {
		return err
	}
	if was == nil || *was == userGiven {
		return nil
	}
	var user string
	var ms *float64
	if _, err := one(ctx, tx, `SELECT user_id, start_ms`+below+` AND user_id IS NOT NULL ORDER BY start_ms, event_id LIMIT 1`, key, &user, &ms); err != nil {
		return err
	}
	if _, err := tx.exec(ctx, `UPDATE session SET user_ms = $3 WHERE project_id = $1 AND session_id = $2`, project, tx.id(now.ID), ms); err != nil {
		return err
	}
	now.UserProperties = without(now.UserProperties, []byte(`{"user_id":null}`))
	if ms != nil {
		var b rawjson.Builder
		b.String("user_id", user)
		now.UserProperties = rawjson.Merge(now.UserProperties, b.Bytes())
	}
	return nil
}
