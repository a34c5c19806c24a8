package events

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/sessiontree"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
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

// Stored is an event with the columns of its row. Its payload is there only once it was filled in (fill).
type Stored struct {
	event.Event
	project int64
	Day     int32  // in days since 1970; part of the row's key, with project and id
	Spill   int    // which fields stand in the payload (query.Spill…), and flags (flagUnfinished, …)
	chunk   *int64 // where the payload is; nil: there is none
	off     int    // where its record begins in the chunk, which is uncompressed
	runID   string
	trace   int64 // hash of the trace; 0: not a span's event
	gone    bool  // it was deleted before its payload was read

	former *int64 // the chunk that its payload was in at first, if it has left it; set of one that is to be deleted (beside)
}

// Columns lists the head columns in the order ScanHead reads them.
func (s *Store) Columns() string {
	return `
		e.project_id,
		e.day,
		e.event_id,
		` + s.Dialect.SessionID() + `,
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

// ScanHead reads a row of Columns, without the payload that its chunk holds.
func ScanHead(scan func(...any) error) (*Stored, error) {
	var r Stored
	var typ int
	e := &r.Event
	err := scan(
		&r.project,
		&r.Day,
		sqldb.ScanID(&e.ID),
		sqldb.ScanID(&e.SessionID),
		sqldb.ScanID(&e.ParentID),
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
		&r.Spill,
		&r.chunk,
		&r.off,
		&r.trace,
	)
	if err != nil {
		return nil, err
	}
	// The row has what the reader cannot see elsewhere; everything in the payload is still empty here.
	e.Type = query.TypeOf(typ)
	// A parent that is the session itself is stored as NULL, so that a session that moves need not rewrite its roots.
	if e.ParentID == uuid.Nil && !e.IsSession() {
		e.ParentID = e.SessionID
	}
	// Flags restore what the sender reported and what the server did with it, which no field of the event shows.
	// Without them an event that is read and written again (Rewrite) would be another one.
	e.Unfinished, e.OutputsSet = r.Spill&flagUnfinished != 0, r.Spill&flagOutputsSet != 0
	e.DurationGiven, e.EndGiven = r.Spill&flagDuration != 0, r.Spill&flagEnd != 0
	e.Fixed, e.Named = r.Spill&flagFixed != 0, r.Spill&flagNamed != 0
	e.Wrapper, e.Duplicate, e.Filled = r.Spill&sessiontree.FlagWrapper != 0, r.Spill&sessiontree.FlagDuplicate != 0, r.Spill&sessiontree.FlagFilled != 0
	e.DerivedError, e.PayloadExpired = r.Spill&flagRootError != 0, r.Spill&flagExpired != 0
	return &r, nil
}

// load reads one event whole, and in a transaction holds its row, so that no other writer's
// change is lost. fault.NotFound if it is not there.
//
// Outside a transaction row and chunk are two reads, and an update in between may have put the payload into another chunk
// and deleted this one: then the row is read again. If the same chunk is missing twice, the data is damaged.
func (s *Store) load(ctx context.Context, c sqldb.Conn, project int64, day int32, id uuid.UUID) (*Stored, error) {
	// Chunk ids begin with 1, so 0 is none that has been missed yet.
	for gone := int64(0); ; {
		r, err := s.loadHead(ctx, c, project, day, id)
		if err != nil || r.chunk == nil {
			return r, err
		}
		// Uncompressed and from the cache, if a neighbour's payload was read before: one chunk holds many events of a session.
		err = s.fillFrom(ctx, c, r)
		// Each round needs another update in between, so this ends as soon as nobody writes the event.
		if errors.Is(err, errNoChunk) && *r.chunk != gone {
			gone = *r.chunk // an update came between the two reads
			continue
		}
		if err != nil {
			return nil, err
		}
		return r, nil
	}
}

// loadHead reads one event's row.
func (s *Store) loadHead(ctx context.Context, c sqldb.Conn, project int64, day int32, id uuid.UUID) (*Stored, error) {
	// ForUpdate is empty outside a transaction, and on SQLite, where a transaction that writes is the only one anyway.
	text := `SELECT ` + s.Columns() + `
		FROM ` + s.Dialect.From() + `
		WHERE e.project_id = $1 AND e.day = $2 AND e.event_id = $3` + c.ForUpdate("e")
	rs, err := c.Query(ctx, text, project, day, c.ID(id))
	if err != nil {
		return nil, err
	}
	var r *Stored
	if rs.Next() {
		r, err = ScanHead(rs.Scan)
	}
	if err == nil {
		err = rs.Err()
	}
	// Closed before the error is looked at: the connection of a transaction takes no other statement until then.
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
func (r *Stored) fill(raw []byte) error {
	// An offset beyond its chunk would be a mistake of a writer or a damaged file; it must not bring the server down.
	if r.off > len(raw) {
		return fmt.Errorf("event %s: %w", r.ID, record.ErrDamaged)
	}
	if _, err := record.Read(raw[r.off:], &r.Event); err != nil {
		return fmt.Errorf("event %s: %w", r.ID, err)
	}
	return nil
}
