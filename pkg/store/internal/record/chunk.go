// Package record encodes the payload of events as bytes: records of one event each, and chunks of them,
// compressed together because the steps of a conversation repeat each other.
package record

import (
	"encoding/binary"
	"errors"
	"sync"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
)

// A chunk is a compressed block of records, one an event. A record is a list of fields, each a tag
// byte, the length as a uvarint and the bytes, ended by tag 0. A head row names its chunk and
// the record's offset in the uncompressed bytes.

// Tags of a record. They are stored: never renumber.
const (
	tagEnd byte = iota
	tagInputs
	tagOutputs
	tagConfig
	tagCold
	tagMetadata
	tagMetrics
	tagFeedback
	tagUserProperties
	tagChildrenIDs
	tagError
)

// Bounds of the layout.
const (
	// headFieldBytes is how large a field may be to stay in the head row. One fat metadata
	// would make every scan read it.
	headFieldBytes = 8 << 10
	// ChunkBytes is the uncompressed size at which a chunk is closed: large enough that the
	// events of a session share it, small enough that one event is read in under a millisecond.
	ChunkBytes = 256 << 10
)

// InPayload are the bits of the spill column that say that a field is in the payload; the others
// mark the row.
const InPayload = HeadFields | query.SpillCold

// Spills names, for each field that may leave the head, its bit and its tag.
var Spills = []struct {
	Bit int
	tag byte
	Of  func(*event.Event) *[]byte
}{
	{query.SpillMetadata, tagMetadata, func(e *event.Event) *[]byte { return (*[]byte)(&e.Metadata) }},
	{query.SpillMetrics, tagMetrics, func(e *event.Event) *[]byte { return (*[]byte)(&e.Metrics) }},
	{query.SpillFeedback, tagFeedback, func(e *event.Event) *[]byte { return (*[]byte)(&e.Feedback) }},
	{query.SpillUserProperties, tagUserProperties, func(e *event.Event) *[]byte { return (*[]byte)(&e.UserProperties) }},
	{query.SpillChildrenIDs, tagChildrenIDs, func(e *event.Event) *[]byte { return (*[]byte)(&e.ChildrenIDs) }},
}

// SpillOf returns the bits of the fields of e that are in its payload.
func SpillOf(e *event.Event) (bits int) {
	for _, f := range Spills {
		if len(*f.Of(e)) > headFieldBytes {
			bits |= f.Bit
		}
	}
	if e.Error != nil && len(*e.Error) > headFieldBytes {
		bits |= query.SpillError
	}
	if len(e.ColdMetadata) > 0 {
		bits |= query.SpillCold
	}
	return bits
}

// HasPayload reports whether e needs a record at all.
func HasPayload(e *event.Event, spill int) bool {
	return len(e.Inputs)+len(e.Outputs)+len(e.Config) > 0 || spill&InPayload != 0
}

// Append appends the payload of e.
func Append(dst []byte, e *event.Event, spill int) []byte {
	field := func(tag byte, b []byte) {
		if len(b) > 0 {
			dst = append(dst, tag)
			dst = binary.AppendUvarint(dst, uint64(len(b)))
			dst = append(dst, b...)
		}
	}
	field(tagInputs, e.Inputs)
	field(tagOutputs, e.Outputs)
	field(tagConfig, e.Config)
	field(tagCold, e.ColdMetadata)
	for _, f := range Spills {
		if spill&f.Bit != 0 {
			field(f.tag, *f.Of(e))
		}
	}
	if spill&query.SpillError != 0 {
		field(tagError, []byte(*e.Error))
	}
	return append(dst, tagEnd)
}

// ErrDamaged is returned for bytes that are no record, or not a whole one.
var ErrDamaged = errors.New("payload record is damaged")

// Read fills e with the record that starts raw. The fields are slices of raw.
// It returns the record's length.
func Read(raw []byte, e *event.Event) (int, error) {
	at := 0
	for {
		if at >= len(raw) {
			return 0, ErrDamaged
		}
		tag := raw[at]
		at++
		if tag == tagEnd {
			return at, nil
		}
		n, w := binary.Uvarint(raw[at:])
		if w <= 0 || n > uint64(len(raw)-at-w) {
			return 0, ErrDamaged
		}
		at += w
		b := raw[at : at+int(n) : at+int(n)]
		at += int(n)
		switch tag {
		case tagInputs:
			e.Inputs = b
		case tagOutputs:
			e.Outputs = b
		case tagConfig:
			e.Config = b
		case tagCold:
			e.ColdMetadata = b
		case tagError:
			s := string(b)
			e.Error = &s
		default:
			for _, f := range Spills {
				if f.tag == tag {
					*f.Of(e) = b
				}
			}
		}
	}
}

// rawBuffers are for building chunks; a chunk is built and compressed within one request.
var rawBuffers = sync.Pool{New: func() any { return []byte(nil) }}

// RawBuffer returns an empty buffer for records of so many bytes in all.
func RawBuffer(size int) []byte {
	b := rawBuffers.Get().([]byte) //nolint:errcheck // the pool holds nothing else
	if cap(b) < size {
		return make([]byte, 0, max(size, ChunkBytes/4))
	}
	return b[:0]
}

// Compress closes the chunk: Z is what is stored, and Raw is gone.
func (c *Chunk) Compress() {
	c.Z = Compress(c.Raw)
	if cap(c.Raw) <= 2*ChunkBytes {
		rawBuffers.Put(c.Raw) //nolint:staticcheck // a slice header a chunk is little
	}
	c.Raw = nil
}

// Chunk is one row of payload.
type Chunk struct {
	ID  int64
	Day int32
	Raw []byte // until compressed
	Z   []byte
	// Use counts the inserted events whose payload is in it; a chunk of repeats only is not stored.
	Use int
}

// HeadFields are the spill bits of fields that may leave the head.
const HeadFields = query.SpillMetadata | query.SpillMetrics | query.SpillFeedback | query.SpillUserProperties |
	query.SpillChildrenIDs | query.SpillError
