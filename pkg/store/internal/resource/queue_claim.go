package resource

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/queue"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// The states of a turn.
const (
	turnClaimed   = "claimed"
	turnSkipped   = "skipped"
	turnAnnotated = "annotated"
)

// turn is what an annotator has to do with an item: one row for each annotator and item, whose state moves. A claim that has run out
// stays as a row. It keeps nobody from the slot, and its annotator may still answer by it.
type turn struct {
	event   uuid.UUID
	state   string
	expires int64 // of a claim, Unix milliseconds; otherwise 0
	queue.Annotation
}

const (
	// turnColumns are the columns in the order of scanTurn and putTurn.
	turnColumns = `event_id, annotator, state, expires_ms, created_ms, updated_ms, doc`
	selectTurns = `SELECT ` + turnColumns + ` FROM queue_turn WHERE `
)

func scanTurn(scan func(...any) error) (t turn, err error) {
	var doc *string
	err = scan(sqldb.ScanID(&t.event), &t.Annotator, &t.state, &t.expires, &t.Created, &t.Updated, &doc)
	if doc != nil {
		t.Read(json.RawMessage(*doc))
	}
	return t, err
}

// putTurn stores what an annotator has to do with an item from now on.
func putTurn(ctx context.Context, tx *events.Commit, project int64, id string, t turn) error {
	var doc any
	if t.state == turnAnnotated {
		doc = string(t.Doc())
	}
	_, err := tx.Exec(ctx, `INSERT INTO queue_turn(project_id, queue_id, `+turnColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (project_id, queue_id, event_id, annotator) DO UPDATE SET
			state = excluded.state,
			expires_ms = excluded.expires_ms,
			created_ms = excluded.created_ms,
			updated_ms = excluded.updated_ms,
			doc = excluded.doc`,
		project, id, tx.ID(t.event), t.Annotator, t.state, t.expires, t.Created, t.Updated, doc)
	return err
}

// maxGone is how many items without an event one claim clears away in a transaction.
const maxGone = 100

// ClaimItem claims the item that has waited longest for an annotator: it takes a slot of it until
// the queue's lease runs out. Whoever has a claim that holds gets the same item again, for a new lease: so nobody has two of
// one queue by asking, and a page that is loaded again shows the same. If items without events are in the way, they are cleared
// away, maxGone in a transaction, until one is found or none is left.
func (s *Store) ClaimItem(ctx context.Context, projectID int64, id, annotator string) (item queue.Item, found bool, err error) {
	for more := true; more && err == nil; {
		err = s.ChangeDocs(ctx, 0, "claim item", func(ctx context.Context, tx *events.Commit) (err error) {
			more = false
			d, err := queues.getForUpdate(ctx, tx, projectID, id)
			if err != nil {
				return err
			}
			// The queue has seconds, rows have milliseconds.
			lease := queueOf(d).Lease * 1000
			// Each item without an event costs two deletions, so a transaction ends after a hundred of them and
			// others get their turn.
			for range maxGone {
				item, found, err = s.claimOne(ctx, tx, projectID, id, annotator, lease)
				if err != nil || !found || item.EventID != uuid.Nil {
					return err
				}
			}
			more = true
			return nil
		})
	}
	return item, found, err
}

// claimOne claims an item of a queue that is held. An item without an id was one whose event is
// gone, and is gone now.
//
// A slot is taken by an annotation and by a claim that has not run out; skipping takes none. An item is not offered to whoever has
// annotated or skipped it. The queue is held, so between the count of slots and the claim no other claim can come.
func (s *Store) claimOne(ctx context.Context, tx *events.Commit, project int64, id, annotator string, lease int64) (
	item queue.Item, found bool, err error) {
	now := s.options.Now().UnixMilli()
	var next uuid.UUID
	found, err = sqldb.One(ctx, tx, `SELECT i.event_id
		FROM queue_turn t
		JOIN queue_item i ON i.project_id = t.project_id AND i.queue_id = t.queue_id AND i.event_id = t.event_id
		WHERE t.project_id = $1 AND t.queue_id = $2 AND t.annotator = $3
			AND t.state = 'claimed' AND t.expires_ms > $4 AND i.state = 'waiting'
		ORDER BY i.pos LIMIT 1`, []any{project, id, annotator, now}, sqldb.ScanID(&next))
	if err == nil && !found {
		found, err = sqldb.One(ctx, tx, `SELECT i.event_id
			FROM queue_item i
			WHERE i.project_id = $1 AND i.queue_id = $2 AND i.state = 'waiting'
				AND NOT EXISTS (
					SELECT 1
					FROM queue_turn t
					WHERE t.project_id = i.project_id AND t.queue_id = i.queue_id AND t.event_id = i.event_id
						AND t.annotator = $3 AND t.state <> 'claimed')
				AND (
					SELECT count(*)
					FROM queue_turn t
					WHERE t.project_id = i.project_id AND t.queue_id = i.queue_id AND t.event_id = i.event_id
						AND (t.state = 'annotated' OR t.state = 'claimed' AND t.expires_ms > $4)) < i.slots
			ORDER BY i.pos, i.event_id LIMIT 1`, []any{project, id, annotator, now}, sqldb.ScanID(&next))
	}
	if err != nil || !found {
		return item, found, err
	}
	// The event is looked for before the claim, so that nobody is given an item that cannot be opened.
	if _, err := s.events.EventsThere(ctx, tx, project, "", []uuid.UUID{next}); fault.IsNotFound(err) {
		return item, true, dropItem(ctx, tx, project, id, next)
	} else if err != nil {
		return item, false, err
	}
	claim := turn{event: next, state: turnClaimed, expires: now + lease, Annotation: queue.Annotation{Annotator: annotator, Created: now}}
	if err := putTurn(ctx, tx, project, id, claim); err != nil {
		return item, false, err
	}
	items, err := s.queueItems(ctx, tx, project, id, []uuid.UUID{next})
	if err != nil {
		return item, false, err
	}
	return items[next].Live(now), true, nil
}

// OpenItem gives an annotator a claim on one item, or renews the one that the annotator has. Whoever has annotated it gets it without a claim,
// with own, what was said then.
func (s *Store) OpenItem(ctx context.Context, projectID int64, id string, event uuid.UUID, annotator string) (
	item queue.Item, own *queue.Annotation, err error) {
	err = s.ChangeDocs(ctx, 0, "claim item", func(ctx context.Context, tx *events.Commit) error {
		own = nil
		d, err := queues.getForUpdate(ctx, tx, projectID, id)
		if err != nil {
			return err
		}
		it, err := s.heldItem(ctx, tx, projectID, id, event)
		if err != nil {
			return err
		}
		now := s.options.Now().UnixMilli()
		until := now + queueOf(d).Lease*1000
		claimed, err := it.Claim(annotator, now, until)
		if err != nil {
			return err
		}
		for i := range it.Annotations {
			if it.Annotations[i].Annotator == annotator {
				own = &it.Annotations[i]
			}
		}
		item = it.Live(now)
		if !claimed {
			return nil
		}
		return putTurn(ctx, tx, projectID, id, turn{event: it.EventID, state: turnClaimed, expires: until, Annotation: queue.Annotation{Annotator: annotator, Created: now}})
	})
	return item, own, err
}

// QueueProgress says how far an annotator is with a queue. It reads the items that wait, at most queue.MaxWaiting, and the turns of the
// annotator.
func (s *Store) QueueProgress(ctx context.Context, projectID int64, id, annotator string) (p queue.Progress, err error) {
	_, err = sqldb.One(ctx, s.db, `SELECT
			coalesce(sum(CASE WHEN state = 'annotated' THEN 1 ELSE 0 END), 0),
			coalesce(sum(CASE WHEN state = 'skipped' THEN 1 ELSE 0 END), 0)
		FROM queue_turn
		WHERE `+ofQueue+` AND annotator = $3`, []any{projectID, id, annotator}, &p.Annotated, &p.Skipped)
	if err == nil {
		_, err = sqldb.One(ctx, s.db, `SELECT
				coalesce(sum(CASE WHEN taken < slots THEN 1 ELSE 0 END), 0),
				coalesce(sum(CASE WHEN taken >= slots THEN 1 ELSE 0 END), 0)
			FROM (
				SELECT i.slots, (
					SELECT count(*)
					FROM queue_turn t
					WHERE t.project_id = i.project_id AND t.queue_id = i.queue_id AND t.event_id = i.event_id AND t.annotator <> $3
						AND (t.state = 'annotated' OR t.state = 'claimed' AND t.expires_ms > $4)) AS taken
				FROM queue_item i
				WHERE i.project_id = $1 AND i.queue_id = $2 AND i.state = 'waiting'
					AND NOT EXISTS (
						SELECT 1
						FROM queue_turn t
						WHERE t.project_id = i.project_id AND t.queue_id = i.queue_id AND t.event_id = i.event_id
							AND t.annotator = $3 AND t.state <> 'claimed')) AS mine`,
			[]any{projectID, id, annotator, s.options.Now().UnixMilli()}, &p.Open, &p.Held)
	}
	return p, sqldb.WrapError(s.db, err, "count items")
}

// FindAnnotators says what each annotator of a queue has done, by name, a page of them, and counts all.
func (s *Store) FindAnnotators(ctx context.Context, projectID int64, id string, limit, page int) (
	list []queue.AnnotatorCounts, total int, err error) {
	ctx, end, err := s.events.HeavyRead(ctx, projectID, 1)
	if err != nil {
		return nil, 0, err
	}
	defer end()
	if _, err := queues.One(ctx, s.db, projectID, id); err != nil {
		return nil, 0, sqldb.WrapError(s.db, err, "read queue")
	}
	if _, err = sqldb.One(ctx, s.db, `SELECT count(DISTINCT annotator) FROM queue_turn WHERE `+ofQueue, []any{projectID, id}, &total); err != nil {
		return nil, 0, sqldb.WrapError(s.db, err, "count annotators")
	}
	err = sqldb.Each(ctx, s.db, `SELECT annotator,
			sum(CASE WHEN state = 'annotated' THEN 1 ELSE 0 END),
			sum(CASE WHEN state = 'skipped' THEN 1 ELSE 0 END),
			sum(CASE WHEN state = 'claimed' AND expires_ms > $3 THEN 1 ELSE 0 END),
			max(CASE WHEN state <> 'annotated' THEN 0 WHEN updated_ms > created_ms THEN updated_ms ELSE created_ms END)
		FROM queue_turn
		WHERE `+ofQueue+`
		GROUP BY annotator
		ORDER BY annotator LIMIT $4 OFFSET $5`,
		[]any{projectID, id, s.options.Now().UnixMilli(), limit, int64(limit) * int64(page-1)}, func(scan func(...any) error) error {
			var a queue.AnnotatorCounts
			err := scan(&a.Annotator, &a.Annotated, &a.Skipped, &a.Held, &a.Last)
			list = append(list, a)
			return err
		})
	return list, total, sqldb.WrapError(s.db, err, "count annotations")
}

// dropItem deletes an item whose event is gone. Items go with their events; this is one that entered while its event was being
// deleted.
func dropItem(ctx context.Context, tx *events.Commit, project int64, id string, event uuid.UUID) error {
	for _, table := range []string{"queue_turn", "queue_item"} {
		if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE `+ofQueue+` AND event_id = $3`, project, id, tx.ID(event)); err != nil {
			return err
		}
	}
	return nil
}

// ReleaseItem gives back an annotator's claim, also one that has run out. With skip its row stays, so that the item is not offered to
// that annotator again; the slot is free either way.
func (s *Store) ReleaseItem(ctx context.Context, projectID int64, id string, event uuid.UUID, annotator string, skip bool) (
	item queue.Item, err error) {
	err = s.ChangeDocs(ctx, 0, "release item", func(ctx context.Context, tx *events.Commit) error {
		if _, err := queues.getForUpdate(ctx, tx, projectID, id); err != nil {
			return err
		}
		event, _, err := events.AliasOf(ctx, tx, projectID, event)
		if err != nil {
			return err
		}
		sql := `DELETE FROM queue_turn WHERE ` + ofQueue + ` AND event_id = $3 AND annotator = $4 AND state = 'claimed'`
		if skip {
			sql = `UPDATE queue_turn
				SET state = 'skipped', expires_ms = 0
				WHERE ` + ofQueue + ` AND event_id = $3 AND annotator = $4 AND state = 'claimed'`
		}
		n, err := tx.Exec(ctx, sql, projectID, id, tx.ID(event), annotator)
		if err != nil {
			return err
		}
		// The claim may have been given back already, or been answered: neither is undone by this.
		if n == 0 {
			return queue.Unclaimed(annotator, event)
		}
		items, err := s.queueItems(ctx, tx, projectID, id, []uuid.UUID{event})
		if err == nil {
			item = items[event].Live(s.options.Now().UnixMilli())
		}
		return err
	})
	return item, err
}
