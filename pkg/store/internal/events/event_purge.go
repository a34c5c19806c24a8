package events

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// purgeRows and purgeBytes bound one transaction, so that writers wait little for it.
const (
	purgeRows  = 200
	purgeBytes = 4 << 20
)

// PurgeEvents deletes a slice of a project's events, with the chunks they stand in:
// a chunk holds events of one session, so nobody else reads it. more is false once no event is left.
//
// The project is deleted already and nobody can read it: its sessions, trees and totals are not kept right meanwhile.
// Events are taken oldest first, which is the order of days, so that a statement finds most of its rows on few pages.
func (s *Store) PurgeEvents(ctx context.Context, tx *Commit, id int64) (more bool, err error) {
	type row struct {
		day   int32
		id    uuid.UUID
		typ   int
		chunk int64 // 0: none
	}
	var list []row
	err = sqldb.Each(ctx, tx, `SELECT day, event_id, type, coalesce(chunk, 0)
		FROM event
		WHERE project_id = $1
		ORDER BY start_ms LIMIT $2`, []any{id, purgeRows},
		func(scan func(...any) error) error {
			var r row
			if err := scan(&r.day, sqldb.ScanID(&r.id), &r.typ, &r.chunk); err != nil {
				return err
			}
			list = append(list, r)
			return nil
		})
	if err != nil || len(list) == 0 {
		return false, err
	}
	// Tells the database that deleted text is to be removed from its files as well, in the same transaction.
	if err := tx.Deleted(ctx); err != nil {
		return false, err
	}
	// Large payloads end the slice early.
	sizes := map[int64]int64{}
	// Lengths are read without the data: a slice of 200 events may hold 200 chunks of any size, and they are deleted unread.
	var days []int32
	var chunks []int64
	for _, r := range list {
		days, chunks = append(days, r.day), append(chunks, r.chunk)
	}
	days, chunks = distinct(days), distinct(chunks)
	cond, args := s.chunksOn(tx, days, padded(s, purgeRows, chunks, func(id int64) int64 { return id })...)
	err = sqldb.Each(ctx, tx, `SELECT id, length(data) FROM chunk WHERE `+cond, args, func(scan func(...any) error) error {
		var chunk, size int64
		err := scan(&chunk, &size)
		sizes[chunk] = size
		return err
	})
	if err != nil {
		return false, err
	}
	bytes := int64(0)
	for i, r := range list {
		// The first event goes whatever its size, or a single large one would stop the purge for good.
		if bytes += sizes[r.chunk]; bytes > purgeBytes && i > 0 {
			list = list[:i]
			break
		}
		delete(sizes, r.chunk) // counted once
	}
	for of := list; len(of) > 0; {
		// The unique key begins with project and day, so one statement takes a run of events of one day.
		n := 1
		for n < len(of) && of[n].day == of[0].day {
			n++
		}
		cond, args = tx.AnyID("event_id", 3, padded(s, purgeRows, of[:n], func(r row) uuid.UUID { return r.id }))
		if _, err := tx.Exec(ctx, `DELETE FROM event
			WHERE project_id = $1 AND day = $2 AND `+cond, append([]any{id, of[0].day}, args...)...); err != nil {
			return false, err
		}
		ids := make([]uuid.UUID, n)
		for i, r := range of[:n] {
			ids[i] = r.id
		}
		if err := tx.removeIDs(ctx, id, of[0].day, ids...); err != nil {
			return false, err
		}
		of = of[n:]
	}
	// A chunk may be shared with events of the next slice. They lose their payload now and their rows then; nobody reads them.
	chunks = chunks[:0]
	for _, r := range list {
		chunks = append(chunks, r.chunk)
		tx.Counts.add(id, query.TypeOf(r.typ), -1)
	}
	return true, s.dropChunks(ctx, tx, days, distinct(chunks)...)
}

func distinct[N cmp.Ordered](list []N) []N {
	slices.Sort(list)
	return slices.Compact(list)
}

// padded returns what of gives for each of list, ids or numbers that a statement asks for. Where each of them is an argument, zeros follow,
// up to n, so that the statement is always the same. PostgreSQL takes all as one, and would expect a row for each zero.
func padded[R, V any](s *Store, n int, list []R, of func(R) V) []V {
	if !s.db.Exclusive() {
		n = len(list)
	}
	out := make([]V, n)
	for i, r := range list {
		out[i] = of(r)
	}
	return out
}

// ForgetProject drops from memory what is known of a project whose events are all deleted.
func (s *Store) ForgetProject(ctx context.Context, id int64) error {
	if err := s.bulk.tidy(ctx); err != nil {
		return err
	}
	s.traces.Purge()
	s.trees.purge()
	s.fieldIndex.forget(id, nil)
	return s.Change(ctx, 0, uuid.Nil, 0, func(_ context.Context, tx *Commit) error {
		tx.recount.updates = true
		return nil
	})
}
