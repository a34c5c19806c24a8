package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
)

// A chunk is a zstd frame of records, one an event. A record is a list of fields, each a tag
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

// inPayload are the bits of the spill column that say a field stands in the payload; the others
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

// spillOf tells which fields of e stand in its payload.
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

// hasPayload says whether e needs a record at all.
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
// It gives the record's length.
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

// codec compresses and decompresses chunks. It is safe for concurrent use.
type codec struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

// maxChunkBytes bounds what one chunk may decompress to: a body limit's worth of JSON in one
// event, with room for a limit that an operator raised.
const maxChunkBytes = 1 << 30

func newCodec(workers int) (*codec, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(workers),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20))
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(workers), zstd.WithDecoderMaxMemory(maxChunkBytes),
		zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	return &codec{enc, dec}, nil
}

func (c *codec) compress(raw []byte) []byte { return c.enc.EncodeAll(raw, nil) }

func (c *codec) decompress(z []byte) ([]byte, error) {
	raw, err := c.dec.DecodeAll(z, nil)
	if err != nil {
		// Not wrapped: the decoder's end of file is none of the database's connection.
		return nil, fmt.Errorf("%w: decompress: %v", errRecord, err)
	}
	return raw, nil
}

func (c *codec) close() {
	_ = c.enc.Close()
	c.dec.Close()
}
