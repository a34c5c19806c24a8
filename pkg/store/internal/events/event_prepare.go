package events

import (
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// eventGroup is the events of one request that share session and trace. Their payload is compressed together, and they
// move together if their trace turns out to belong to another session.
type eventGroup struct {
	part        batchPart // the request, and the session the group had when it was prepared
	project     int64
	session     uuid.UUID
	trace       uuid.UUID // zero: native events, or spans whose session is fixed
	provisional bool      // no span of the request has named the trace's session
	heads       []*head
	chunks      []*record.Chunk // one or more a day
	hint        *event.SessionHint
}

// writeBatch is one request, ready for the writer. It is made once and may be tried in several transactions, alone or
// together with other requests.
type writeBatch struct {
	project int64
	traces  []*traceRow
	groups  []*eventGroup
	logs    []*logRow
	events  int
	spans   int // of the events, those that came as OTLP spans
	bytes   int64
}

// Keys implements writer.Batch.
func (b *writeBatch) Keys() iter.Seq[writer.Key] {
	return func(yield func(writer.Key) bool) {
		for _, g := range b.groups {
			for _, h := range g.heads {
				if !yield(writer.Key{Project: h.project, ID: h.ev.ID}) {
					return
				}
			}
		}
	}
}

// Days implements writer.Batch.
func (b *writeBatch) Days() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for _, g := range b.groups {
			for _, h := range g.heads {
				if !yield(h.day) {
					return
				}
			}
		}
	}
}

// Size implements writer.Batch.
func (b *writeBatch) Size() (events int, bytes int64) { return b.events, b.bytes }

// maxMerged bounds the bytes of events into which the further copies of a request are merged, each of which makes its event anew.
const maxMerged = 256 << 20

// prepare checks a batch, groups its events by session and compresses their payload, all of
// it outside the writer. A repeated id within the batch is folded into its first event.
//
//  1. Each event is validated and its start checked: a span that begins outside the window is moved to now, a
//     native event is refused. The error names the event, and nothing of the batch is stored.
//  2. Events are grouped by session and trace. An event with a session of its own (Fixed) is not in its trace's group.
//  3. Rows are derived, costs computed, traces named (names), and the part of each session's tree that came is
//     corrected (correct), before any of it is compressed.
//  4. Payloads are put into chunks and these are compressed on all processors.
//
// The filters of ids are asked here only to decide whether a payload can be compressed in advance; split asks again
// within the transaction.
//
// Past maxMerged a native request is refused, and copies of spans are left out.
func (s *Store) prepare(projectID int64, b event.Batch) (*writeBatch, error) {
	p := &writeBatch{project: projectID}
	b.Events = slices.Clone(b.Events) // repeats and moves change them, and the caller may send them again
	type key struct {
		session, trace uuid.UUID
	}
	groups := map[key]*eventGroup{}
	byID := make(map[uuid.UUID]*head, len(b.Events))
	merged := 0
	hints := make(map[uuid.UUID]*event.SessionHint, len(b.Sessions))
	// A request may describe a session more than once. The first description counts.
	for i := range b.Sessions {
		if hints[b.Sessions[i].SessionID] == nil {
			hints[b.Sessions[i].SessionID] = &b.Sessions[i]
		}
	}
	var daysBuf [8]int32
	now := s.options.Now()
	for i := range b.Events {
		e := &b.Events[i]
		// The first invalid event refuses the whole request: a sender that is told so can correct it and send all
		// of it again, without asking which events were stored.
		if err := e.Validate(); err != nil {
			return nil, fault.In(fmt.Sprintf("events[%d]", i), err)
		}
		if e.TraceID != uuid.Nil {
			// A span is moved rather than refused: exporters drop the whole batch that one is refused in, and
			// nobody reads the answer. The sender of a native request does, and can correct the time.
			s.options.Window.Adjust(e, now)
		} else if err := s.options.Window.Check(&e.Event, now); err != nil {
			return nil, fault.In(fmt.Sprintf("events[%d]", i), err)
		}
		if first := byID[e.ID]; first != nil {
			// Here it costs no transaction. The writer relies on it: an id occurs once in a request.
			switch merged += first.in.Bytes(); {
			case merged <= maxMerged || first.in.Unfinished && !e.Unfinished:
				first.in.Repeat(e)
			case e.TraceID == uuid.Nil:
				return nil, fault.In(fmt.Sprintf("events[%d].event_id", i), fault.New(fault.TooLarge,
					"too many copies of large events in one request: together they are merged into more than %d MiB", maxMerged>>20))
			}
			continue
		}
		k := key{session: e.SessionID}
		if !e.Fixed {
			k.trace = e.TraceID
		}
		g := groups[k]
		if g == nil {
			// Fixed events have trace zero in the key: if their trace moves to another session, they stay where they are.
			g = &eventGroup{project: projectID, session: k.session, trace: k.trace, provisional: e.Provisional, hint: hints[k.session]}
			groups[k] = g
			p.groups = append(p.groups, g)
		}
		// An event that may be a repeat is not put into a chunk yet: its payload would most likely be compressed in vain.
		days, far := s.idFilter.mayContain(projectID, e.ID, daysBuf[:0])
		h := &head{ev: &e.Event, in: e, project: projectID, session: e.SessionID, known: len(days) > 0 || far}
		byID[e.ID] = h
		g.heads = append(g.heads, h)
		p.events++
		if e.TraceID != uuid.Nil {
			p.spans++
		}
	}
	p.logs = s.logRows(projectID, b.LogParts)
	for _, r := range p.logs {
		// What counts against the 8 MB of one transaction is what it writes: log parts compressed, payloads as they are.
		p.bytes += int64(len(r.z))
	}
	// A session that only a log record names is a group without events: it names the session for its trace.
	for i := range b.LogParts {
		n := &b.LogParts[i]
		if k := (key{n.Session, n.TraceID}); n.Session != uuid.Nil && groups[k] == nil {
			groups[k] = &eventGroup{project: projectID, session: k.session, trace: k.trace}
			p.groups = append(p.groups, groups[k])
		}
	}
	for _, g := range p.groups {
		g.part = batchPart{p, g.session}
		for _, h := range g.heads {
			h.totalled, h.priced = totalNew(h.in), s.priceNew(h.in)
			h.derive()
		}
	}
	p.names(&b)
	// Corrections change payloads and rows, so they come before shapes are taken and chunks are filled.
	p.correct()
	for _, g := range p.groups {
		for _, h := range g.heads {
			h.shape = shapeOf(h.ev, h.datasetID)
			if !h.known {
				p.bytes += int64(g.addPayload(h))
			}
		}
	}
	p.compress()
	return p, nil
}

// Compress closes all chunks, on all processors: requests of one sender come one after another,
// and each waits for its answer.
func (p *writeBatch) compress() {
	var open []*record.Chunk
	for _, g := range p.groups {
		open = append(open, g.chunks...)
	}
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < len(open); i = int(next.Add(1)) - 1 {
			open[i].Compress()
		}
	}
	var helpers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(open)) - 1 {
		helpers.Go(work)
	}
	work()
	helpers.Wait()
}

// addPayload appends the event's payload to the group's open chunk of its day.
func (g *eventGroup) addPayload(h *head) (bytes int) {
	if !record.HasPayload(h.ev, h.spill) {
		return 0
	}
	var c *record.Chunk
	for i := len(g.chunks) - 1; i >= 0; i-- {
		if open := g.chunks[i]; open.Day == h.day && open.Raw != nil && len(open.Raw) < record.ChunkBytes {
			c = open
			break
		}
	}
	e := h.ev
	// An estimate: 64 bytes for lengths, and nothing for fields that spill. A chunk may pass ChunkBytes by it, and
	// by a single event that is larger, which gets a chunk of its own; the format has no bound of its own.
	size := len(e.Inputs) + len(e.Outputs) + len(e.Config) + len(e.ColdMetadata) + 64
	if c == nil || (len(c.Raw) > 0 && len(c.Raw)+size > record.ChunkBytes) {
		c = &record.Chunk{Day: h.day, Raw: record.RawBuffer(size)}
		g.chunks = append(g.chunks, c)
	}
	h.chunk, h.off, h.config = c, len(c.Raw), e.Config
	c.Raw = record.Append(c.Raw, e, h.spill)
	return len(c.Raw) - h.off
}
