package events

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Events and chunks of four weeks share a partition. Those of the days around now are made ahead, in the background, all others when they
// are needed. All times more than a year before the store was made share one, the archive, and the window of start times ends
// soon after now: so the number of partitions follows the age of the store and not what is sent.
// Empty ones are dropped.

const (
	// partitionDays is how many days share a partition. A read by session or id alone looks
	// into every partition, at 0.13 ms each (docs/adr/001-four-week-partitions.md).
	partitionDays = sqldb.PartitionDays
	// aheadDays is how many days before its first one a partition is made. The background looks every few minutes, so that
	// also one that fails for days is in time.
	aheadDays = 7
	// partitionLock is the advisory lock under which partitions are made.
	partitionLock = 0x7370616e
)

// dropTimeout is how long dropping a partition waits for those who read or write the table; others
// wait behind it. It is tried again later.
const dropTimeout = "SET LOCAL lock_timeout = '100ms'"

func partitionOf(day int32) int32 { return day / partitionDays }

// listPartitions reads which partitions there are, without the archive. The caller holds b.mu.
func (b *postgresBulk) listPartitions(ctx context.Context) error {
	found := map[int32]bool{}
	err := sqldb.Each(ctx, b.db, `SELECT substr(c.relname, 8)::int FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
		WHERE i.inhparent = 'event'::regclass AND c.relname ~ '^event_d[0-9]+$'`, nil, func(scan func(...any) error) error {
		var day int32
		err := scan(&day)
		found[partitionOf(day)] = true
		return err
	})
	if err == nil {
		b.partitions = found
	}
	return err
}

// ready makes the partitions of days that have none yet, each in its own short transaction. anew
// says that others may have changed them.
func (b *postgresBulk) ready(ctx context.Context, days []int32, anew bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if anew {
		if err := b.listPartitions(ctx); err != nil {
			return err
		}
	}
	for _, day := range days {
		n := partitionOf(day)
		if day < b.archive || b.partitions[n] {
			continue
		}
		if err := b.makePartitions(ctx, n); err != nil {
			return err
		}
		b.partitions[n] = true
	}
	return nil
}

// ahead makes the partitions of today and of aheadDays later, if there are none. Unlike ready it makes them without b.mu, for which each
// commit would wait.
func (b *postgresBulk) ahead(ctx context.Context) error {
	for _, day := range []int32{b.today(), b.today() + aheadDays} {
		n := partitionOf(day)
		b.mu.Lock()
		there := day < b.archive || b.partitions[n]
		b.mu.Unlock()
		if there {
			continue
		}
		if err := b.makePartitions(ctx, n); err != nil {
			return err
		}
		b.mu.Lock()
		b.partitions[n] = true
		b.mu.Unlock()
	}
	return nil
}

// isAhead reports whether a partition is among those that ahead makes.
func (b *postgresBulk) isAhead(n int32) bool {
	return n >= partitionOf(b.today()) && n <= partitionOf(b.today()+aheadDays)
}

// makePartitions makes a partition of events, and that of their chunks, each if there is none.
func (b *postgresBulk) makePartitions(ctx context.Context, n int32) error {
	for _, table := range []string{"chunk", "event"} { // event last: listPartitions goes by it
		// A crash between the two leaves a partition of chunks alone. listPartitions does not count it, so the
		// next commit for these days makes the other; makePartition finds the first one there.
		if err := b.makePartition(ctx, table, n*partitionDays); err != nil {
			return fmt.Errorf("make partition of day %d: %w", n*partitionDays, err)
		}
	}
	return nil
}

// makePartition makes a table's partition from a day on, if there is none. It is made by itself and
// attached then: to make it as a partition at once would wait for all that read or write the table,
// and keep others from it meanwhile.
func (b *postgresBulk) makePartition(ctx context.Context, table string, day int32) error {
	// Two servers that need the same partition take turns by the lock, and the second finds it there.
	return pgx.BeginFunc(ctx, b.db.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, partitionLock); err != nil {
			return err
		}
		name := fmt.Sprintf("%s_d%d", table, day)
		var there bool
		err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
			WHERE i.inhparent = $1::text::regclass AND c.relname = $2)`, table, name).Scan(&there)
		if err != nil || there {
			return err
		}
		for _, text := range []string{
			fmt.Sprintf(`CREATE TABLE %s (LIKE %s INCLUDING ALL)`, name, table),
			fmt.Sprintf(`ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%d) TO (%d)`, table, name, day, day+partitionDays),
		} {
			if _, err := tx.Exec(ctx, text); err != nil {
				return err
			}
		}
		return nil
	})
}

// tidy drops the partitions that are empty, but for those that are made ahead.
func (b *postgresBulk) tidy(ctx context.Context) error {
	b.mu.Lock()
	err := b.listPartitions(ctx)
	list := slices.Sorted(maps.Keys(b.partitions))
	b.mu.Unlock()
	if err != nil {
		return err
	}
	for _, n := range list {
		if b.isAhead(n) {
			continue // about to be written, however empty it is
		}
		if err := b.dropIfEmpty(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// dropIfEmpty drops one partition if nothing is in it. Where it is in use, it stays for now.
func (b *postgresBulk) dropIfEmpty(ctx context.Context, n int32) error {
	used := func(q interface {
		QueryRow(context.Context, string, ...any) pgx.Row
	}) (used bool, err error) {
		err = q.QueryRow(ctx, fmt.Sprintf(`SELECT EXISTS (SELECT 1 FROM event_d%[1]d)
			OR EXISTS (SELECT 1 FROM chunk_d%[1]d)`, n*partitionDays)).Scan(&used)
		return used, err
	}
	// Looked at without a lock first: nearly all partitions hold something, and need no exclusive lock to say so.
	if is, err := used(b.db.Pool); err != nil || is {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	err := pgx.BeginFunc(ctx, b.db.Pool, func(tx pgx.Tx) error {
		for _, text := range []string{
			dropTimeout,
			fmt.Sprintf(`SELECT pg_advisory_xact_lock(%d)`, partitionLock),
			fmt.Sprintf(`LOCK TABLE chunk_d%[1]d, event_d%[1]d IN ACCESS EXCLUSIVE MODE`, n*partitionDays),
		} {
			if _, err := tx.Exec(ctx, text); err != nil {
				return err
			}
		}
		if is, err := used(tx); err != nil || is { // now nobody is about to write
			return err
		}
		for _, table := range []string{"chunk", "event"} {
			if _, err := tx.Exec(ctx, fmt.Sprintf(`DROP TABLE %s_d%d`, table, n*partitionDays)); err != nil {
				return err
			}
		}
		// Before the commit: who writes these days again makes the partition first, and waits for us.
		delete(b.partitions, n)
		for day := n * partitionDays; day < (n+1)*partitionDays; day++ {
			b.ids.drop(0, day)
		}
		return nil
	})
	// The lock was not had within dropTimeout. An empty partition costs next to nothing until the next try.
	if err != nil && b.db.Retryable(err) {
		return nil // in use; the next time
	}
	return err
}

// days lists all days of the partitions that there are, newest first, whether they hold events
// or not, and the archive. Filters of ids are of all projects together here (project 0), since one statement looks on
// all days at once.
func (b *postgresBulk) days(context.Context) (list []projectDay, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(b.partitions))) {
		for day := (n+1)*partitionDays - 1; day >= n*partitionDays; day-- {
			list = append(list, projectDay{0, day})
		}
	}
	return append(list, projectDay{0, farDay}), nil
}

func (b *postgresBulk) filterOf(of projectDay) projectDay {
	if of.day < b.archive {
		return projectDay{0, farDay}
	}
	return projectDay{0, of.day}
}

func (b *postgresBulk) idsOf(ctx context.Context, k projectDay, f func(uuid.UUID) error) error {
	text, args := `SELECT event_id
		FROM event
		WHERE day = $1 AND project_id IN (SELECT id FROM project) AND start_ms >= $2 AND start_ms < $3`,
		[]any{k.day, float64(k.day) * dayMillis, (float64(k.day) + 1) * dayMillis}
	if k.day == farDay {
		text, args = `SELECT event_id FROM event WHERE day < $1`, []any{b.archive}
	}
	return sqldb.Each(ctx, b.db, text, args, func(scan func(...any) error) error {
		var id uuid.UUID
		if err := scan(sqldb.ScanID(&id)); err != nil {
			return err
		}
		return f(id)
	})
}

// farDays returns none: a statement finds ids in all partitions.
func (b *postgresBulk) farDays(context.Context, sqldb.Conn, int64, uuid.UUID) ([]int32, error) {
	return nil, nil
}

func (t *postgresBulkTx) addIDs(_ context.Context, project int64, day int32, ids ...uuid.UUID) error {
	day = t.b.filterOf(projectDay{project, day}).day
	for _, id := range ids {
		t.b.ids.add(project, day, id)
	}
	return nil
}

// removeIDs does nothing: other writers may be storing events of the same days.
func (t *postgresBulkTx) removeIDs(context.Context, int64, int32, ...uuid.UUID) error { return nil }

func (t *postgresBulkTx) findEvents(ctx context.Context, projectID int64, ids []idDays) (map[uuid.UUID]int32, error) {
	list := make([]uuid.UUID, len(ids))
	days, anyDay, far := map[int32]bool{}, false, false
	for i, id := range ids {
		list[i] = id.id
		anyDay = anyDay || (id.days == nil && !id.far)
		far = far || id.far
		for _, d := range id.days {
			days[d] = true
		}
	}
	// One statement for all ids. With days it looks into their partitions alone; without, into each partition's index.
	sql, args := `SELECT event_id, day FROM event WHERE project_id = $1 AND event_id = ANY($2)`, []any{projectID, sqldb.IDArray(list)}
	if !anyDay {
		within := slices.Collect(maps.Keys(days))
		if far {
			sql, args = sql+` AND (day = ANY($3) OR day < $4)`, append(args, within, t.b.archive)
		} else {
			sql, args = sql+` AND day = ANY($3)`, append(args, within)
		}
	}
	found := map[uuid.UUID]int32{}
	err := sqldb.Each(ctx, t, sql, args, func(scan func(...any) error) error {
		var id uuid.UUID
		var day int32
		if err := scan(sqldb.ScanID(&id), &day); err != nil {
			return err
		}
		found[id] = day
		return nil
	})
	return found, err
}
