package resource

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/queue"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// AnnotateItem stores an annotator's scores and comment of an item, in place of those that the
// annotator gave it before, and if it has what it needs then, the scores on its event, in the same
// transaction.
//
//  1. The queue is held, and the item is read with all turns of it.
//  2. The item decides whether this person may still say something, and what the scores come to (queue.Item.Annotate). A
//     refusal ends it here, before anything is written.
//  3. The event gets what changed of the agreed scores, then the turn and the item are stored.
//
// It is a request of the writer of the event's session. An annotator whose claim has run out may still answer.
func (s *Store) AnnotateItem(ctx context.Context, projectID int64, id string, eventID uuid.UUID, a queue.Annotation) (queue.Item, error) {
	size := bytesOf(a.Scores, a.Comment)
	return s.changeItem(ctx, "annotate item", projectID, id, eventID, size, func(it *queue.Item, now, _ int64) (json.RawMessage, *turn, error) {
		patch, err := it.Annotate(a, now)
		if err != nil {
			return nil, nil, err
		}
		// The item has put the annotation in place of an earlier one of this person. No other row changes.
		at := slices.IndexFunc(it.Annotations, func(given queue.Annotation) bool { return given.Annotator == a.Annotator })
		return patch, &turn{event: it.EventID, state: turnAnnotated, Annotation: it.Annotations[at]}, nil
	})
}

// WithdrawAnnotation takes back what an annotator said of an item, and gives the annotator a claim on it again. Scores on the event that are
// no longer agreed on become null there.
func (s *Store) WithdrawAnnotation(ctx context.Context, projectID int64, id string, eventID uuid.UUID, annotator string) (queue.Item, error) {
	return s.changeItem(ctx, "withdraw annotation", projectID, id, eventID, 0, func(it *queue.Item, now, lease int64) (json.RawMessage, *turn, error) {
		patch, err := it.Withdraw(annotator, now+lease)
		it.Updated = now
		claim := turn{event: it.EventID, state: turnClaimed, expires: now + lease, Annotation: queue.Annotation{Annotator: annotator, Created: now}}
		return patch, &claim, err
	})
}

// SettleItem stores what a person decides where annotators differ, in place of an earlier settlement, and its scores on the event.
func (s *Store) SettleItem(ctx context.Context, projectID int64, id string, eventID uuid.UUID, decided queue.Settlement) (queue.Item, error) {
	size := bytesOf(decided.Scores, decided.Comment)
	return s.changeItem(ctx, "settle item", projectID, id, eventID, size, func(it *queue.Item, now, _ int64) (json.RawMessage, *turn, error) {
		decided.At, it.Updated = now, now
		patch, err := it.Settle(decided)
		return patch, nil, err
	})
}

// UnsettleItem takes a settlement back. The scores on the event are those of the annotators again.
func (s *Store) UnsettleItem(ctx context.Context, projectID int64, id string, eventID uuid.UUID) (queue.Item, error) {
	return s.changeItem(ctx, "take settlement back", projectID, id, eventID, 0, func(it *queue.Item, now, _ int64) (json.RawMessage, *turn, error) {
		it.Updated = now
		patch, err := it.Unsettle()
		return patch, nil, err
	})
}

// bytesOf is about how many bytes scores bring with their comment, which explains each of them on the event.
func bytesOf(scores json.RawMessage, comment string) int {
	size := len(scores) + len(comment)
	for range rawjson.Object(scores) {
		size += min(len(comment), queue.MaxExplanation)
	}
	return size
}

// itemChange changes an item at a time in Unix milliseconds. It returns which members of its event's metrics change, nil if there are
// none, and the turn that is stored with it, nil if none changes. lease is the queue's, in milliseconds.
type itemChange func(it *queue.Item, now, lease int64) (patch json.RawMessage, t *turn, err error)

// changeItem reads an item, changes it, and stores it and what changes of the scores on its event. size is about how many bytes the change
// brings.
func (s *Store) changeItem(ctx context.Context, op string, projectID int64, id string, eventID uuid.UUID, size int, change itemChange) (
	item queue.Item, err error) {
	err = sqldb.WrapError(s.db, s.events.Change(ctx, projectID, eventID, int64(size), func(ctx context.Context, tx *events.Commit) error {
		// Before the event's row, as everywhere: whoever fills or claims takes the queue first as well.
		d, err := queues.getForUpdate(ctx, tx, projectID, id)
		if err != nil {
			return err
		}
		it, err := s.heldItem(ctx, tx, projectID, id, eventID)
		if err != nil {
			return err
		}
		now := s.options.Now().UnixMilli()
		patch, t, err := change(it, now, queueOf(d).Lease*1000) // the queue has seconds, rows have milliseconds
		if err != nil {
			return err
		}
		// The event is read even if no score changes: an annotation of an event that was deleted meanwhile is refused.
		old, err := s.events.Find(ctx, tx, projectID, it.EventID)
		if err != nil {
			return err
		}
		if old.ID != it.EventID {
			return sqldb.ErrConflict // its session has moved since the item was read, and the item with it
		}
		if patch != nil {
			if err := s.events.ApplyUpdate(ctx, tx, old, &event.Update{EventID: old.ID, Metrics: patch}); err != nil {
				return err
			}
		}
		if t != nil {
			if err := putTurn(ctx, tx, projectID, id, *t); err != nil {
				return err
			}
		}
		var settled any
		if it.Settlement != nil {
			settled = string(it.Settlement.Doc())
		}
		n, err := tx.Exec(ctx, `UPDATE queue_item
			SET state = $4, slots = $5, scores = $6, updated_ms = $7, settled = $8
			WHERE `+ofQueue+` AND event_id = $3`,
			projectID, id, tx.ID(it.EventID), string(it.State), it.Slots, sqldb.Text(it.Scores), it.Updated, settled)
		if err == nil && n == 0 {
			return sqldb.ErrConflict // another server has moved it with its session since it was read, which does not wait for the queue
		}
		item = it.Live(now)
		return err
	}), op)
	return item, err
}

// QueueAgreement returns how far the annotators of a queue agree, by metric. It reads all annotations of the queue, in the order of
// events, and has those of one event in memory at a time, and the sums of each pair of annotators (queue.MaxPairs).
func (s *Store) QueueAgreement(ctx context.Context, projectID int64, id string) ([]queue.Agreement, error) {
	ctx, end, err := s.events.HeavyRead(ctx, projectID, 1)
	if err != nil {
		return nil, err
	}
	defer end()
	if _, err := queues.One(ctx, s.db, projectID, id); err != nil {
		return nil, sqldb.WrapError(s.db, err, "read queue")
	}
	var all queue.Comparison
	var of uuid.UUID
	var given []queue.Annotation
	annotated := selectTurns + ofQueue + ` AND state = 'annotated' ORDER BY event_id, annotator`
	err = sqldb.Each(ctx, s.db, annotated, []any{projectID, id}, func(scan func(...any) error) error {
		t, err := scanTurn(scan)
		if err != nil {
			return err
		}
		if t.event != of {
			// Rows come in the order of events, so a new id ends the event before. The last one is added after the loop.
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
		return nil, sqldb.WrapError(s.db, err, "compare annotations")
	}
	return all.Agreements(), nil
}
