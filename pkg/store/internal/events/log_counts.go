package events

import (
	"context"
	"sync/atomic"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// logCounts counts rows of log parts, so that a process that is the only writer knows whether there
// are any to look for. With other writers it may lag behind, and only serves for bounds.
type logCounts struct {
	waiting      atomic.Int64 // rows whose event has not come
	withResponse atomic.Int64 // rows that name a response
}

// logCountsDelta is what a transaction adds to logCounts.
type logCountsDelta struct{ waiting, withResponse int64 }

func (c *logCounts) add(d logCountsDelta) {
	c.waiting.Add(d.waiting)
	c.withResponse.Add(d.withResponse)
}

// logsWaiting reports whether log parts may be waiting for events.
func (s *Store) logsWaiting() bool { return !s.db.Exclusive() || s.logCounts.waiting.Load() > 0 }

// logsNameResponses reports whether there may be log parts that name a response.
func (s *Store) logsNameResponses() bool {
	return !s.db.Exclusive() || s.logCounts.withResponse.Load() > 0
}

// loadLogCounts counts the rows.
func (s *Store) loadLogCounts(ctx context.Context) error {
	var waiting, addressed int64
	if _, err := sqldb.One(ctx, s.db, `SELECT count(*) FROM log_part WHERE event_id IS NULL`, nil, &waiting); err != nil {
		return err
	}
	if _, err := sqldb.One(ctx, s.db, `SELECT count(*) FROM log_part WHERE response_id IS NOT NULL`, nil, &addressed); err != nil {
		return err
	}
	s.logCounts.waiting.Store(waiting)
	s.logCounts.withResponse.Store(addressed)
	return nil
}
