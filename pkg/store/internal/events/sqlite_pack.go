package events

import (
	"context"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// unpacked lists sessions from the oldest on. There is no index of times: the table has the sessions that were written lately, and
// those that are due stand first in it. A session that is not there any more has no id.
func (b *sqliteBulk) unpacked(ctx context.Context, before int64, limit int) (list []looseSession, err error) {
	err = sqldb.Each(ctx, b.db, `SELECT u.session, u.project_id, s.session_id, u.written_ms
		FROM unpacked u LEFT JOIN session s ON s.session_rowid = u.session
		WHERE u.written_ms <= $1 LIMIT $2`, []any{before, limit}, func(scan func(...any) error) error {
		var row int64
		l := looseSession{}
		err := scan(&row, &l.project, sqldb.ScanID(&l.id), &l.written)
		l.key = row
		list = append(list, l)
		return err
	})
	return list, err
}

// addUnpacked overwrites all of a row that is there: the row's number may have been that of another session, of another project, which is gone.
func (t *sqliteBulkTx) addUnpacked(ctx context.Context, sessions []writer.Key, ms int64) error {
	for _, k := range sessions {
		if _, err := t.Exec(ctx, `INSERT INTO unpacked(session, project_id, written_ms)
			SELECT session_rowid, project_id, $3
			FROM session
			WHERE project_id = $1 AND session_id = $2
			ON CONFLICT (session) DO UPDATE SET project_id = excluded.project_id, written_ms = excluded.written_ms`, k.Project, k.ID[:], ms); err != nil {
			return err
		}
	}
	return nil
}

// packChunks deletes the rows and inserts them anew: only a deletion makes SQLite join pages that have little left on them, and
// a row that is made smaller where it stands would keep its page.
func (t *sqliteBulkTx) packChunks(ctx context.Context, _ int32, pack int64, ids []int64, places [][]byte) error {
	for _, id := range ids {
		if _, err := t.Exec(ctx, `DELETE FROM chunk WHERE id = $1`, id); err != nil {
			return err
		}
	}
	for i, id := range ids {
		if _, err := t.Exec(ctx, `INSERT INTO chunk(id, data, pack) VALUES ($1, $2, $3)`, id, places[i], pack); err != nil {
			return err
		}
	}
	return nil
}
