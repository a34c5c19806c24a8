package resource

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/queue"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Events enter a queue by its filters when somebody asks for items, not when they are stored, so
// that ingestion knows nothing of queues and loses nothing by them. A look walks the project's
// events by start time, a slice at a time, and remembers how far it has come (queue.Cursors).
//
// Events are read and matched before the transaction, which may take long; within it, the version of the queue's row tells
// whether the queue is still the one whose filters matched. Where two servers look at the same slice, both find the same
// events: those that have entered are left alone, and cursors only move forward. Events and cursors are one transaction, so
// a server that dies leaves no gap.

// FillQueue lets events that match a queue's filters enter it: of those that it has not looked at,
// each look takes the oldest queue.FillSlice. entered counts those that match, some of which it may have
// already; more reports whether there are others to look at.
func (s *Store) FillQueue(ctx context.Context, p project.Project, id string) (entered int, more bool, err error) {
	d, err := queues.One(ctx, s.db, p.ID, id)
	if err != nil {
		return 0, false, sqldb.WrapError(s.db, err, "read queue")
	}
	q := queueOf(d)
	filters, err := query.ParseFilters(q.Filters, "filters")
	if err != nil || len(filters) == 0 {
		return 0, false, err
	}
	waiting, err := waitingIn(ctx, s.db, p.ID, id)
	// The look stops where it is. Cursors stay, so nothing is passed over; what annotators finish makes room for the next look.
	if err != nil || waiting >= queue.MaxWaiting {
		return 0, err == nil, sqldb.WrapError(s.db, err, "count items")
	}
	cursors, err := readCursors(ctx, s.db, p.ID, id)
	if err != nil {
		return 0, false, sqldb.WrapError(s.db, err, "read queue")
	}
	now := s.options.Now()
	var found []event.Event
	changed := false
	// Several looks, each at another distance from now: a span is stored when it ends, and one that took long has a
	// start that the first look has already passed.
	for i := range cursors {
		end, n, err := s.nextSlice(ctx, p.ID, cursors[i], q.Horizon(i, now))
		if err != nil {
			return 0, false, sqldb.WrapError(s.db, err, "read events")
		}
		if n == 0 {
			continue
		}
		list, err := s.matching(ctx, p.ID, query.InProject(filters, p), cursors[i], end)
		if err != nil {
			return 0, false, err
		}
		found = append(found, list...)
		cursors[i], changed = end, true
		more = more || n == queue.FillSlice
	}
	if !changed {
		return 0, false, nil
	}
	slices.SortFunc(found, func(a, b event.Event) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), bytes.Compare(a.ID[:], b.ID[:]))
	})
	ids := make([]uuid.UUID, len(found))
	for i, e := range found {
		ids[i] = e.ID
	}
	ids = slices.Compact(ids) // several looks may have seen the same
	changedSince := false
	err = s.ChangeDocs(ctx, 0, "fill queue", func(ctx context.Context, tx *events.Commit) error {
		held, err := queues.getForUpdate(ctx, tx, p.ID, id)
		if err != nil {
			return err
		}
		if changedSince = held.Version != d.Version; changedSince {
			return nil // what it takes may be different now: look again
		}
		if err := s.enterQueue(ctx, tx, p.ID, &q, ids, byFilter); err != nil {
			return err
		}
		stored, err := readCursors(ctx, tx, p.ID, id)
		if err != nil {
			return err
		}
		stored.Advance(cursors) // another server may have come further
		text, err := json.Marshal(stored)
		if err != nil {
			return fmt.Errorf("encode cursors: %w", err)
		}
		_, err = tx.Exec(ctx, `UPDATE queue SET cursors = $3 WHERE project_id = $1 AND id = $2`, p.ID, id, string(text))
		return err
	})
	return len(ids), more || changedSince, err
}

// readCursors reads up to which start time each look has come.
func readCursors(ctx context.Context, c sqldb.Conn, project int64, id string) (queue.Cursors, error) {
	var text string
	_, err := sqldb.One(ctx, c, `SELECT cursors FROM queue WHERE project_id = $1 AND id = $2`, []any{project, id}, &text)
	if err != nil {
		return nil, err
	}
	cursors, err := queue.ParseCursors(text)
	if err != nil {
		return nil, fmt.Errorf("cursors of queue %s: %w", id, err)
	}
	return cursors, nil
}

// nextSlice counts at most queue.FillSlice events that started after one time and not after another, the
// oldest ones, and returns the start of the last of them.
func (s *Store) nextSlice(ctx context.Context, project int64, after, until float64) (end float64, n int, err error) {
	err = sqldb.Each(ctx, s.db, `SELECT start_ms
		FROM event
		WHERE project_id = $1 AND start_ms > $2 AND start_ms <= $3
		ORDER BY start_ms LIMIT $4`,
		[]any{project, after, until, queue.FillSlice}, func(scan func(...any) error) error {
			n++
			return scan(&end)
		})
	return end, n, err
}

// matching finds the events that match and started after one time and not after another.
func (s *Store) matching(ctx context.Context, project int64, filters []query.Filter, after, until float64) (list []event.Event, err error) {
	from := math.Nextafter(after, math.Inf(1))
	q := query.Search{Filters: filters, From: &from, To: &until, Limit: query.MaxLimit, HeadOnly: true}
	for q.Page = 1; ; q.Page++ {
		// A slice has at most FillSlice events besides those of the same start as its last, so the pages are few.
		set, err := s.events.Search(ctx, project, q)
		if err != nil {
			return nil, err
		}
		list = append(list, set.Events...)
		if len(set.Events) < q.Limit {
			return list, nil
		}
	}
}
