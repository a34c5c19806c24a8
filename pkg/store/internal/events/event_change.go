package events

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/store/internal/bloom"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// Change runs f in the writer and waits for its commit. f may run more than once (see writer.Request): whatever it sets
// outside of itself, it sets anew each time. id is the event or session that is changed, by which the writer is
// chosen; uuid.Nil for all that is not telemetry. size is about how many bytes wait in the queue for it.
func (s *Store) Change(ctx context.Context, project int64, id uuid.UUID, size int64, f func(context.Context, *Commit) error) error {
	if err := s.takeQueue(ctx, size); err != nil {
		return err
	}
	return s.pool.Submit(ctx, s.writerOfEvent(ctx, project, id), &writer.Request[*Commit]{Apply: f, Bytes: size})
}

// writerOfEvent returns the number of the writer for an event's session, so that writers seldom wait
// for one another's rows; for an unknown event, that of its own id. Where there are several writers,
// the last one writes everything but telemetry (id is uuid.Nil), so that no event waits for it.
func (s *Store) writerOfEvent(ctx context.Context, project int64, id uuid.UUID) int {
	if s.db.Exclusive() || id == uuid.Nil {
		return s.pool.Count() - 1
	}
	var session uuid.UUID
	if ok, err := sqldb.One(ctx, s.db.Quick(), `SELECT `+s.Dialect.SessionID()+`
		FROM `+s.Dialect.From()+`
		WHERE e.event_id = $1 AND e.project_id = $2`,
		[]any{s.db.ID(id), project}, sqldb.ScanID(&session)); err == nil && ok {
		return s.writerOf(session)
	}
	if to, ok, err := AliasOf(ctx, s.db.Quick(), project, id); err == nil && ok {
		return s.writerOf(to)
	}
	return s.writerOf(id)
}

// writerOf returns the number of the writer for a session. The same session always has the same one.
func (s *Store) writerOf(id uuid.UUID) int {
	return int(bloom.Hash(id)[0] % uint64(max(s.pool.Count()-1, 1)))
}

// takeQueue reserves room in the queues, and counts a request that is refused.
func (s *Store) takeQueue(ctx context.Context, size int64) error {
	err := s.pool.Take(size)
	if err != nil {
		s.telemetry.refused(ctx)
	}
	return err
}
