package resource

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/queue"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// tied holds of an item that waits because its annotators are tied, and one person more is asked.
const tied = `(slots > needed)`

// FindQueueItems lists the ids of the events of a queue in the order in which they entered, a page
// of them, and counts all; only those in a state, as queue.Item.Shown has it, or if that is empty all but the removed ones.
func (s *Store) FindQueueItems(ctx context.Context, projectID int64, id string, state queue.State, limit, page int) (
	events []string, total int, err error) {
	ctx, end, err := s.events.HeavyRead(ctx, projectID, 1)
	if err != nil {
		return nil, 0, err
	}
	defer end()
	// A queue that is not there is an error; one without items is an empty list.
	if _, err := queues.One(ctx, s.db, projectID, id); err != nil {
		return nil, 0, sqldb.WrapError(s.db, err, "read queue")
	}
	cond, args := `state <> $3`, []any{projectID, id, string(queue.Removed)}
	if state != "" {
		cond, args[2] = `state = $3`, string(state)
		switch state {
		case queue.Waiting:
			cond += ` AND NOT ` + tied
		case queue.Disputed:
			cond = `(state = $3 OR state = 'waiting' AND ` + tied + `)`
		}
	}
	if _, err := sqldb.One(ctx, s.db, `SELECT count(*) FROM queue_item WHERE `+ofQueue+` AND `+cond, args, &total); err != nil {
		return nil, 0, sqldb.WrapError(s.db, err, "count items")
	}
	err = sqldb.Each(ctx, s.db, `SELECT event_id FROM queue_item WHERE `+ofQueue+` AND `+cond+` ORDER BY pos, event_id LIMIT $4 OFFSET $5`,
		append(args, limit, int64(limit)*int64(page-1)), func(scan func(...any) error) error {
			var event uuid.UUID
			err := scan(sqldb.ScanID(&event))
			events = append(events, event.String())
			return err
		})
	return events, total, sqldb.WrapError(s.db, err, "find items")
}

// FindDifferences lists the ids of the events of a queue whose annotators differ and that nobody has settled, or those that somebody has
// settled, in the order in which they entered, a page of them, and counts all. Annotations are compared here, as scores are equal whose texts
// are not. It has those of one event in memory at a time, and the ids that it finds.
func (s *Store) FindDifferences(ctx context.Context, projectID int64, id string, d queue.Differences, limit, page int) (
	list []string, total int, err error) {
	ctx, end, err := s.events.HeavyRead(ctx, projectID, 1)
	if err != nil {
		return nil, 0, err
	}
	defer end()
	if _, err := queues.One(ctx, s.db, projectID, id); err != nil {
		return nil, 0, sqldb.WrapError(s.db, err, "read queue")
	}
	type place struct {
		event uuid.UUID
		pos   int64
	}
	var found []place
	if d == queue.Settled {
		err = sqldb.Each(ctx, s.db, `SELECT event_id, pos FROM queue_item WHERE `+ofQueue+` AND settled IS NOT NULL AND state <> 'removed'`,
			[]any{projectID, id}, func(scan func(...any) error) error {
				var p place
				err := scan(sqldb.ScanID(&p.event), &p.pos)
				found = append(found, p)
				return err
			})
	} else {
		var now place
		var given []queue.Annotation
		add := func() {
			if queue.Differ(given) {
				found = append(found, now)
			}
		}
		err = sqldb.Each(ctx, s.db, `SELECT t.event_id, i.pos, t.doc
			FROM queue_turn t
			JOIN queue_item i ON i.project_id = t.project_id AND i.queue_id = t.queue_id AND i.event_id = t.event_id
			WHERE t.project_id = $1 AND t.queue_id = $2 AND t.state = 'annotated' AND i.settled IS NULL AND i.state <> 'removed'
			ORDER BY t.event_id`, []any{projectID, id}, func(scan func(...any) error) error {
			var p place
			var doc string
			if err := scan(sqldb.ScanID(&p.event), &p.pos, &doc); err != nil {
				return err
			}
			if p != now {
				add()
				now, given = p, given[:0]
			}
			var a queue.Annotation
			a.Read(json.RawMessage(doc))
			given = append(given, a)
			return nil
		})
		add()
	}
	if err != nil {
		return nil, 0, sqldb.WrapError(s.db, err, "compare annotations")
	}
	slices.SortFunc(found, func(a, b place) int { return cmp.Compare(a.pos, b.pos) })
	total = len(found)
	from := min(limit*(page-1), total)
	for _, p := range found[from:min(from+limit, total)] {
		list = append(list, p.event.String())
	}
	return list, total, nil
}

// LoadQueueItems reads items of a queue in the order of the ids of their events. Those that are gone since they were listed are left
// out.
func (s *Store) LoadQueueItems(ctx context.Context, projectID int64, id string, events []string) ([]queue.Item, error) {
	ids := make([]uuid.UUID, 0, len(events))
	for _, text := range events {
		// The ids come from FindQueueItems. One that is no id matches no item.
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
	return list, sqldb.WrapError(s.db, err, "read items")
}

// heldItem reads an item of a queue that is held, also by an id that its session had before it moved. One that was removed is not there: it keeps its
// row only so that filters do not bring it back, and nobody may say anything of it.
func (s *Store) heldItem(ctx context.Context, tx *events.Commit, project int64, id string, event uuid.UUID) (*queue.Item, error) {
	stored, _, err := events.AliasOf(ctx, tx, project, event)
	if err != nil {
		return nil, err
	}
	items, err := s.queueItems(ctx, tx, project, id, []uuid.UUID{stored})
	if err != nil {
		return nil, err
	}
	it := items[stored]
	if it == nil || it.State == queue.Removed {
		return nil, queue.Missing(event)
	}
	return it, nil
}

// queueItems reads items with their turns, also claims that have run out: an annotator may still answer by one. What is shown
// leaves those out (queue.Item.Live). Two statements read items and turns; in a transaction that holds the queue
// they fit together, outside of one a turn may be newer than its item.
func (s *Store) queueItems(
	ctx context.Context,
	c sqldb.Conn,
	project int64,
	id string,
	events []uuid.UUID,
) (map[uuid.UUID]*queue.Item, error) {
	items := make(map[uuid.UUID]*queue.Item, len(events))
	if len(events) == 0 {
		return items, nil
	}
	cond, args := c.AnyID("event_id", 3, events)
	args = append([]any{project, id}, args...)
	err := sqldb.Each(ctx, c, `SELECT event_id, state, needed, slots, scores, added_ms, updated_ms, settled
		FROM queue_item
		WHERE `+ofQueue+` AND `+cond, args,
		func(scan func(...any) error) error {
			var it queue.Item
			var state string
			var scores, settled *string
			if err := scan(sqldb.ScanID(&it.EventID), &state, &it.Needed, &it.Slots, &scores, &it.Added, &it.Updated, &settled); err != nil {
				return err
			}
			it.State = queue.State(state)
			if scores != nil {
				it.Scores = json.RawMessage(*scores)
			}
			if settled != nil {
				s := queue.SettlementFrom(json.RawMessage(*settled))
				it.Settlement = &s
			}
			items[it.EventID] = &it
			return nil
		})
	if err != nil {
		return nil, err
	}
	err = sqldb.Each(ctx, c, selectTurns+ofQueue+` AND `+cond+` ORDER BY created_ms, annotator`, args, func(scan func(...any) error) error {
		t, err := scanTurn(scan)
		// A turn without its item was written after the items were read, outside of a transaction. It is left out.
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
