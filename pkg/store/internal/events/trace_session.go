package events

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// traceRow is a row of table trace: which session the spans of a trace belong to. Spans of one trace come in any order and
// in several requests, and only some of them name the session; the one of the smallest rank decides (event.TraceRank).
type traceRow struct {
	project     int64
	trace       uuid.UUID
	session     uuid.UUID
	provisional bool
	rank        []byte
	former      uuid.UUID // the session that gave way to this one just now
}

// rankProvisional is the rank of a session that no span has named. It is greater than any other.
var rankProvisional = []byte{2}

// rankBytes spells a rank so that it compares as bytes, in Go as in both databases:
//
//	byte 0      0 for a root, 1 for a span below another, 2 for none that named a session (rankProvisional)
//	bytes 1-8   its start, Unix nanoseconds, big endian
//	bytes 9-16  its span id
//
// They are stored: never change them.
func rankBytes(r event.TraceRank) []byte {
	b := []byte{0}
	if r.Below {
		b[0] = 1
	}
	b = binary.BigEndian.AppendUint64(b, r.Nanos)
	return append(b, r.Span[:]...)
}

// names makes the trace rows of a batch: which session each of its traces belongs to, by what the batch knows. The mapper
// lists the traces that spans name (Batch.Traces); for those it does not list, spans with a session that
// is not provisional name it themselves.
func (p *writeBatch) names(b *event.Batch) {
	listed := map[uuid.UUID]bool{}
	for _, t := range b.Traces {
		listed[t.TraceID] = true
		p.traces = append(p.traces, &traceRow{project: p.project, trace: t.TraceID, session: t.SessionID, rank: rankBytes(t.Rank)})
	}
	for _, g := range p.groups {
		switch {
		case g.trace == uuid.Nil:
		case len(g.heads) == 0: // named by a log record, which counts for less than any span
			rank := rankBytes(event.TraceRank{Below: true, Nanos: math.MaxUint64, Span: [8]byte(g.session[:8])})
			p.traces = append(p.traces, &traceRow{project: p.project, trace: g.trace, session: g.session, rank: rank})
		case g.provisional:
			p.traces = append(p.traces, &traceRow{project: p.project, trace: g.trace, session: g.session, provisional: true, rank: rankProvisional})
		case !listed[g.trace]:
			var best []byte
			for _, h := range g.heads {
				r := event.TraceRank{Below: h.parent != uuid.Nil, Nanos: uint64(math.Round(h.ev.Start * 1e6)), Span: [8]byte(h.ev.ID[:8])}
				if rank := rankBytes(r); best == nil || bytes.Compare(rank, best) < 0 {
					best = rank
				}
			}
			p.traces = append(p.traces, &traceRow{project: p.project, trace: g.trace, session: g.session, rank: best})
		}
	}
}

// resolveTraces files the spans of each trace under its session: of those that spans have named,
// in this transaction or before, the one of the smallest rank. Traces whose session is another
// one now are returned; their events must follow.
//
//  1. What the batches of the transaction say of a trace is reduced to one row, of the smallest rank.
//  2. Where this process is the only writer, a trace in the cache whose rank is as small needs no statement.
//  3. The others are written in one statement that keeps the smaller rank and answers with the row as it is now, and with
//     the session that it had before, if that was another one.
//  4. The groups of the transaction move to the sessions of their traces, in memory.
func (w *writing) resolveTraces(ctx context.Context, tx *Commit, batches []*writeBatch) (moves []*traceRow, err error) {
	byKey := map[traceKey]*traceRow{}
	var ask []*traceRow
	for _, p := range batches {
		for _, named := range p.traces {
			k := traceKey{named.project, named.trace}
			row := byKey[k]
			if row == nil {
				row = &traceRow{project: named.project, trace: named.trace, session: named.session, provisional: true, rank: rankProvisional}
				byKey[k] = row
				ask = append(ask, row)
			}
			if bytes.Compare(named.rank, row.rank) < 0 {
				row.session, row.provisional, row.rank = named.session, named.provisional, named.rank
			}
		}
	}
	if w.s.db.Exclusive() { // else another process may know better than the cache
		ask = slices.DeleteFunc(ask, func(row *traceRow) bool {
			known, ok := w.s.traces.Get(traceKey{row.project, row.trace})
			if !ok || bytes.Compare(row.rank, known.rank) < 0 {
				return false
			}
			row.session, row.provisional, row.rank = known.session, known.provisional, known.rank
			return true
		})
	}
	if len(ask) > 0 {
		slices.SortFunc(ask, func(a, b *traceRow) int {
			return writer.Key{Project: a.project, ID: a.trace}.Compare(writer.Key{Project: b.project, ID: b.trace})
		})
		if err := tx.upsertTraces(ctx, ask); err != nil {
			return nil, err
		}
		w.resolvedTraces = append(w.resolvedTraces, ask...)
	}
	for _, p := range batches {
		for _, g := range p.groups {
			if g.trace == uuid.Nil {
				continue
			}
			if row := byKey[traceKey{g.project, g.trace}]; row.session != g.session {
				g.moveTo(row.session)
			}
		}
	}
	for _, row := range ask {
		if !row.provisional && row.session != row.trace {
			moves = append(moves, row)
		}
	}
	return w.existingSessions(ctx, tx, moves)
}

// existingSessions keeps the moves whose provisional or former session holds events: mostly the session is named by the
// first request of a trace, and there is nothing to move.
func (w *writing) existingSessions(ctx context.Context, tx *Commit, moves []*traceRow) ([]*traceRow, error) {
	byProject := map[int64][]uuid.UUID{}
	for _, m := range moves {
		byProject[m.project] = append(byProject[m.project], m.trace)
	}
	found := map[traceKey]bool{}
	for project, ids := range byProject {
		for start := 0; start < len(ids); start += 500 {
			// The project first: the index begins with it.
			cond, args := tx.AnyID("session_id", 2, ids[start:min(start+500, len(ids))])
			sessions := `SELECT session_id FROM session WHERE project_id = $1 AND ` + cond
			err := sqldb.Each(ctx, tx, sessions, append([]any{project}, args...), func(scan func(...any) error) error {
				var id uuid.UUID
				err := scan(sqldb.ScanID(&id))
				found[traceKey{project, id}] = true
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return slices.DeleteFunc(moves, func(m *traceRow) bool { return m.former == uuid.Nil && !found[traceKey{m.project, m.trace}] }), nil
}

// moveTo files the group under another session.
func (g *eventGroup) moveTo(session uuid.UUID) {
	old := g.session
	g.session = session
	for _, h := range g.heads {
		h.session = session
		h.ev.SessionID = session
		if h.ev.ParentID == old {
			h.ev.ParentID = session
		}
		if h.ev.FileUnder(old) {
			h.derive()
			h.known, h.chunk = true, nil // its payload is written anew: the metadata may stand in it
		}
	}
}
