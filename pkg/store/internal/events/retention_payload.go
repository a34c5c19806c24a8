package events

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// A payload goes by the day of its event, so that no text is older than the rule says, however long its session goes on. The
// row of the event stays, names no chunk any more and has flagExpired. Fields that are in the payload only because they
// are large (record.HeadFields) are kept, in a chunk without the rest.
//
// All events of a chunk are of one session and one day, so it goes as a whole, unread, but for events with such fields.

const (
	// payloadPage is how many events are looked at once, and payloadSlice how many chunks go in one transaction.
	payloadPage  = 500
	payloadSlice = 100
)

// sweptPayloads remembers, by project, before which time no event has a payload that is to go, Unix milliseconds. Events that are
// stored or changed later make the time earlier. What other servers store on such days they remember themselves; when
// a process begins it looks at all events once.
type sweptPayloads struct {
	mu     sync.Mutex
	before map[int64]float64
}

// begin returns from when on events are to be looked at, and takes that as done.
func (p *sweptPayloads) begin(project int64, before float64) (from float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	from = p.before[project]
	p.before[project] = max(from, before)
	return from
}

// undone takes back what begin took as done.
func (p *sweptPayloads) undone(project int64, from float64) { p.late(map[int64]float64{project: from}) }

// late says when the earliest events began that were stored with a payload, by project.
func (p *sweptPayloads) late(starts map[int64]float64) {
	if len(starts) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for project, start := range starts {
		if before, ok := p.before[project]; ok && start < before {
			p.before[project] = start
		}
	}
}

// storedPayload records that an event has a payload from this commit on.
func (c *Commit) storedPayload(project int64, start float64) {
	if first, ok := c.payloads[project]; !ok || start < first {
		c.payloads[project] = start
	}
}

// expirePayloads removes the payload of a project's events that began before a time, Unix milliseconds, which is the begin of
// a day, and counts these events.
func (s *Store) expirePayloads(ctx context.Context, project int64, before float64, turn Turn) (n int64, err error) {
	from := s.swept.begin(project, before)
	defer func() {
		if err != nil {
			s.swept.undone(project, from)
		}
	}()
	for at := from; ; {
		// A day at a time, so that no statement reads for long where nearly nothing is to go.
		var next *float64
		if _, err := sqldb.One(ctx, s.db, `SELECT min(start_ms)
			FROM event
			WHERE project_id = $1 AND start_ms >= $2 AND start_ms < $3`, []any{project, at, before}, &next); err != nil || next == nil {
			return n, err
		}
		day := dayOf(*next)
		some, err := s.expirePayloadsOf(ctx, project, day, turn)
		n += some
		if err != nil {
			return n, err
		}
		at = float64(day+1) * dayMillis
	}
}

// withPayload is a chunk with payload that is to go.
type withPayload struct {
	session uuid.UUID
	chunk   int64
}

// expirePayloadsOf removes the payload of a project's events of one day.
func (s *Store) expirePayloadsOf(ctx context.Context, project int64, day int32, turn Turn) (n int64, err error) {
	for from := float64(day) * dayMillis; ; {
		list, last, err := s.payloadsOf(ctx, project, day, from)
		if err != nil || len(list) == 0 {
			return n, err
		}
		from = last // what went is not found again
		gone := n
		for _, batch := range s.payloadBatches(list) {
			if err := turn(ctx); err != nil {
				return n, err
			}
			began := time.Now()
			some, err := s.expireChunks(ctx, project, day, batch)
			n += some
			if err != nil {
				return n, err
			}
			s.Rest(ctx, began)
		}
		if n == gone { // all of them were changed meanwhile, and are found by the next pass
			return n, nil
		}
	}
}

// payloadsOf lists chunks of a day that hold a payload that is to go, of events that began at a time or later, and returns when
// the last of them began.
func (s *Store) payloadsOf(ctx context.Context, project int64, day int32, from float64) (list []withPayload, last float64, err error) {
	seen := map[int64]bool{}
	err = sqldb.Each(ctx, s.db, `SELECT `+s.Dialect.SessionID()+`, e.chunk, e.start_ms
		FROM `+s.Dialect.From()+`
		WHERE e.project_id = $1 AND e.start_ms >= $2 AND e.start_ms < $3 AND e.chunk IS NOT NULL AND (e.spill & $4) = 0
		ORDER BY e.start_ms
		LIMIT $5`, []any{project, from, float64(day+1) * dayMillis, flagExpired, payloadPage}, func(scan func(...any) error) error {
		var p withPayload
		err := scan(sqldb.ScanID(&p.session), &p.chunk, &last)
		if !seen[p.chunk] {
			seen[p.chunk] = true
			list = append(list, p)
		}
		return err
	})
	return list, last, err
}

// payloadBatches shares out chunks among transactions, each of sessions of one writer.
func (s *Store) payloadBatches(list []withPayload) (batches [][]withPayload) {
	byWriter := map[int][]withPayload{}
	for _, p := range list {
		w := 0
		if !s.db.Exclusive() {
			w = s.writerOf(p.session)
		}
		byWriter[w] = append(byWriter[w], p)
	}
	for _, of := range byWriter {
		batches = slices.AppendSeq(batches, slices.Chunk(of, payloadSlice))
	}
	return batches
}

// expireChunks removes the payload of the events of some chunks in one transaction, and counts these events.
func (s *Store) expireChunks(ctx context.Context, project int64, day int32, batch []withPayload) (n int64, err error) {
	ids := make([]int64, len(batch))
	for i, p := range batch {
		ids[i] = p.chunk
	}
	err = s.Change(ctx, project, batch[0].session, 0, func(ctx context.Context, tx *Commit) error {
		n = 0
		var unused []int64
		for _, p := range batch {
			some, used, err := s.expireChunk(ctx, tx, project, day, p)
			if err != nil {
				return err
			}
			if !used {
				unused = append(unused, p.chunk)
			}
			n += some
		}
		if err := s.dropChunks(ctx, tx, []int32{day}, unused...); err != nil { // together: they may stand in one pack
			return err
		}
		if n == 0 {
			return nil
		}
		tx.Counts.Shrunk(project)
		if err := tx.Deleted(ctx); err != nil {
			return err
		}
		return eraseNamesLater(ctx, tx, project)
	})
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		s.chunks.drop(id)
	}
	return n, nil
}

// expireChunk removes the payload of the events of a chunk, and reports whether other events use the chunk, or may do so.
func (s *Store) expireChunk(ctx context.Context, tx *Commit, project int64, day int32, p withPayload) (n int64, used bool, err error) {
	key := []any{project, tx.ID(p.session), p.chunk, day}
	// Fields of the head that are in the chunk are read first, and get a chunk of their own.
	var large []uuid.UUID
	err = sqldb.Each(ctx, tx, `SELECT event_id
		FROM event
		WHERE `+s.Dialect.OfSession()+` AND chunk = $3 AND day = $4 AND (spill & $5) <> 0`, append(key, record.HeadFields),
		func(scan func(...any) error) error {
			var id uuid.UUID
			err := scan(sqldb.ScanID(&id))
			large = append(large, id)
			return err
		})
	if err != nil {
		return 0, false, err
	}
	for _, id := range large {
		if err := s.keepHeadFields(ctx, tx, project, day, id); err != nil {
			return 0, false, err
		}
	}
	n, err = tx.Exec(ctx, `UPDATE event
		SET chunk = NULL, chunk_offset = 0, spill = (spill & $5) | $6, version = version + 1
		WHERE `+s.Dialect.OfSession()+` AND chunk = $3 AND day = $4`, append(key, ^payloadFlags, flagExpired)...)
	if err != nil {
		return 0, false, err
	}
	n += int64(len(large))
	if n == 0 {
		// They were changed or deleted since the chunk was listed, by somebody who has seen to it, or have moved to another session,
		// where the next pass finds them.
		tx.storedPayload(project, float64(day)*dayMillis)
		return 0, true, nil
	}
	tx.sessionChanged(project, p.session, event.ChangeEvent)
	// Events of other days may be in it, of a session whose payloads were brought together.
	var left int
	used, err = sqldb.One(ctx, tx, `SELECT 1 FROM event WHERE `+s.Dialect.OfSession()+` AND chunk = $3 LIMIT 1`, key[:3], &left)
	return n, used, err
}

// payloadFlags are the flags of a row about what goes with the payload.
const payloadFlags = query.SpillCold | flagInputs | flagOutputs

// keepHeadFields removes the payload of an event some of whose other fields are in its chunk, too: these get a chunk of their own.
func (s *Store) keepHeadFields(ctx context.Context, tx *Commit, project int64, day int32, id uuid.UUID) error {
	old, err := s.load(ctx, tx, project, day, id)
	if fault.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	now := old.Event
	now.Inputs, now.Outputs, now.Config, now.ColdMetadata = nil, nil, nil, nil
	h, c := headOf(&now, project)
	if c.ID, err = tx.nextChunkID(ctx); err != nil {
		return err
	}
	if err := tx.insertChunks(ctx, []record.Chunk{*c}); err != nil {
		return err
	}
	tx.unpacked(project, old.SessionID)
	tx.Counts.Stored(project, int64(len(c.Z)))
	_, err = tx.Exec(ctx, `UPDATE event
		SET chunk = $4, chunk_offset = $5, spill = (spill & $6) | $7, version = version + 1
		WHERE project_id = $1 AND day = $2 AND event_id = $3`, project, day, tx.ID(id), c.ID, h.off, ^payloadFlags, flagExpired)
	return err
}
