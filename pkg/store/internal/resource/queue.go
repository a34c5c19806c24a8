package resource

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/queue"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// A queue's document says what it is; which events it has are rows of queue_item, and who has
// claimed, skipped or annotated them rows of queue_turn. Whoever writes any of them holds the
// document, so that two never take the same slot, on however many servers.
//
// Files: queue.go the queues and which events enter and leave, queue_fill.go entering by filters, queue_claim.go who works on
// what, queue_annotate.go what people say, queue_item.go lists of items. Rules of an item (how many must say something, when
// they agree) are package queue's.
//
// Items of events that are deleted go with them (EraseEvaluationsOf, package evalqueue).
var queues = Documents{Table: "queue", Noun: "queue", Columns: []string{"enabled"}}

// CreateQueue stores a queue that is valid, with these events in it, and returns it.
func (s *Store) CreateQueue(ctx context.Context, projectID int64, q queue.Queue, ids []uuid.UUID) (queue.Queue, error) {
	now := s.options.Now()
	d := Document{ID: NewDocumentID(now), Version: 1, Created: now.UnixMilli(), Doc: q.Doc()}
	q.ID, q.Created = d.ID, d.Created
	err := s.ChangeDocs(ctx, len(d.Doc), "create queue", func(ctx context.Context, tx *events.Commit) error {
		// Under the ids by which events are stored: a session may be named by an id that it had before it moved.
		add, err := s.events.EventsThere(ctx, tx, projectID, "event_ids", ids)
		if err != nil {
			return err
		}
		if err := queues.Insert(ctx, tx, projectID, d, sqldb.Bool64(q.Enabled)); err != nil {
			return err
		}
		return s.enterQueue(ctx, tx, projectID, &q, add, byHand)
	})
	if err != nil {
		return q, err
	}
	return q, s.countQueues(ctx, projectID, []*queue.Queue{&q})
}

// FindQueues lists the ids of a project's queues, oldest first, a page of them, and counts all;
// only of those that are enabled or are not, if enabled is set.
func (s *Store) FindQueues(ctx context.Context, projectID int64, enabled *bool, limit, page int) (ids []string, total int, err error) {
	var cond string
	var args []any
	if enabled != nil {
		cond, args = "enabled = $2", []any{sqldb.Bool64(*enabled)}
	}
	ids, total, err = queues.Find(ctx, s.db, projectID, cond, args, limit, page)
	return ids, total, sqldb.WrapError(s.db, err, "find queues")
}

// LoadQueues reads queues in the order of ids.
func (s *Store) LoadQueues(ctx context.Context, projectID int64, ids []string) ([]queue.Queue, error) {
	docs, err := queues.load(ctx, s.db, projectID, ids)
	if err != nil {
		return nil, sqldb.WrapError(s.db, err, "read queues")
	}
	list, each := make([]queue.Queue, len(docs)), make([]*queue.Queue, len(docs))
	for i, d := range docs {
		list[i] = queueOf(d)
		each[i] = &list[i]
	}
	return list, s.countQueues(ctx, projectID, each)
}

// Queue reads one queue.
func (s *Store) Queue(ctx context.Context, projectID int64, id string) (queue.Queue, error) {
	list, err := s.LoadQueues(ctx, projectID, []string{id})
	if err == nil && len(list) == 0 {
		err = queues.Missing(id)
	}
	if err != nil {
		return queue.Queue{}, err
	}
	return list[0], nil
}

// UpdateQueue changes a queue, takes events out of it and then adds others, all or nothing, and
// returns the updated one. All that may be refused is looked at before the first write. Filters that are sent again, also
// the same ones, begin anew with the oldest event: what is in the queue, or was taken out, is not entered again.
func (s *Store) UpdateQueue(ctx context.Context, projectID int64, id string, u queue.Update, add, remove []uuid.UUID) (
	q queue.Queue, err error) {
	err = s.ChangeDocs(ctx, len(u.Filters), "update queue", func(ctx context.Context, tx *events.Commit) error {
		// The queue's row is the lock for its items and turns, so what is read from here on holds until the commit.
		d, err := queues.getForUpdate(ctx, tx, projectID, id)
		if err != nil {
			return err
		}
		q = queueOf(d)
		now := s.options.Now()
		q.Apply(&u, now.UnixMilli())
		if err := q.Validate(); err != nil {
			return err
		}
		there, err := s.events.EventsThere(ctx, tx, projectID, "add_event_ids", add)
		if err != nil {
			return err
		}
		leave, err := s.withMoved(ctx, tx, projectID, remove)
		if err != nil {
			return err
		}
		if err := roomInQueue(ctx, tx, projectID, id, there, leave); err != nil {
			return err
		}
		d.Doc = q.Doc()
		if err := queues.Update(ctx, tx, projectID, &d, now, sqldb.Bool64(q.Enabled)); err != nil {
			return err
		}
		q.Updated = d.Updated
		if u.Filters != nil { // all events are looked at anew
			if _, err := tx.Exec(ctx, `UPDATE queue SET cursors = '' WHERE project_id = $1 AND id = $2`, projectID, id); err != nil {
				return err
			}
		}
		// Removed before others are added: an event in both lists is in the queue afterwards, without what was said of it before.
		if err := leaveQueue(ctx, tx, projectID, id, leave); err != nil {
			return err
		}
		return s.enterQueue(ctx, tx, projectID, &q, there, byHand)
	})
	if err != nil {
		return q, err
	}
	return q, s.countQueues(ctx, projectID, []*queue.Queue{&q})
}

// withMoved returns ids of events, and of the sessions among them that have moved those to which they moved.
func (s *Store) withMoved(ctx context.Context, tx *events.Commit, project int64, ids []uuid.UUID) ([]uuid.UUID, error) {
	if !s.events.MayHaveMoved() {
		return ids, nil
	}
	moved, err := events.AliasesOf(ctx, tx, project, ids)
	return slices.AppendSeq(slices.Clone(ids), maps.Values(moved)), err
}

// DeleteQueue deletes a queue with its items and their annotations.
func (s *Store) DeleteQueue(ctx context.Context, projectID int64, id string) error {
	return s.deleteDocument(ctx, queues, projectID, id)
}

func sweepQueue(ctx context.Context, tx *events.Commit, project int64, id string) (more bool, err error) {
	// Turns before items, so that no turn is left of an item that is gone, wherever the sweep is interrupted.
	if more, err = events.DeleteRows(ctx, tx, "queue_turn", "project_id, queue_id, event_id, annotator", ofQueue, project, id); err != nil ||
		more {
		return more, err
	}
	return events.DeleteRows(ctx, tx, "queue_item", "project_id, queue_id, event_id", ofQueue, project, id)
}

// ofQueue is the condition on a table of queues' rows that a row is of queue $2 of project $1.
const ofQueue = `project_id = $1 AND queue_id = $2`

// roomInQueue returns fault.Conflict if more items would wait once some events have left and others are in, and too many. Those that are in the
// queue in any state but removed, and stay, are not added, and need no room.
func roomInQueue(ctx context.Context, tx *events.Commit, project int64, id string, add, leave []uuid.UUID) error {
	if len(add) == 0 {
		return nil
	}
	waiting, err := waitingIn(ctx, tx, project, id)
	if err != nil {
		return err
	}
	leaves := make(map[uuid.UUID]bool, len(leave))
	for _, event := range leave {
		leaves[event] = true
	}
	freed, err := countItems(ctx, tx, project, id, "state = 'waiting'", slices.Collect(maps.Keys(leaves)))
	if err != nil {
		return err
	}
	known, err := countItems(ctx, tx, project, id, "state <> 'removed'",
		slices.DeleteFunc(slices.Clone(add), func(event uuid.UUID) bool { return leaves[event] }))
	if err != nil {
		return err
	}
	if more := len(add) - known - freed; more > 0 && waiting+more > queue.MaxWaiting {
		return fault.New(fault.Conflict, "%d items of the queue are waiting, and at most %d may", waiting, queue.MaxWaiting)
	}
	return nil
}

// countItems counts the items of a queue that are of some events, each named once, and meet a condition.
func countItems(ctx context.Context, tx *events.Commit, project int64, id, cond string, of []uuid.UUID) (n int, err error) {
	for group := range slices.Chunk(of, sqldb.IDsPerQuery) {
		some, args := tx.AnyID("event_id", 3, group)
		var found int
		if _, err := sqldb.One(ctx, tx, `SELECT count(*) FROM queue_item WHERE `+ofQueue+` AND `+cond+` AND `+some,
			append([]any{project, id}, args...), &found); err != nil {
			return 0, err
		}
		n += found
	}
	return n, nil
}

func waitingIn(ctx context.Context, c sqldb.Conn, project int64, id string) (n int, err error) {
	_, err = sqldb.One(ctx, c, `SELECT count(*) FROM queue_item WHERE `+ofQueue+` AND state = 'waiting'`, []any{project, id}, &n)
	return n, err
}

// How events enter a queue that were taken out of it: a person may bring them back, a filter not.
const (
	byHand = `
		ON CONFLICT (project_id, queue_id, event_id) DO UPDATE SET
			state = 'waiting',
			needed = excluded.needed,
			slots = excluded.slots,
			pos = excluded.pos,
			added_ms = excluded.added_ms
		WHERE queue_item.state = 'removed'`
	byFilter = `ON CONFLICT DO NOTHING`
)

// enterQueue adds events behind the items of a queue that is held. Those it has are left alone. An item keeps the number of
// annotators that the queue asked for when it entered, whatever the queue asks for later.
func (s *Store) enterQueue(ctx context.Context, tx *events.Commit, project int64, q *queue.Queue, ids []uuid.UUID, how string) error {
	if len(ids) == 0 {
		return nil
	}
	var last int64
	if _, err := sqldb.One(ctx, tx, `SELECT coalesce(max(pos), 0)
		FROM queue_item
		WHERE `+ofQueue, []any{project, q.ID}, &last); err != nil {
		return err
	}
	now := s.options.Now().UnixMilli()
	// Positions follow the highest one there is. A position that was freed is not used again, so the order is that of entering.
	rows := make([][]any, len(ids))
	for i, id := range ids {
		rows[i] = []any{
			project,
			q.ID,
			tx.ID(id),
			last + int64(i) + 1,
			string(queue.Waiting),
			q.Annotators,
			q.Annotators,
			now,
			int64(0),
		}
	}
	columns := []string{
		"project_id",
		"queue_id",
		"event_id",
		"pos",
		"state",
		"needed",
		"slots",
		"added_ms",
		"updated_ms",
	}
	_, err := events.PutRows(ctx, tx, "queue_item", columns, rows, how)
	return err
}

// leaveQueue takes events out of a queue that is held, with all that was said of them there. The item's row stays as removed, or
// the next look by filters would bring the event back. Scores that are on the event stay there.
func leaveQueue(ctx context.Context, tx *events.Commit, project int64, id string, ids []uuid.UUID) error {
	for group := range slices.Chunk(ids, sqldb.IDsPerQuery) {
		cond, args := tx.AnyID("event_id", 3, group)
		args = append([]any{project, id}, args...)
		if _, err := tx.Exec(ctx, `DELETE FROM queue_turn WHERE `+ofQueue+` AND `+cond, args...); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE queue_item
			SET state = 'removed', scores = NULL, settled = NULL, updated_ms = 0
			WHERE `+ofQueue+` AND `+cond, args...); err != nil {
			return err
		}
	}
	return nil
}

// countQueues fills in how many items of queues are in each state, and how many are claimed. They are counted whenever a queue is read, by
// indexes, and not kept: each annotation would have to change the queue's row. Removed ones are not counted.
func (s *Store) countQueues(ctx context.Context, project int64, list []*queue.Queue) error {
	byID, ids := map[string]*queue.Queue{}, []string{}
	for _, q := range list {
		q.Counts = queue.Counts{}
		byID[q.ID] = q
		ids = append(ids, q.ID)
	}
	for group := range slices.Chunk(ids, sqldb.IDsPerQuery) {
		cond, args := s.db.AnyText("queue_id", 2, group)
		err := sqldb.Each(ctx, s.db, `SELECT queue_id, state, count(*)
			FROM queue_item
			WHERE project_id = $1 AND `+cond+`
			GROUP BY queue_id, state`,
			append([]any{project}, args...), func(scan func(...any) error) error {
				var id, state string
				var n int
				if err := scan(&id, &state, &n); err != nil {
					return err
				}
				switch counts := &byID[id].Counts; queue.State(state) {
				case queue.Waiting:
					counts.Waiting = n
				case queue.Done:
					counts.Done = n
				case queue.Disputed:
					counts.Disputed = n
				}
				return nil
			})
		if err == nil {
			err = s.countTied(ctx, project, byID, group)
		}
		if err == nil {
			err = s.countHeld(ctx, project, byID, group)
		}
		if err != nil {
			return sqldb.WrapError(s.db, err, "count items")
		}
	}
	return nil
}

// countTied moves those of the waiting items of a group of queues whose annotators are tied to the disputed ones (queue.Item.Shown). It reads
// the rows of items that wait, of which a queue has at most queue.MaxWaiting.
func (s *Store) countTied(ctx context.Context, project int64, byID map[string]*queue.Queue, group []string) error {
	cond, args := s.db.AnyText("queue_id", 2, group)
	return sqldb.Each(ctx, s.db, `SELECT queue_id, count(*)
		FROM queue_item
		WHERE project_id = $1 AND state = 'waiting' AND `+tied+` AND `+cond+`
		GROUP BY queue_id`, append([]any{project}, args...), func(scan func(...any) error) error {
		var id string
		var n int
		err := scan(&id, &n)
		if q := byID[id]; q != nil {
			// An item that came to be tied since the waiting ones were counted makes no count negative.
			n = min(n, q.Counts.Waiting)
			q.Counts.Waiting -= n
			q.Counts.Disputed += n
		}
		return err
	})
}

// countHeld fills in how many waiting items of a group of queues are claimed. Claims are few, and have an index of their own.
func (s *Store) countHeld(ctx context.Context, project int64, byID map[string]*queue.Queue, group []string) error {
	cond, args := s.db.AnyText("t.queue_id", 3, group)
	return sqldb.Each(ctx, s.db, `SELECT t.queue_id, count(DISTINCT t.event_id)
		FROM queue_turn t
		JOIN queue_item i ON i.project_id = t.project_id AND i.queue_id = t.queue_id AND i.event_id = t.event_id
		WHERE t.project_id = $1 AND t.state = 'claimed' AND t.expires_ms > $2 AND i.state = 'waiting' AND `+cond+`
		GROUP BY t.queue_id`, append([]any{project, s.options.Now().UnixMilli()}, args...), func(scan func(...any) error) error {
		var id string
		var n int
		err := scan(&id, &n)
		if q := byID[id]; q != nil {
			q.Counts.Held = n
		}
		return err
	})
}

func queueOf(d Document) queue.Queue {
	q := queue.FromDoc(d.Doc)
	q.ID, q.Created, q.Updated = d.ID, d.Created, d.Updated
	return q
}
