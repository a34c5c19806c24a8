package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"github.com/spangrove/spangrove/pkg/store/lzh"
)

// Blocks are stored in formats that public tools read, and which tell themselves by how they begin: S2 streams (s2d), which
// cost ingestion the least, and zstd frames. Blocks of earlier versions are in the format of package lzh. All of
// them have a checksum of their text.

// MaxBytes is the largest text that Decompress gives back.
const MaxBytes = 1 << 30

// How blocks begin.
var (
	s2Magic   = []byte("\xff\x06\x00\x00S2sTwO")
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

const lzhMagic = 0xb1

// The parts of an S2 stream: each has its kind, its length in three bytes, the checksum of its text, and the text.
const (
	s2Coded     = 0x00
	s2Plain     = 0x01
	s2PartHead  = 4 + 4
	s2PartBytes = 1 << 20 // of text; readers of the format expect at most 4 MiB
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// s2Checksum is the checksum of a part's text as S2 streams have it.
func s2Checksum(text []byte) uint32 {
	c := crc32.Checksum(text, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// s2Buffers are for compressing; what is stored is copied out of them at its own size.
var s2Buffers = sync.Pool{New: func() any { return new([]byte) }}

// Compress returns a text as ingestion stores it, an S2 stream.
func Compress(text []byte) []byte {
	buf := s2Buffers.Get().(*[]byte) //nolint:errcheck // the pool holds nothing else
	out := append((*buf)[:0], s2Magic...)
	for len(text) > 0 {
		part := text[:min(len(text), s2PartBytes)]
		text = text[len(part):]
		out = appendS2(out, part)
	}
	z := bytes.Clone(out)
	if cap(out) <= 2*s2PartBytes {
		*buf = out
		s2Buffers.Put(buf)
	}
	return z
}

func appendS2(out, part []byte) []byte {
	at := len(out)
	if most := at + s2PartHead + s2.MaxEncodedLen(len(part)); cap(out) < most {
		out = append(make([]byte, 0, most), out...)
	}
	body := out[at+s2PartHead : at+s2PartHead+s2.MaxEncodedLen(len(part))]
	kind, n := byte(s2Coded), len(s2.Encode(body, part))
	if n >= len(part) {
		kind, n = s2Plain, copy(body, part)
	}
	out = out[:at+s2PartHead+n]
	binary.LittleEndian.PutUint32(out[at:], uint32(n+4)<<8|uint32(kind))
	binary.LittleEndian.PutUint32(out[at+4:], s2Checksum(part))
	return out
}

var (
	errFormat   = errors.New("unknown format")
	errShort    = errors.New("ends too early")
	errLength   = errors.New("length does not fit")
	errChecksum = errors.New("checksum does not fit")
)

// Decompress returns the text of a block in any of the formats; ErrDamaged if it is not whole.
func Decompress(z []byte) (text []byte, err error) {
	switch {
	case bytes.HasPrefix(z, s2Magic):
		text, err = readS2(z[len(s2Magic):])
	case bytes.HasPrefix(z, zstdMagic):
		text, err = readZstd(z)
	case len(z) > 0 && z[0] == lzhMagic:
		text, err = lzh.Decode(z)
	default:
		err = errFormat
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrDamaged, err) // not wrapped: zstd's errors are also those of connections
	}
	return text, nil
}

// s2Part is one part of an S2 stream.
type s2Part struct {
	kind byte
	sum  uint32
	size int // of its text
	body []byte
}

// nextS2 splits the first part off a stream.
func nextS2(z []byte) (p s2Part, rest []byte, err error) {
	if len(z) < s2PartHead {
		return p, nil, errShort
	}
	head := binary.LittleEndian.Uint32(z)
	n := int(head >> 8)
	if n < 4 || n > len(z)-4 {
		return p, nil, errShort
	}
	p = s2Part{kind: byte(head), sum: binary.LittleEndian.Uint32(z[4:]), body: z[s2PartHead : 4+n]}
	switch p.kind {
	case s2Plain:
		p.size = len(p.body)
	case s2Coded:
		if p.size, err = s2.DecodedLen(p.body); err != nil {
			return p, nil, err
		}
	default:
		return p, nil, errFormat
	}
	if p.size == 0 || p.size > s2PartBytes {
		return p, nil, errLength
	}
	return p, z[4+n:], nil
}

// readS2 returns the text of the parts of a stream. They are measured first, so that the text is allocated once.
func readS2(z []byte) ([]byte, error) {
	size := 0
	for rest := z; len(rest) > 0; {
		p, next, err := nextS2(rest)
		if err != nil {
			return nil, err
		}
		if size += p.size; size > MaxBytes {
			return nil, errLength
		}
		rest = next
	}
	text := make([]byte, size)
	for to := text; len(z) > 0; {
		p, next, err := nextS2(z)
		if err != nil {
			return nil, err
		}
		part := to[:p.size:p.size]
		if p.kind == s2Plain {
			copy(part, p.body)
		} else if _, err := s2.Decode(part, p.body); err != nil {
			return nil, err
		}
		if s2Checksum(part) != p.sum {
			return nil, errChecksum
		}
		to, z = to[p.size:], next
	}
	return text, nil
}

// zstdBlockBytes is the text of one block of a zstd frame, which takes zstdBlockHead bytes at least.
const (
	zstdBlockBytes = 128 << 10
	zstdBlockHead  = 4
)

// readZstd returns the text of a frame. What its head says of its length is believed only as far as its blocks can hold it, so
// that damage does not take memory.
func readZstd(z []byte) ([]byte, error) {
	var head zstd.Header
	if err := head.Decode(z); err != nil {
		return nil, err
	}
	if head.HasFCS && head.FrameContentSize > uint64(1+len(z)/zstdBlockHead)*zstdBlockBytes {
		return nil, errLength
	}
	return zstdReader().DecodeAll(z, nil)
}

// zstdReader returns the reader of zstd frames, which any number of goroutines may use at once.
var zstdReader = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(MaxBytes))
	if err != nil {
		panic(err) // the options are right
	}
	return d
})
