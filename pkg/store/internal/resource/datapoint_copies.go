package resource

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Copies are datapoints that were made of events: a deletion of the event leaves them, and lists them in its answer, so that
// whoever wants a text gone everywhere can delete them, too. Which event a datapoint is a copy of, it says itself, in the
// form that its sender wrote, hence lower(); an index of that expression finds it in both databases (datapoint_event).

// Copies lists the datapoints that were made of an event, or, if id is a session's, of any event in
// it, oldest first: at most limit of them, and counts all.
func (s *Store) Copies(ctx context.Context, projectID int64, id uuid.UUID, limit int) (datapoints []string, total int, err error) {
	ctx, end, err := s.events.HeavyRead(ctx, projectID, 1)
	if err != nil {
		return nil, 0, err
	}
	defer end()
	// The id itself first: datapoints may be copies of an event that is deleted already, or of a session under a former id.
	ids := []uuid.UUID{id}
	if to, ok, err := events.AliasOf(ctx, s.db, projectID, id); err != nil {
		return nil, 0, sqldb.WrapError(s.db, err, "find copies")
	} else if ok {
		id = to
		ids = append(ids, to)
	}
	err = sqldb.Each(ctx, s.db, `SELECT event_id
		FROM event
		WHERE `+s.events.Dialect.OfSession(), []any{projectID, s.db.ID(id)}, func(scan func(...any) error) error {
		var x uuid.UUID
		err := scan(sqldb.ScanID(&x))
		ids = append(ids, x)
		return err
	})
	for group := range slices.Chunk(ids, sqldb.IDsPerQuery) {
		if err != nil {
			break
		}
		texts := make([]string, len(group))
		for i, x := range group {
			texts[i] = x.String()
		}
		// Written as in the index, which a condition in other words would not use.
		cond, args := s.db.AnyText("lower("+linkedEvent+")", 2, texts)
		err = sqldb.Each(ctx, s.db, `SELECT id
			FROM datapoint
			WHERE project_id = $1 AND `+linkedEvent+` IS NOT NULL AND `+cond, append([]any{projectID}, args...),
			func(scan func(...any) error) error {
				var point string
				err := scan(&point)
				datapoints = append(datapoints, point)
				return err
			})
	}
	if err != nil {
		return nil, 0, sqldb.WrapError(s.db, err, "find copies")
	}
	slices.Sort(datapoints) // ids begin with their time
	datapoints = slices.Compact(datapoints)
	return datapoints[:min(limit, len(datapoints))], len(datapoints), nil
}

// linkedEvent is the event of which a datapoint was made, as text; NULL: none.
const linkedEvent = `(doc ->> 'linked_event')`

// DeleteCopies deletes the datapoints that Copies lists, and counts them. Each is a deletion of its own, with new versions of its
// datasets. It asks again until there are none; if it fails on the way, what is deleted stays deleted, and is counted.
func (s *Store) DeleteCopies(ctx context.Context, projectID int64, id uuid.UUID) (n int, err error) {
	// So many ids are in memory at a time, however many copies there are.
	const slice = 1000
	for {
		list, total, err := s.Copies(ctx, projectID, id, slice)
		if err != nil || total == 0 {
			return n, err
		}
		for _, point := range list {
			if err := s.DeleteDatapoint(ctx, projectID, point); err != nil && fault.Of(err) != fault.NotFound {
				return n, err
			}
			n++
		}
	}
}
