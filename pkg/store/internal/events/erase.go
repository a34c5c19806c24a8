package events

import (
	"context"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Pauses of what erases deleted text from files: before a try after one that failed, and between two looks for deletions under way; between two
// passes, as a multiple of the time that the last one took; and at most.
const (
	eraseAgain    = time.Second
	erasePart     = 10
	maxErasePause = 10 * time.Minute
)

// changeTx runs f in a transaction of the writer of all that is not telemetry. It is a sqldb.Changer.
func (s *Store) changeTx(ctx context.Context, f func(context.Context, sqldb.Tx) error) error {
	return s.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *Commit) error { return f(ctx, tx.Tx) })
}

// erasing removes what was deleted from the database's files until ctx ends, beginning with what the
// last process left. After each pass it rests for ten times as long as that took, at most maxErasePause.
func (s *Store) erasing(ctx context.Context) {
	if s.db.EraseDue() == nil {
		return // the files are not the store's own
	}
	for {
		s.awaitDeletions(ctx)
		start := time.Now()
		err := s.db.Erase(ctx, s.dropDeleted, s.changeTx)
		pause := min(erasePart*time.Since(start), maxErasePause)
		if err != nil && ctx.Err() == nil {
			s.options.Logger.Warn("erase deleted data from files", zap.Error(err))
			pause = max(pause, eraseAgain)
		}
		if !sleep(ctx, pause) {
			return
		}
		if err != nil {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-s.db.EraseDue():
		}
	}
}

// awaitDeletions waits until no deletion of sessions or of names is under way, at most maxErasePause: what is deleted while a pass is under way takes
// another pass.
func (s *Store) awaitDeletions(ctx context.Context) {
	for end := time.Now().Add(maxErasePause); time.Now().Before(end); {
		var n int
		going, err := sqldb.One(ctx, s.db.Quick(), `SELECT 1 FROM deletion WHERE kind = $1 OR kind = $2 LIMIT 1`, []any{DeletedSession, DeletedNames}, &n)
		if err != nil || !going || !sleep(ctx, eraseAgain) {
			return
		}
	}
}
