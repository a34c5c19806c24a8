package events

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/store/internal/live"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Watch subscribes to the changes of a session, or of all sessions of a project if session is zero. The session need not be there
// yet. Every commit that ends after Watch has returned is told of, those of other servers on the same database as well.
func (s *Store) Watch(ctx context.Context, project int64, session uuid.UUID) (event.Watch, error) {
	inner, err := s.live.Watch(project, session)
	if err != nil {
		return nil, err
	}
	w := &watch{Watch: inner, s: s, project: project}
	// Subscribed before the look at aliases: a move between the two is then told of, and none is missed.
	if err := w.follow(ctx, session); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// watch is a subscription that follows its session to where it moves.
type watch struct {
	*live.Watch
	s       *Store
	project int64
}

// Take implements event.Watch.
func (w *watch) Take(ctx context.Context) (c event.Change, ok bool, err error) {
	c, ok, err = w.Watch.Take()
	if err != nil || !ok {
		return c, ok, err
	}
	session := w.Session()
	if c.Reset || c.Kind == event.ChangeSession {
		if err := w.follow(ctx, session); err != nil {
			return c, false, err
		}
	}
	if session != uuid.Nil && !c.Reset {
		c.SessionID = w.Session()
	}
	return c, true, nil
}

// follow watches the session that id has moved to, if it has.
func (w *watch) follow(ctx context.Context, id uuid.UUID) error {
	if id == uuid.Nil || !w.s.aliases.any() {
		return nil
	}
	to, moved, err := AliasOf(ctx, w.s.db.Quick(), w.project, id)
	if err != nil {
		return sqldb.WrapError(w.s.db, err, "find where a session has moved")
	}
	if moved {
		w.Follow(to)
	}
	return nil
}
