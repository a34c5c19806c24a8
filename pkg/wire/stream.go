package wire

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"sync"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// flushBytes is the size from which a piece of an answer is handed to the connection. Larger
// pieces gain nothing; an answer below it goes out in one write with its length.
const flushBytes = 64 << 10

// keepBytes bounds the buffers kept for the next answer, so that one huge event does not pin
// its memory for good. It is in bytes, as flushBytes is.
const keepBytes = 1 << 20

// buffers are pooled by pointer, since a slice in an interface would be allocated. They have room for a piece and for
// the event that makes it full.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, flushBytes+flushBytes/4); return &b }}

// Stream writes one answer, of JSON if nothing else is said, with status 200 in pieces, so that an answer of any size
// stands in memory only one event at a time. Until the first piece is out (Started), another
// answer, such as an error, may take its place; after it a failed answer can only be broken
// off, so that nobody takes it for a whole one. The caller calls Close or Discard in the end:
//
//	s := wire.NewStream(w)
//	defer s.Discard()
//	if err := wire.WriteEvents(ctx, s, set, p, request); err != nil {
//		return err // if s.Started(), the connection must be broken off
//	}
//	return s.Close()
//
// It is used by one goroutine.
type Stream struct {
	w http.ResponseWriter
	// The pooled slice that buf began as: it goes back with the memory that buf has by then.
	pooled  *[]byte
	buf     []byte
	started bool

	// ContentType of the answer; application/json if empty.
	ContentType string

	// WholeEnd shows an event's end_time rounded up to whole milliseconds, since clients of the
	// older dialect refuse a fraction there. start_time and duration keep theirs.
	WholeEnd bool

	// The models of clients refuse a whole answer over one event that is not as they have it. FourTypes shows generic events
	// as those of tools, ObjectOutputs outputs that are no object in one, under "value".
	FourTypes, ObjectOutputs bool
}

// NewStream starts an answer. Nothing is written yet.
func NewStream(w http.ResponseWriter) *Stream {
	p := buffers.Get().(*[]byte)
	return &Stream{w: w, pooled: p, buf: (*p)[:0]}
}

// Started reports whether a part of the answer, and with it the status, has been sent.
func (s *Stream) Started() bool { return s.started }

// Close sends what is left and releases the buffer. The error is the connection's. An answer that fits into one piece
// gets its length, so that the caller can tell a whole one from one that was broken off.
func (s *Stream) Close() error {
	if !s.started {
		s.w.Header().Set("Content-Length", strconv.Itoa(len(s.buf)))
	}
	err := s.flush()
	s.Discard()
	return err
}

// Discard releases the buffer without sending it. After Close it does nothing. A buffer that has grown very large is left
// to the garbage collector.
func (s *Stream) Discard() {
	if s.pooled != nil && cap(s.buf) <= keepBytes {
		*s.pooled = s.buf[:0]
		buffers.Put(s.pooled)
	}
	s.pooled, s.buf = nil, nil
}

// load returns event i of set as it is to be shown.
func (s *Stream) load(ctx context.Context, set *event.Set, i int) (event.Event, error) {
	e, err := set.Load(ctx, i)
	if s.WholeEnd {
		e.End = math.Ceil(e.End)
	}
	if s.FourTypes && e.Type == event.TypeGeneric {
		e.Type = event.TypeTool
	}
	if s.ObjectOutputs && !rawjson.Null(e.Outputs) && rawjson.KindOf(e.Outputs) != '{' {
		e.Outputs = object(objectMember{"value", e.Outputs})
	}
	return e, err
}

// Append lets add append to the answer, and sends what has become enough. The error is add's or
// the connection's.
func (s *Stream) Append(add func(dst []byte) ([]byte, error)) error {
	buf, err := add(s.buf)
	if err != nil {
		return err
	}
	s.buf = buf
	return s.flushFull()
}

// text appends plain JSON text.
func (s *Stream) text(t string) { s.buf = append(s.buf, t...) }

// flushFull sends the buffer if it holds enough.
func (s *Stream) flushFull() error {
	if len(s.buf) < flushBytes {
		return nil
	}
	return s.flush()
}

// flush sends the buffer, and before the first piece the status. The error is the connection's.
func (s *Stream) flush() error {
	if !s.started {
		s.started = true
		contentType := s.ContentType
		if contentType == "" {
			contentType = "application/json"
		}
		s.w.Header().Set("Content-Type", contentType)
		s.w.WriteHeader(http.StatusOK)
	}
	_, err := s.w.Write(s.buf)
	s.buf = s.buf[:0]
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "the caller is gone")
	}
	return nil
}

// WriteJSON sends a small JSON object with status 200. The error is the connection's.
func WriteJSON(w http.ResponseWriter, object []byte) error {
	return WriteJSONStatus(w, http.StatusOK, object)
}

// WriteJSONStatus is WriteJSON with another status.
func WriteJSONStatus(w http.ResponseWriter, status int, object []byte) error {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(object)))
	w.WriteHeader(status)
	_, err := w.Write(object)
	return err
}

// Text appends plain JSON text to the answer.
func (s *Stream) Text(t string) { s.text(t) }
