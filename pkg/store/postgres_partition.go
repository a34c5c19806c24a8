package store

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Events and chunks of four weeks share a partition, which is made when it is needed. All times more
// than a year before the store was made share one, the archive, and the window of start times ends
// soon after now: so the number of partitions follows the age of the store and not what is sent.
// Empty ones are dropped.

// dropTimeout is how long dropping a partition waits for those who read or write the table; others
// wait behind it. It is tried again later.
const dropTimeout = "SET LOCAL lock_timeout = '100ms'"

func partitionOf(day int32) int32 { return day / partitionDays }

func (d *postgresDB) track(ids *idFilter, today func() int32) { d.ids, d.today = ids, today }

// listPartitions reads which partitions there are, without the archive. The caller holds d.mu.
func (d *postgresDB) listPartitions(ctx context.Context) error {
	found := map[int32]bool{}
	err := each(ctx, d, `SELECT substr(c.relname, 8)::int FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
		WHERE i.inhparent = 'event'::regclass AND c.relname ~ '^event_d[0-9]+$'`, nil, func(scan func(...any) error) error {
		var day int32
		err := scan(&day)
		found[partitionOf(day)] = true
		return err
	})
	if err == nil {
		d.partitions = found
	}
	return err
}

// ready makes the partitions of days that have none yet, each in its own short transaction. anew
// says that others may have changed them.
func (d *postgresDB) ready(ctx context.Context, days []int32, anew bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if anew {
		if err := d.listPartitions(ctx); err != nil {
			return err
		}
	}
	for _, day := range days {
		n := partitionOf(day)
		if day < d.archive || d.partitions[n] {
			continue
		}
		for _, table := range []string{"chunk", "event"} { // event last: listPartitions goes by it
			if err := d.makePartition(ctx, table, n*partitionDays); err != nil {
				return fmt.Errorf("make partition of day %d: %w", day, err)
			}
		}
		d.partitions[n] = true
	}
	return nil
}

// makePartition makes a table's partition from a day on, if there is none. It is made by itself and
// attached then: to make it as a partition at once would wait for all that read or write the table,
// and keep others from it meanwhile.
func (d *postgresDB) makePartition(ctx context.Context, table string, day int32) error {
	return pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
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

// tidy drops the partitions that are empty, but for those of today and tomorrow.
func (d *postgresDB) tidy(ctx context.Context) error {
	d.mu.Lock()
	err := d.listPartitions(ctx)
	list := slices.Sorted(maps.Keys(d.partitions))
	d.mu.Unlock()
	if err != nil {
		return err
	}
	for _, n := range list {
		if n == partitionOf(d.today()) || n == partitionOf(d.today()+1) {
			continue
		}
		if err := d.dropIfEmpty(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// dropIfEmpty drops one partition if nothing is in it. Where it is in use, it stays for now.
func (d *postgresDB) dropIfEmpty(ctx context.Context, n int32) error {
	used := func(q interface {
		QueryRow(context.Context, string, ...any) pgx.Row
	}) (used bool, err error) {
		err = q.QueryRow(ctx, fmt.Sprintf(`SELECT EXISTS (SELECT 1 FROM event_d%[1]d) OR EXISTS (SELECT 1 FROM chunk_d%[1]d)`, n*partitionDays)).Scan(&used)
		return used, err
	}
	if is, err := used(d.pool); err != nil || is {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	err := pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
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
		delete(d.partitions, n)
		for day := n * partitionDays; day < (n+1)*partitionDays; day++ {
			d.ids.drop(0, day)
		}
		return nil
	})
	if err != nil && d.retryable(err) {
		return nil // in use; the next time
	}
	return err
}

// days lists all days of the partitions that there are, newest first, whether they hold events
// or not, and the archive.
func (d *postgresDB) days(context.Context) (list []projectDay, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(d.partitions))) {
		for day := (n+1)*partitionDays - 1; day >= n*partitionDays; day-- {
			list = append(list, projectDay{0, day})
		}
	}
	return append(list, projectDay{0, farDay}), nil
}

func (d *postgresDB) idsOf(ctx context.Context, k projectDay, f func(uuid.UUID) error) error {
	text, args := `SELECT event_id FROM event WHERE day = $1 AND project_id IN (SELECT id FROM project) AND start_ms >= $2 AND start_ms < $3`,
		[]any{k.day, float64(k.day) * dayMillis, (float64(k.day) + 1) * dayMillis}
	if k.day == farDay {
		text, args = `SELECT event_id FROM event WHERE day < $1`, []any{d.archive}
	}
	return each(ctx, d, text, args, func(scan func(...any) error) error {
		var id uuid.UUID
		if err := scan(scanID{&id}); err != nil {
			return err
		}
		return f(id)
	})
}

// farDays returns none: a statement finds ids in all partitions.
func (d *postgresDB) farDays(context.Context, conn, int64, uuid.UUID) ([]int32, error) {
	return nil, nil
}

func (t *postgresTx) addIDs(_ context.Context, project int64, day int32, ids ...uuid.UUID) error {
	if day < t.d.archive {
		day = farDay
	}
	for _, id := range ids {
		t.d.ids.add(project, day, id)
	}
	return nil
}

// removeIDs does nothing: other writers may be storing events of the same days.
func (t *postgresTx) removeIDs(context.Context, int64, int32, ...uuid.UUID) error { return nil }

func (t *postgresTx) findEvents(ctx context.Context, projectID int64, ids []idDays) (map[uuid.UUID]int32, error) {
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
	sql, args := `SELECT event_id, day FROM event WHERE project_id = $1 AND event_id = ANY($2)`, []any{projectID, idArray(list)}
	if !anyDay {
		within := slices.Collect(maps.Keys(days))
		if far {
			sql, args = sql+` AND (day = ANY($3) OR day < $4)`, append(args, within, t.d.archive)
		} else {
			sql, args = sql+` AND day = ANY($3)`, append(args, within)
		}
	}
	found := map[uuid.UUID]int32{}
	err := each(ctx, t, sql, args, func(scan func(...any) error) error {
		var id uuid.UUID
		var day int32
		if err := scan(scanID{&id}, &day); err != nil {
			return err
		}
		found[id] = day
		return nil
	})
	return found, err
}
