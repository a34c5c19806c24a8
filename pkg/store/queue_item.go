package store

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/queue"
)

// FindQueueItems lists the ids of the events of a queue in the order in which they entered, a page
// of them, and counts all; only those in a state, or if that is empty all but the removed ones.
// fault.NotFound if there is no such queue.
func (s *Store) FindQueueItems(ctx context.Context, projectID int64, id string, state queue.State, limit, page int) (events []string, total int, err error) {
	ctx, end, err := s.heavyRead(ctx, projectID, 1)
	if err != nil {
		return nil, 0, err
	}
	defer end()
	if _, err := queues.one(ctx, s.db, projectID, id); err != nil {
		return nil, 0, s.wrapDBError(err, "read queue")
	}
	cond, args := `state <> $3`, []any{projectID, id, string(queue.Removed)}
	if state != "" {
		cond, args[2] = `state = $3`, string(state)
	}
	if _, err := one(ctx, s.db, `SELECT count(*) FROM queue_item WHERE `+ofQueue+` AND `+cond, args, &total); err != nil {
		return nil, 0, s.wrapDBError(err, "count items")
	}
	err = each(ctx, s.db, `SELECT event_id FROM queue_item WHERE `+ofQueue+` AND `+cond+` ORDER BY pos, event_id LIMIT $4 OFFSET $5`,
		append(args, limit, int64(limit)*int64(page-1)), func(scan func(...any) error) error {
			var event uuid.UUID
			err := scan(scanID{&event})
			events = append(events, event.String())
			return err
		})
	return events, total, s.wrapDBError(err, "find items")
}

// LoadQueueItems reads items of a queue in the order of the ids of their events. Those that are
// gone are left out.
func (s *Store) LoadQueueItems(ctx context.Context, projectID int64, id string, events []string) ([]queue.Item, error) {
	ids := make([]uuid.UUID, 0, len(events))
	for _, text := range events {
		if event, err := uuid.Parse(text); err == nil {
			ids = append(ids, event)
		}
	}
	items, err := s.queueItems(ctx, s.db, projectID, id, ids)
	now := s.options.Now().UnixMilli()
	list := make([]queue.Item, 0, len(items))
	for _, event := range ids {
		if it := items[event]; it != nil {
			list = append(list, it.Live(now))
		}
	}
	return list, s.wrapDBError(err, "read items")
}

// queueItems reads items with their turns, also claims that have run out.
func (s *Store) queueItems(ctx context.Context, c conn, project int64, id string, events []uuid.UUID) (map[uuid.UUID]*queue.Item, error) {
	items := make(map[uuid.UUID]*queue.Item, len(events))
	if len(events) == 0 {
		return items, nil
	}
	cond, args := c.anyID("event_id", 3, events)
	args = append([]any{project, id}, args...)
	err := each(ctx, c, `SELECT event_id, state, needed, slots, scores, added_ms, updated_ms FROM queue_item WHERE `+ofQueue+` AND `+cond, args,
		func(scan func(...any) error) error {
			var it queue.Item
			var state string
			var scores *string
			if err := scan(scanID{&it.EventID}, &state, &it.Needed, &it.Slots, &scores, &it.Added, &it.Updated); err != nil {
				return err
			}
			it.State = queue.State(state)
			if scores != nil {
				it.Scores = json.RawMessage(*scores)
			}
			items[it.EventID] = &it
			return nil
		})
	if err != nil {
		return nil, err
	}
	err = each(ctx, c, turnColumns+ofQueue+` AND `+cond+` ORDER BY created_ms, annotator`, args, func(scan func(...any) error) error {
		t, err := scanTurn(scan)
		it := items[t.event]
		if err != nil || it == nil {
			return err
		}
		switch t.state {
		case turnClaimed:
			it.Claims = append(it.Claims, queue.Claim{Annotator: t.Annotator, Expires: t.expires})
		case turnSkipped:
			it.Skipped = append(it.Skipped, t.Annotator)
		default:
			it.Annotations = append(it.Annotations, t.Annotation)
		}
		return nil
	})
	return items, err
}

// The states of a turn.
const (
	turnClaimed   = "claimed"
	turnSkipped   = "skipped"
	turnAnnotated = "annotated"
)

// turn is what an annotator has to do with an item.
type turn struct {
	event   uuid.UUID
	state   string
	expires int64
	queue.Annotation
}

const turnColumns = `SELECT event_id, annotator, state, expires_ms, created_ms, updated_ms, doc FROM queue_turn WHERE `

func scanTurn(scan func(...any) error) (t turn, err error) {
	var doc *string
	err = scan(scanID{&t.event}, &t.Annotator, &t.state, &t.expires, &t.Created, &t.Updated, &doc)
	if doc != nil {
		t.Read(json.RawMessage(*doc))
	}
	return t, err
}

// putTurn stores what an annotator has to do with an item from now on.
func putTurn(ctx context.Context, tx writeTx, project int64, id string, t turn) error {
	var doc any
	if t.state == turnAnnotated {
		doc = string(t.Doc())
	}
	_, err := tx.exec(ctx, `INSERT INTO queue_turn(project_id, queue_id, event_id, annotator, state, expires_ms, created_ms, updated_ms, doc)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (project_id, queue_id, event_id, annotator) DO UPDATE
		SET state = excluded.state, expires_ms = excluded.expires_ms, created_ms = excluded.created_ms, updated_ms = excluded.updated_ms, doc = excluded.doc`,
		project, id, tx.id(t.event), t.Annotator, t.state, t.expires, t.Created, t.Updated, doc)
	return err
}

// maxGone is how many items without an event one claim clears away in a transaction.
const maxGone = 100

// ClaimItem gives an annotator the item that has waited longest for one: it claims a slot of it
// until the queue's lease runs out. Who has such a claim already gets it again, for a new lease.
// found is false if there is none: each item has the annotations it needs, is claimed by others,
// or was annotated or skipped by this annotator. Items whose events are gone go, too.
// fault.NotFound if there is no such queue.
func (s *Store) ClaimItem(ctx context.Context, projectID int64, id, annotator string) (item queue.Item, found bool, err error) {
	for more := true; more && err == nil; {
		err = s.changeDocs(ctx, 0, "claim item", func(ctx context.Context, tx writeTx) (err error) {
			more = false
			d, err := queues.getForUpdate(ctx, tx, projectID, id)
			if err != nil {
				return err
			}
			lease := queueOf(d).Lease * 1000
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
func (s *Store) claimOne(ctx context.Context, tx writeTx, project int64, id, annotator string, lease int64) (item queue.Item, found bool, err error) {
	now := s.options.Now().UnixMilli()
	var next uuid.UUID
	found, err = one(ctx, tx, `SELECT i.event_id FROM queue_turn t JOIN queue_item i ON i.project_id = t.project_id AND i.queue_id = t.queue_id AND i.event_id = t.event_id
		WHERE t.project_id = $1 AND t.queue_id = $2 AND t.annotator = $3 AND t.state = 'claimed' AND t.expires_ms > $4 AND i.state = 'waiting'
		ORDER BY i.pos LIMIT 1`, []any{project, id, annotator, now}, scanID{&next})
	if err == nil && !found {
		found, err = one(ctx, tx, `SELECT i.event_id FROM queue_item i WHERE i.project_id = $1 AND i.queue_id = $2 AND i.state = 'waiting'
			AND NOT EXISTS (SELECT 1 FROM queue_turn t WHERE t.project_id = i.project_id AND t.queue_id = i.queue_id AND t.event_id = i.event_id
				AND t.annotator = $3 AND t.state <> 'claimed')
			AND (SELECT count(*) FROM queue_turn t WHERE t.project_id = i.project_id AND t.queue_id = i.queue_id AND t.event_id = i.event_id
				AND (t.state = 'annotated' OR t.state = 'claimed' AND t.expires_ms > $4)) < i.slots
			ORDER BY i.pos, i.event_id LIMIT 1`, []any{project, id, annotator, now}, scanID{&next})
	}
	if err != nil || !found {
		return item, found, err
	}
	if _, err := s.eventsThere(ctx, tx, project, "", []uuid.UUID{next}); fault.Of(err) == fault.NotFound {
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

// dropItem deletes an item whose event is gone.
func dropItem(ctx context.Context, tx writeTx, project int64, id string, event uuid.UUID) error {
	for _, table := range []string{"queue_turn", "queue_item"} {
		if _, err := tx.exec(ctx, `DELETE FROM `+table+` WHERE `+ofQueue+` AND event_id = $3`, project, id, tx.id(event)); err != nil {
			return err
		}
	}
	return nil
}

// ReleaseItem gives back an annotator's claim. With skip the item is not offered to that annotator
// again. fault.NotFound if there is no such queue, item or claim.
func (s *Store) ReleaseItem(ctx context.Context, projectID int64, id string, event uuid.UUID, annotator string, skip bool) (item queue.Item, err error) {
	err = s.changeDocs(ctx, 0, "release item", func(ctx context.Context, tx writeTx) error {
		if _, err := queues.getForUpdate(ctx, tx, projectID, id); err != nil {
			return err
		}
		sql := `DELETE FROM queue_turn WHERE ` + ofQueue + ` AND event_id = $3 AND annotator = $4 AND state = 'claimed'`
		if skip {
			sql = `UPDATE queue_turn SET state = 'skipped', expires_ms = 0 WHERE ` + ofQueue + ` AND event_id = $3 AND annotator = $4 AND state = 'claimed'`
		}
		n, err := tx.exec(ctx, sql, projectID, id, tx.id(event), annotator)
		if err != nil {
			return err
		}
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

// AnnotateItem stores what an annotator says of an item, in place of what that annotator said of it
// before, and if it has what it needs then, the scores on its event, in the same transaction.
// fault.NotFound if there is no such queue, item or event, fault.Conflict if others have all slots.
func (s *Store) AnnotateItem(ctx context.Context, projectID int64, id string, eventID uuid.UUID, a queue.Annotation) (item queue.Item, err error) {
	err = s.wrapDBError(s.change(ctx, projectID, eventID, int64(len(a.Scores)+len(a.Comment)), func(ctx context.Context, tx writeTx) error {
		if _, err := queues.getForUpdate(ctx, tx, projectID, id); err != nil {
			return err
		}
		items, err := s.queueItems(ctx, tx, projectID, id, []uuid.UUID{eventID})
		if err != nil {
			return err
		}
		it := items[eventID]
		if it == nil || it.State == queue.Removed {
			return queue.Missing(eventID)
		}
		now := s.options.Now().UnixMilli()
		patch, err := it.Annotate(a, now)
		if err != nil {
			return err
		}
		old, err := s.find(ctx, tx, projectID, eventID)
		if err != nil {
			return err
		}
		if patch != nil {
			if err := s.apply(ctx, tx, old, &event.Update{EventID: old.ID, Metrics: patch}); err != nil {
				return err
			}
		}
		for _, given := range it.Annotations {
			if given.Annotator == a.Annotator {
				if err := putTurn(ctx, tx, projectID, id, turn{event: eventID, state: turnAnnotated, Annotation: given}); err != nil {
					return err
				}
			}
		}
		_, err = tx.exec(ctx, `UPDATE queue_item SET state = $4, slots = $5, scores = $6, updated_ms = $7 WHERE `+ofQueue+` AND event_id = $3`,
			projectID, id, tx.id(eventID), string(it.State), it.Slots, text(it.Scores), it.Updated)
		item = it.Live(now)
		return err
	}), "annotate item")
	return item, err
}

// QueueAgreement says how far the annotators of a queue agree, by metric.
// fault.NotFound if there is no such queue, fault.TooLarge if there are too many annotators.
func (s *Store) QueueAgreement(ctx context.Context, projectID int64, id string) ([]queue.Agreement, error) {
	ctx, end, err := s.heavyRead(ctx, projectID, 1)
	if err != nil {
		return nil, err
	}
	defer end()
	if _, err := queues.one(ctx, s.db, projectID, id); err != nil {
		return nil, s.wrapDBError(err, "read queue")
	}
	var all queue.Comparison
	var of uuid.UUID
	var given []queue.Annotation
	err = each(ctx, s.db, turnColumns+ofQueue+` AND state = 'annotated' ORDER BY event_id, annotator`, []any{projectID, id}, func(scan func(...any) error) error {
		t, err := scanTurn(scan)
		if err != nil {
			return err
		}
		if t.event != of {
			if err := all.Add(given); err != nil {
				return err
			}
			of, given = t.event, given[:0]
		}
		given = append(given, t.Annotation)
		return nil
	})
	if err == nil {
		err = all.Add(given)
	}
	if err != nil {
		return nil, s.wrapDBError(err, "compare annotations")
	}
	return all.Agreements(), nil
}
