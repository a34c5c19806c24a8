package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/project"
)

// change runs f in the writer and waits for its commit. f may run more than once (see writeRequest.apply).
func (s *Store) change(ctx context.Context, project int64, id uuid.UUID, size int64, f func(context.Context, *commit) error) error {
	if err := s.takeQueue(ctx, size); err != nil {
		return err
	}
	return s.pool.submit(ctx, s.writerOfEvent(ctx, project, id), &writeRequest[*commit]{apply: f, bytes: size})
}

// writerOfEvent returns the number of the writer for an event's session, so that writers seldom wait
// for one another's rows; for an unknown event, that of its own id. Where there are several writers,
// the last one writes everything but telemetry (id is uuid.Nil), so that no event waits for it.
func (s *Store) writerOfEvent(ctx context.Context, project int64, id uuid.UUID) int {
	if s.db.exclusive() || id == uuid.Nil {
		return s.pool.count() - 1
	}
	var session uuid.UUID
	if ok, err := one(ctx, s.db.quick(), `SELECT `+s.dialect.SessionID()+`
		FROM `+s.dialect.From()+`
		WHERE e.event_id = $1 AND e.project_id = $2`,
		[]any{s.db.id(id), project}, scanID(&session)); err == nil && ok {
		return s.writerOf(session)
	}
	if to, ok, err := aliasOf(ctx, s.db.quick(), project, id); err == nil && ok {
		return s.writerOf(to)
	}
	return s.writerOf(id)
}

func (s *Store) writerOf(id uuid.UUID) int {
	return int(hashID(id)[0] % uint64(max(s.pool.count()-1, 1)))
}

// takeQueue reserves room in the queues, and counts a request that is refused.
func (s *Store) takeQueue(ctx context.Context, size int64) error {
	err := s.pool.take(size)
	if err != nil {
		s.telemetry.refused(ctx)
	}
	return err
}

// hooks are what the storage of events asks of the parts that build on it.
type hooks struct {
	// limits returns the effective limits of a project.
	limits func(ctx context.Context, project int64) (project.Bounds, error)
	// runSessions returns the sessions that a run lists, none if there is no such run.
	runSessions func(ctx context.Context, project int64, runID string) ([]uuid.UUID, error)
	// scoreNames lists the members of an event's metrics that the server or people gave.
	scoreNames func(ctx context.Context, c conn, project int64, event uuid.UUID) ([]string, error)
	// eraseOf deletes what is recorded of events that are deleted.
	eraseOf func(ctx context.Context, tx *commit, project int64, events []uuid.UUID) error
}
