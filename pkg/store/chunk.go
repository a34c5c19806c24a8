package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/lzh"
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
	// chunkBytes is the uncompressed size at which a chunk is closed: large enough that the
	// events of a session share it, small enough that one event is read in under a millisecond.
	chunkBytes = 256 << 10
)

// inPayload are the bits of the spill column that say that a field is in the payload; the others
// mark the row.
const inPayload = headFields | query.SpillCold

// spills names, for each field that may leave the head, its bit and its tag.
var spills = []struct {
	bit int
	tag byte
	of  func(*event.Event) *[]byte
}{
	{query.SpillMetadata, tagMetadata, func(e *event.Event) *[]byte { return (*[]byte)(&e.Metadata) }},
	{query.SpillMetrics, tagMetrics, func(e *event.Event) *[]byte { return (*[]byte)(&e.Metrics) }},
	{query.SpillFeedback, tagFeedback, func(e *event.Event) *[]byte { return (*[]byte)(&e.Feedback) }},
	{query.SpillUserProperties, tagUserProperties, func(e *event.Event) *[]byte { return (*[]byte)(&e.UserProperties) }},
	{query.SpillChildrenIDs, tagChildrenIDs, func(e *event.Event) *[]byte { return (*[]byte)(&e.ChildrenIDs) }},
}

// spillOf returns the bits of the fields of e that are in its payload.
func spillOf(e *event.Event) (bits int) {
	for _, f := range spills {
		if len(*f.of(e)) > headFieldBytes {
			bits |= f.bit
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

// hasPayload reports whether e needs a record at all.
func hasPayload(e *event.Event, spill int) bool {
	return len(e.Inputs)+len(e.Outputs)+len(e.Config) > 0 || spill&inPayload != 0
}

// appendRecord appends the payload of e.
func appendRecord(dst []byte, e *event.Event, spill int) []byte {
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
	for _, f := range spills {
		if spill&f.bit != 0 {
			field(f.tag, *f.of(e))
		}
	}
	if spill&query.SpillError != 0 {
		field(tagError, []byte(*e.Error))
	}
	return append(dst, tagEnd)
}

var errRecord = errors.New("payload record is damaged")

// readRecord fills e with the record that starts raw. The fields are slices of raw.
// It returns the record's length.
func readRecord(raw []byte, e *event.Event) (int, error) {
	at := 0
	for {
		if at >= len(raw) {
			return 0, errRecord
		}
		tag := raw[at]
		at++
		if tag == tagEnd {
			return at, nil
		}
		n, w := binary.Uvarint(raw[at:])
		if w <= 0 || n > uint64(len(raw)-at-w) {
			return 0, errRecord
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
			for _, f := range spills {
				if f.tag == tag {
					*f.of(e) = b
				}
			}
		}
	}
}

// rawBuffers are for building chunks; a chunk is built and compressed within one request.
var rawBuffers = sync.Pool{New: func() any { return []byte(nil) }}

func rawBuffer(size int) []byte {
	b := rawBuffers.Get().([]byte) //nolint:errcheck // the pool holds nothing else
	if cap(b) < size {
		return make([]byte, 0, max(size, chunkBytes/4))
	}
	return b[:0]
}

// compress closes the chunk: z is what is stored, and raw is gone.
func (c *chunkRow) compress() {
	c.z = lzh.Encode(nil, c.raw)
	if cap(c.raw) <= 2*chunkBytes {
		rawBuffers.Put(c.raw) //nolint:staticcheck // a slice header a chunk is little
	}
	c.raw = nil
}

func decompress(z []byte) ([]byte, error) {
	raw, err := lzh.Decode(z)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRecord, err)
	}
	return raw, nil
}

// chunkRow is one row of payload.
type chunkRow struct {
	id  int64
	day int32
	raw []byte // until compressed
	z   []byte
	// use counts the inserted events whose payload is in it; a chunk of repeats only is not stored.
	use int
}

// headFields are the spill bits of fields that may leave the head.
const headFields = query.SpillMetadata | query.SpillMetrics | query.SpillFeedback | query.SpillUserProperties |
	query.SpillChildrenIDs | query.SpillError
