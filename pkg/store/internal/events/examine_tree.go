package events

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// links are the parents of the events of one session.
type links struct {
	session uuid.UUID
	parents map[uuid.UUID]uuid.UUID // by event
	days    map[uuid.UUID]int32     // by event with a parent
}

func newLinks(session uuid.UUID) *links {
	return &links{session, map[uuid.UUID]uuid.UUID{}, map[uuid.UUID]int32{}}
}

func (l *links) add(e *Stored) {
	if e.IsSession() {
		return
	}
	l.parents[e.ID] = e.ParentID
	if e.ParentID != l.session {
		l.days[e.ID] = e.Day
	}
}

// cycle returns an event that is below itself; the zero id if there is none.
func (l *links) cycle() uuid.UUID {
	done := map[uuid.UUID]bool{}
	for id := range l.parents {
		way := map[uuid.UUID]bool{}
		for at := id; !done[at]; {
			if way[at] {
				return at
			}
			way[at] = true
			up, ok := l.parents[at]
			if !ok {
				break
			}
			at = up
		}
		for at := range way {
			done[at] = true
		}
	}
	return uuid.Nil
}

// strayLookups is how many parents of a session are looked for elsewhere. Most that are not in the session were never sent.
const strayLookups = 1000

// parentsElsewhere returns the events whose parent is stored, on a day close to theirs, in another session. A parent that is not stored at all
// is nothing wrong: it may come yet, or was never sent.
func (s *Store) parentsElsewhere(ctx context.Context, c sqldb.Conn, project int64, l *links) (list []uuid.UUID, err error) {
	children := map[uuid.UUID][]uuid.UUID{} // by parent
	days := map[int32][]uuid.UUID{}         // parents by day
	n := 0
	for id, day := range l.days {
		parent := l.parents[id]
		if _, here := l.parents[parent]; here || n == strayLookups {
			continue
		}
		if children[parent] == nil {
			n++
			for d := day - 1; d <= day+1; d++ {
				days[d] = append(days[d], parent)
			}
		}
		children[parent] = append(children[parent], id)
	}
	for day, parents := range days {
		for group := range slices.Chunk(parents, sqldb.IDsPerQuery) {
			cond, args := c.AnyID("event_id", 3, group)
			err := sqldb.Each(ctx, c, `SELECT event_id FROM event WHERE project_id = $1 AND day = $2 AND `+cond,
				append([]any{project, day}, args...), func(scan func(...any) error) error {
					var id uuid.UUID
					err := scan(sqldb.ScanID(&id))
					list = append(list, children[id]...)
					return err
				})
			if err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}
