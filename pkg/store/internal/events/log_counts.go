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

// logCountsDelta is what a transaction adds to logCounts, or what they are.
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

// set replaces the counts.
func (c *logCounts) set(d logCountsDelta) {
	c.waiting.Store(d.waiting)
	c.withResponse.Store(d.withResponse)
}

// readLogCounts counts the rows, each kind by an index that has no others.
func readLogCounts(ctx context.Context, c sqldb.Conn) (*logCountsDelta, error) {
	var n logCountsDelta
	if _, err := sqldb.One(ctx, c, `SELECT count(*) FROM log_part WHERE event_id IS NULL`, nil, &n.waiting); err != nil {
		return nil, err
	}
	_, err := sqldb.One(ctx, c, `SELECT count(*) FROM log_part WHERE response_id IS NOT NULL`, nil, &n.withResponse)
	return &n, err
}
