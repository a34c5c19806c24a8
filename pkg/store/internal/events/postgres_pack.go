package events

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

func (b *postgresBulk) unpacked(ctx context.Context, before int64, limit int) (list []looseSession, err error) {
	err = sqldb.Each(ctx, b.db, `SELECT project_id, session, written_ms
		FROM unpacked
		WHERE written_ms <= $1 LIMIT $2`, []any{before, limit}, func(scan func(...any) error) error {
		l := looseSession{}
		err := scan(&l.project, sqldb.ScanID(&l.id), &l.written)
		l.key = b.db.ID(l.id)
		list = append(list, l)
		return err
	})
	return list, err
}

func (t *postgresBulkTx) addUnpacked(ctx context.Context, sessions []writer.Key, ms int64) error {
	project, id := make([]int64, len(sessions)), make([]uuid.UUID, len(sessions))
	for i, k := range sessions {
		project[i], id[i] = k.Project, k.ID
	}
	_, err := t.Exec(ctx, `INSERT INTO unpacked(project_id, session, written_ms)
		SELECT *, $3::bigint FROM unnest($1::bigint[], $2::uuid[])
		ON CONFLICT (project_id, session) DO UPDATE SET written_ms = excluded.written_ms`, project, sqldb.IDArray(id), ms)
	return err
}

// packChunks changes the rows where they stand: a deletion that waits for one of them then finds it in its pack.
func (t *postgresBulkTx) packChunks(ctx context.Context, day int32, pack int64, ids []int64, places [][]byte) error {
	_, err := t.Exec(ctx, `UPDATE chunk SET data = p.data, pack = $2
		FROM unnest($3::bigint[], $4::bytea[]) AS p(id, data)
		WHERE chunk.id = p.id AND chunk.day = $1`, day, pack, ids, places)
	return err
}
