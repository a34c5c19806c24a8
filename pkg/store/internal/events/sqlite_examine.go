package events

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

func (b *sqliteBulk) checks() []diagnosis.Check { return nil }

func (b *sqliteBulk) mends() []diagnosis.Mend { return nil }

// unfindable returns those that neither stand on a day with a filter nor are listed in far_event.
func (b *sqliteBulk) unfindable(ctx context.Context, c sqldb.Conn, project int64, day int32, ids []uuid.UUID) (list []uuid.UUID, err error) {
	var n int
	if filtered, err := sqldb.One(ctx, c, `SELECT 1 FROM id_filter_day WHERE project_id = $1 AND day = $2`, []any{project, day}, &n); err != nil || filtered {
		return nil, err
	}
	for group := range slices.Chunk(ids, sqldb.IDsPerQuery) {
		there := map[uuid.UUID]bool{}
		cond, args := c.AnyID("event_id", 3, group)
		err := sqldb.Each(ctx, c, `SELECT event_id FROM far_event WHERE project_id = $1 AND day = $2 AND `+cond, append([]any{project, day}, args...),
			func(scan func(...any) error) error {
				var id uuid.UUID
				err := scan(sqldb.ScanID(&id))
				there[id] = true
				return err
			})
		if err != nil {
			return nil, err
		}
		for _, id := range group {
			if !there[id] {
				list = append(list, id)
			}
		}
	}
	return list, nil
}

func (b *sqliteBulk) withoutSession() string {
	return `NOT EXISTS (SELECT 1 FROM session AS s WHERE s.session_rowid = e.session_rowid)`
}
