package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
)

// headColumns are the columns of an event's row in the order in which insertHeads writes them, without that of its
// session, in which the databases differ, and version.
const headColumns = `
	project_id,
	day,
	event_id,
	parent_id,
	type,
	name,
	source,
	error,
	start_ms,
	end_ms,
	duration,
	metadata,
	metrics,
	feedback,
	user_properties,
	children_ids,
	run_id,
	user_id,
	spill,
	chunk,
	chunk_offset,
	trace_hash,
	duplicate_key,
	span_id,
	target_id`

// stored is an event with the columns of its row.
type stored struct {
	event.Event
	project int64
	day     int32
	spill   int
	chunk   *int64
	off     int
	runID   string
	trace   int64 // 0: not a span's event
}

// columns lists the head columns in the order scanHead reads them.
func (s *Store) columns() string {
	return `
		e.project_id,
		e.day,
		e.event_id,
		` + s.dialect.SessionID() + `,
		e.parent_id,
		e.type,
		e.name,
		e.source,
		e.error,
		e.start_ms,
		e.end_ms,
		e.duration,
		e.metadata,
		e.metrics,
		e.feedback,
		e.user_properties,
		e.children_ids,
		coalesce(e.run_id, ''),
		e.spill,
		e.chunk,
		coalesce(e.chunk_offset, 0),
		coalesce(e.trace_hash, 0)`
}

func scanHead(scan func(...any) error) (*stored, error) {
	var r stored
	var typ int
	e := &r.Event
	err := scan(
		&r.project,
		&r.day,
		scanID(&e.ID),
		scanID(&e.SessionID),
		scanID(&e.ParentID),
		&typ,
		&e.Name,
		&e.Source,
		&e.Error,
		&e.Start,
		&e.End,
		&e.Duration,
		(*[]byte)(&e.Metadata),
		(*[]byte)(&e.Metrics),
		(*[]byte)(&e.Feedback),
		(*[]byte)(&e.UserProperties),
		(*[]byte)(&e.ChildrenIDs),
		&r.runID,
		&r.spill,
		&r.chunk,
		&r.off,
		&r.trace,
	)
	if err != nil {
		return nil, err
	}
	e.Type = query.TypeOf(typ)
	if e.ParentID == uuid.Nil && !e.IsSession() {
		e.ParentID = e.SessionID
	}
	e.Unfinished, e.OutputsSet = r.spill&flagUnfinished != 0, r.spill&flagOutputsSet != 0
	e.DurationGiven = r.spill&flagDuration != 0
	e.Fixed, e.Named = r.spill&flagFixed != 0, r.spill&flagNamed != 0
	e.Wrapper, e.Duplicate, e.Filled = r.spill&flagWrapper != 0, r.spill&flagDuplicate != 0, r.spill&flagFilled != 0
	e.DerivedError = r.spill&flagRootError != 0
	return &r, nil
}

// load reads one event whole, and in a transaction holds its row, so that no other writer's
// change is lost. fault.NotFound if it is not there.
func (s *Store) load(ctx context.Context, c conn, project int64, day int32, id uuid.UUID) (*stored, error) {
	for gone := int64(0); ; {
		r, err := s.loadHead(ctx, c, project, day, id)
		if err != nil || r.chunk == nil {
			return r, err
		}
		raw, err := s.chunk(ctx, c, r.day, *r.chunk)
		if errors.Is(err, errNoChunk) && *r.chunk != gone {
			gone = *r.chunk // an update came between the two reads
			continue
		}
		if err == nil {
			err = r.fill(raw)
		}
		if err != nil {
			return nil, err
		}
		return r, nil
	}
}

// loadHead reads one event's row.
func (s *Store) loadHead(ctx context.Context, c conn, project int64, day int32, id uuid.UUID) (*stored, error) {
	text := `SELECT ` + s.columns() + `
		FROM ` + s.dialect.From() + `
		WHERE e.project_id = $1 AND e.day = $2 AND e.event_id = $3` + c.forUpdate("e")
	rs, err := c.query(ctx, text, project, day, c.id(id))
	if err != nil {
		return nil, err
	}
	var r *stored
	if rs.Next() {
		r, err = scanHead(rs.Scan)
	}
	if err == nil {
		err = rs.Err()
	}
	rs.Close()
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, fault.New(fault.NotFound, "no event %s", id)
	}
	return r, nil
}

// fill adds the payload from the event's chunk.
func (r *stored) fill(raw []byte) error {
	if r.off > len(raw) {
		return fmt.Errorf("event %s: %w", r.ID, errRecord)
	}
	if _, err := readRecord(raw[r.off:], &r.Event); err != nil {
		return fmt.Errorf("event %s: %w", r.ID, err)
	}
	return nil
}
