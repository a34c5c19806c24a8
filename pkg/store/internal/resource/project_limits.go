package resource

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Bounds of what is remembered of limits: for how many projects, and for how long a change that
// another server made may go unseen.
const (
	limitEntries = 4096
	limitTTL     = 3 * time.Second
)

// limitCache caches the effective limits of projects, which each write asks for. What is remembered is used as long as no key or
// project was changed here, and on PostgreSQL for limitTTL at most.
type limitCache struct {
	cache *lru.Cache[int64, knownLimits]
}

type knownLimits struct {
	bounds   project.Bounds
	until    time.Time
	revision uint64
}

func newLimits() *limitCache {
	cache, _ := lru.New[int64, knownLimits](limitEntries) // fails for sizes below 1 only
	return &limitCache{cache}
}

// DefaultLimits returns the limits of projects that set none of their own.
func (s *Store) DefaultLimits() project.Bounds { return *s.options.Limits }

// ProjectLimits returns the effective limits of a project: its own, and Options.Limits where it has
// none.
func (s *Store) ProjectLimits(ctx context.Context, projectID int64) (project.Bounds, error) {
	// Read before the row: a change between the two makes what is remembered here old.
	now, revision := time.Now(), s.KeysRevision()
	alone := s.db.Exclusive() // no other server changes anything
	if k, ok := s.limits.cache.Get(projectID); ok && k.revision == revision && (alone || now.Before(k.until)) {
		return k.bounds, nil
	}
	own, err := s.OwnLimits(ctx, projectID)
	if err != nil {
		return project.Bounds{}, err
	}
	b := own.Over(*s.options.Limits)
	s.limits.cache.Add(projectID, knownLimits{b, now.Add(limitTTL), revision})
	return b, nil
}

// OwnLimits returns the limits that were set for a project.
func (s *Store) OwnLimits(ctx context.Context, projectID int64) (project.Limits, error) {
	l, err := limitsOf(ctx, s.db.Quick(), projectID, "")
	return l, sqldb.WrapError(s.db, err, "read limits")
}

// ChangeLimits changes the limits of a project, all of what change does or, if it returns an error,
// nothing, and returns the updated ones. change may run more than once, each time with what is stored then.
func (s *Store) ChangeLimits(ctx context.Context, projectID int64, change func(*project.Limits) error) (l project.Limits, err error) {
	err = s.changeKeys(ctx, func(ctx context.Context, tx *events.Commit) (err error) {
		if l, err = limitsOf(ctx, tx, projectID, tx.ForUpdate("")); err != nil {
			return err
		}
		if err := change(&l); err != nil {
			return err
		}
		text, err := json.Marshal(&l)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE project
			SET limits = $2, updated_ms = $3
			WHERE id = $1`, projectID, string(text), s.options.Now().UnixMilli())
		return err
	})
	return l, err
}

func limitsOf(ctx context.Context, c sqldb.Conn, projectID int64, end string) (l project.Limits, err error) {
	var text string
	found, err := sqldb.One(ctx, c, `SELECT limits FROM project WHERE id = $1 AND deleted_ms = 0`+end, []any{projectID}, &text)
	switch {
	case err != nil:
		return l, err
	case !found:
		return l, fault.New(fault.NotFound, "no such project")
	}
	return readLimits(text)
}

// readLimits reads limits as a project's row has them: a JSON object of those that it sets, empty for none. What it does not set
// follows the server's defaults, also when those change.
func readLimits(text string) (l project.Limits, err error) {
	if text == "" {
		return l, nil
	}
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return l, fmt.Errorf("limits of a project: %w", err)
	}
	return l, nil
}
