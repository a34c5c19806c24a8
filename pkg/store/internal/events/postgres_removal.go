package events

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// Where chunks are distributed (ADR 029) they stand on other servers than the rows that name them. A transaction that no longer names some of
// them records their ids, and they are deleted here once it has committed. So each chunk that a row names is there at any moment, also if a
// server fails in the middle of a commit.

const (
	// removalRows bounds the chunks of one transaction.
	removalRows = 200
	// removalEvery is how often the list is looked at, for what another server has left there or could not be deleted at once.
	removalEvery = 10 * time.Second
	// maxUnused is how many chunks are found at most that no event names.
	maxUnused = 100_000
)

// chunkRemoval deletes chunks after the transactions that no longer name them. It is nil where they do it themselves.
type chunkRemoval struct {
	s    *Store
	db   *sqldb.Postgres
	kick chan struct{} // holds one: a transaction has recorded some
}

func newChunkRemoval(s *Store, bulk Bulk) *chunkRemoval {
	b, ok := bulk.(*postgresBulk)
	if !ok || !b.db.Distributed() {
		return nil
	}
	return &chunkRemoval{s: s, db: b.db, kick: make(chan struct{}, 1)}
}

// add records chunks, which are of some days.
func (r *chunkRemoval) add(ctx context.Context, tx *Commit, days []int32, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	tx.removes = true
	_, err := tx.Exec(ctx, `INSERT INTO `+sqldb.RemovedTable+`(id, days)
		SELECT unnest($1::bigint[]), $2::integer[]
		ON CONFLICT DO NOTHING`, ids, days)
	return err
}

// committed begins a pass now.
func (r *chunkRemoval) committed() {
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// alone makes a transaction the only one that changes chunks. Not ok if it cannot be now.
func (r *chunkRemoval) alone(ctx context.Context, tx *Commit) (ok bool, err error) {
	return r.db.ChangeChunks(ctx, tx.Tx)
}

// run deletes recorded chunks until ctx ends.
func (r *chunkRemoval) run(ctx context.Context) {
	for ctx.Err() == nil {
		more, err := r.some(ctx)
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, writer.ErrClosed) { // the store is being closed
				r.s.options.Logger.Warn("delete payloads that no event has any more; it is tried again", zap.Error(err))
			}
			sleep(ctx, removalEvery)
			continue
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
		case <-r.kick:
		case <-time.After(removalEvery):
		}
	}
}

// some deletes some of the recorded chunks, and reports whether there may be others.
func (r *chunkRemoval) some(ctx context.Context) (more bool, err error) {
	var n int
	if any, err := sqldb.One(ctx, r.db.Quick(), `SELECT 1 FROM `+sqldb.RemovedTable+` LIMIT 1`, nil, &n); err != nil || !any {
		return false, err
	}
	err = r.s.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *Commit) error {
		more = false
		if ok, err := r.alone(ctx, tx); err != nil || !ok {
			return err
		}
		var ids []int64
		days := map[int32]bool{}
		err := sqldb.Each(ctx, tx, `SELECT id, days FROM `+sqldb.RemovedTable+` ORDER BY id LIMIT $1`, []any{removalRows}, func(scan func(...any) error) error {
			var id int64
			var of []int32
			err := scan(&id, &of)
			ids = append(ids, id)
			for _, day := range of {
				days[day] = true
			}
			return err
		})
		if err != nil || len(ids) == 0 {
			return err
		}
		more = len(ids) == removalRows
		if err := r.s.deleteChunks(ctx, tx, slices.Sorted(maps.Keys(days)), ids); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM `+sqldb.RemovedTable+` WHERE id = ANY($1)`, ids)
		return err
	})
	return more, err
}

// unused counts the chunks that neither an event nor another chunk names, and their bytes, up to maxUnused. Those that are to be deleted are left out, and
// those of transactions that are under way.
func (r *chunkRemoval) unused(ctx context.Context) (n, bytes int64, err error) {
	found := map[int64]int64{} // bytes by id
	err = sqldb.Each(ctx, r.db, `SELECT c.id, CAST(octet_length(c.data) AS bigint)`+fromUnused+`
		ORDER BY c.id LIMIT $1`, []any{maxUnused}, func(scan func(...any) error) error {
		var id, size int64
		err := scan(&id, &size)
		found[id] = size
		return err
	})
	if err != nil || len(found) == 0 {
		return 0, 0, err
	}
	if err := r.s.bulk.settle(ctx); err != nil {
		return 0, 0, err
	}
	ids := slices.Collect(maps.Keys(found))
	for group := range slices.Chunk(ids, sqldb.IDsPerQuery) {
		for _, named := range []string{`SELECT chunk FROM event WHERE chunk = ANY($1)`, `SELECT pack FROM chunk WHERE pack = ANY($1)`, `SELECT id FROM ` + sqldb.RemovedTable + ` WHERE id = ANY($1)`} {
			err := sqldb.Each(ctx, r.db, named, []any{group}, func(scan func(...any) error) error {
				var id int64
				err := scan(&id)
				delete(found, id)
				return err
			})
			if err != nil {
				return 0, 0, err
			}
		}
	}
	for _, size := range found {
		bytes += size
	}
	return int64(len(found)), bytes, nil
}
