package events

import (
	"context"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// A session may move: its events came under a provisional id, made from their trace, and then a span names the session that the
// trace belongs to. The former id stays good as an alias, since answers have given it out, and senders and links go on using
// it. Reads follow an alias where they find nothing under an id; writes follow it before anything else (resolveAliases), so
// that no event is ever stored under an id that has moved.

// aliasFlag records whether any session id ever moved, to avoid the look-up where none did.
type aliasFlag struct {
	mu  sync.RWMutex
	has bool
}

func (a *aliasFlag) any() bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.has
}

func (a *aliasFlag) set() {
	a.mu.Lock()
	a.has = true
	a.mu.Unlock()
}

// load reads it from the database; with other writers it is always set.
func (a *aliasFlag) load(ctx context.Context, db sqldb.DB) error {
	var n int
	ok, err := sqldb.One(ctx, db, `SELECT 1 FROM alias LIMIT 1`, nil, &n)
	a.has = ok || db.Writers() > 1
	return err
}

// MayHaveMoved reports whether any session may have another id than it once had.
func (s *Store) MayHaveMoved() bool { return s.aliases.any() }

// AliasOf follows a session id that has moved to the session it moved to; ok is false, and to is id, if it has not moved.
func AliasOf(ctx context.Context, c sqldb.Conn, project int64, id uuid.UUID) (to uuid.UUID, ok bool, err error) {
	moved, err := AliasesOf(ctx, c, project, []uuid.UUID{id})
	if to, ok = moved[id]; !ok {
		to = id
	}
	return to, ok, err
}

// AliasesOf follows session ids to the sessions they moved to. Those that have not moved are not in the result.
func AliasesOf(ctx context.Context, c sqldb.Conn, project int64, ids []uuid.UUID) (map[uuid.UUID]uuid.UUID, error) {
	targets := map[uuid.UUID]uuid.UUID{} // one step on
	next := ids
	for range aliasSteps {
		var found []uuid.UUID
		for group := range slices.Chunk(next, sqldb.IDsPerQuery) {
			cond, args := c.AnyID("session_id", 2, group)
			err := sqldb.Each(ctx, c, `SELECT session_id, target FROM alias WHERE project_id = $1 AND `+cond, append([]any{project}, args...),
				func(scan func(...any) error) error {
					var from, to uuid.UUID
					err := scan(sqldb.ScanID(&from), sqldb.ScanID(&to))
					targets[from] = to
					found = append(found, to)
					return err
				})
			if err != nil {
				return nil, err
			}
		}
		if next = found; len(next) == 0 {
			break
		}
	}
	moved := map[uuid.UUID]uuid.UUID{}
	for _, id := range ids {
		to := id
		for range aliasSteps {
			step, ok := targets[to]
			if !ok {
				break
			}
			to, moved[id] = step, step
		}
	}
	return moved, nil
}

// aliasSteps is how many aliases are followed: an alias of an alias is rare, a ring of them impossible.
const aliasSteps = 8

// resolveAliases follows session ids that were given out and have moved since: a sender that got the id of a provisional
// session in an answer may go on using it.
func (w *writing) resolveAliases(ctx context.Context, tx *Commit, groups []*eventGroup) error {
	if !w.s.aliases.any() {
		return nil
	}
	byProject := map[int64][]uuid.UUID{}
	for _, g := range groups {
		byProject[g.project] = append(byProject[g.project], g.session)
	}
	moved := map[int64]map[uuid.UUID]uuid.UUID{}
	for project, ids := range byProject {
		var err error
		if moved[project], err = AliasesOf(ctx, tx, project, ids); err != nil {
			return err
		}
	}
	for _, g := range groups {
		from := g.session
		to, ok := moved[g.project][from]
		if !ok {
			continue
		}
		g.moveTo(to)
		for _, h := range g.heads {
			if h.ev.ID == from { // the session event itself, under the id that moved
				h.ev.ID = to
				h.known = true
			}
		}
	}
	return nil
}
