package resource

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/store/internal/events"
)

// When keys were last used, columns of api_key, so that who revokes one can see what that would stop. Uses are noted in memory
// and written once a minute: a request costs no statement. A server that is killed loses the last minute's.

// maxKeyUses bounds the keys that are noted between two writes; uses of others are not noted until the next.
const maxKeyUses = 10_000

// keyUse is the last use of a key.
type keyUse struct {
	at   int64 // Unix milliseconds
	from string
}

// keyUses are the uses that were not written yet, by the id of the key.
type keyUses struct {
	mu sync.Mutex
	m  map[string]keyUse
}

// RecordKeyUse notes that a request with a key was admitted. from is the address of its connection.
func (s *Store) RecordKeyUse(id string, at time.Time, from string) {
	u := &s.keyUses
	u.mu.Lock()
	defer u.mu.Unlock()
	last, ok := u.m[id]
	if ms := at.UnixMilli(); ms > last.at && (ok || len(u.m) < maxKeyUses) {
		if u.m == nil {
			u.m = map[string]keyUse{}
		}
		u.m[id] = keyUse{ms, from}
	}
}

// FlushKeyUses writes the uses that wait. If that fails the server's log says so, and they are lost.
func (s *Store) FlushKeyUses(ctx context.Context) {
	s.keyUses.mu.Lock()
	uses := s.keyUses.m
	s.keyUses.m = nil
	s.keyUses.mu.Unlock()
	if len(uses) == 0 {
		return
	}
	err := s.ChangeDocs(ctx, 0, "store when keys were last used", func(ctx context.Context, tx *events.Commit) error {
		for _, id := range slices.Sorted(maps.Keys(uses)) { // in one order, so that two servers do not wait for each other
			if _, err := tx.Exec(ctx, `UPDATE api_key SET last_used_ms = $2, last_used_from = $3 WHERE id = $1 AND last_used_ms < $2`,
				id, uses[id].at, uses[id].from); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		s.options.Logger.Warn("store when keys were last used", zap.Error(err))
	}
}
