package events

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Log records bring parts of an event that its span does not have: prompts, answers, exceptions, results of evaluations. They
// come by other requests than the span, before or after it, so each is stored as a row of its own; the event is composed anew
// of its span and all of its rows whenever one comes (log_merge.go). Rows stay after that, until they expire (log_expire.go): a
// later part must find the earlier ones.

// logRow is a row of table log_part: the log parts of one span in one request. A result of an evaluation
// that names a response has a row of its own, which can belong to another event than its span's.
type logRow struct {
	id       int64
	project  int64
	span     uuid.UUID // the event id that follows from trace and span id
	hash     uuid.UUID
	trace    uuid.UUID
	event    uuid.UUID // zero: it waits
	response string
	created  int64
	z        []byte
}

// logRows makes rows of the log parts of one request, in the order of their keys, so that all
// writers take locks in one order. The hash of a row's content is part of its key: the same request a second time inserts nothing.
func (s *Store) logRows(project int64, parts []event.LogPart) []*logRow {
	type key struct {
		span     uuid.UUID
		response string
	}
	byKey := map[key]*logRow{}
	raw := map[*logRow][]byte{}
	var rows []*logRow
	created := s.options.Now().UnixMilli()
	for i := range parts {
		n := &parts[i]
		k := key{n.SpanID, indexed(n.ResponseID)} // of one that is too long, the part stays with its span
		r := byKey[k]
		if r == nil {
			r = &logRow{project: project, span: n.SpanID, trace: n.TraceID, response: k.response, created: created}
			byKey[k] = r
			rows = append(rows, r)
		}
		raw[r] = appendLogPart(raw[r], n)
	}
	for _, r := range rows {
		// Of the uncompressed bytes, so that another version of the compressor still recognizes a request that is
		// sent again. 16 of the 32 bytes are kept, in a column of ids.
		sum := sha256.Sum256(raw[r])
		copy(r.hash[:], sum[:])
		r.z = record.Compress(raw[r])
	}
	// Without an order, two transactions that insert the same rows in different orders could wait for each other.
	slices.SortFunc(rows, compareLogRows)
	return rows
}

// compareLogRows orders rows as their unique key does.
func compareLogRows(a, b *logRow) int {
	if a.project != b.project {
		return int(a.project - b.project)
	}
	if c := bytes.Compare(a.span[:], b.span[:]); c != 0 {
		return c
	}
	return bytes.Compare(a.hash[:], b.hash[:])
}

// appendLogPart appends a log part as it is stored: kind, times and place as uvarints, the length of
// the content and the content.
func appendLogPart(dst []byte, n *event.LogPart) []byte {
	dst = append(dst, byte(n.Kind))
	for _, v := range [...]uint64{n.Nanos, n.Observed, uint64(n.Seq), uint64(len(n.Content))} {
		dst = binary.AppendUvarint(dst, v)
	}
	return append(dst, n.Content...)
}

// logPartsIn reads the log parts of a row; a row without data has none, and only says that the event has another id than its
// span. Whatever the bytes are, nothing is read beyond them, and what does not fit is record.ErrDamaged.
func (s *Store) logPartsIn(r *logRow) (list []event.LogPart, err error) {
	if len(r.z) == 0 {
		return nil, nil
	}
	raw, err := record.Decompress(r.z)
	if err != nil {
		return nil, err
	}
	for len(raw) > 0 {
		n := event.LogPart{Kind: event.LogPartKind(raw[0]), SpanID: r.span, TraceID: r.trace, ResponseID: r.response}
		raw = raw[1:]
		var v [4]uint64
		for i := range v {
			x, w := binary.Uvarint(raw)
			if w <= 0 {
				return nil, record.ErrDamaged
			}
			v[i], raw = x, raw[w:]
		}
		// Compared as unsigned numbers: a length read from damaged bytes may be larger than an int.
		if v[3] > uint64(len(raw)) {
			return nil, record.ErrDamaged
		}
		n.Nanos, n.Observed, n.Seq = v[0], v[1], uint32(v[2])
		// The capacity ends with the content, so that appending to it cannot overwrite the next part.
		n.Content, raw = raw[:v[3]:v[3]], raw[v[3]:]
		list = append(list, n)
	}
	return list, nil
}

// logPartsOf reads the rows, up to the one with which there is more than an event takes.
func (s *Store) logPartsOf(rows []*logRow) (list []event.LogPart, err error) {
	size := 0
	for _, r := range rows {
		some, err := s.logPartsIn(r)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
		for i := range some {
			size += len(some[i].Content)
		}
		if size > event.MaxLogBytes {
			break
		}
	}
	return list, nil
}

const logColumns = `id, project_id, span_id, hash, trace_id, event_id, coalesce(response_id, ''), created_ms, data`

func scanLogRow(scan func(...any) error) (*logRow, error) {
	r := &logRow{}
	err := scan(
		&r.id,
		&r.project,
		sqldb.ScanID(&r.span),
		sqldb.ScanID(&r.hash),
		sqldb.ScanID(&r.trace),
		sqldb.ScanID(&r.event),
		&r.response,
		&r.created,
		&r.z,
	)
	return r, err
}
