// Package lzh compresses blocks of text: the matches are S2's, and what S2 leaves (the literal
// text, and the descriptions of the matches) is Huffman coded in four streams, by kind. On
// text of prompts and answers it comes within a few percent of zstd's first level in half its
// time, and it is nearly as quick to read; both parts are libraries, with assembly where it
// matters. docs/adr/002-chunk-compression.md has the measurement.
//
// A block is
//
//	1 byte   format, 0xB1
//	uvarint  length of the text
//	4 bytes  CRC-32C of the text, little endian
//	4 times  a stream: literals, tags, low bytes of offsets, high bytes of offsets
//
// where a stream is
//
//	uvarint  its length
//	         until that length is reached, parts of at most 128 KiB:
//	uvarint  length of the part as stored, times 4, plus how it is stored:
//	         0 as it is, 1 Huffman coded in one run, 2 in four, 3 one byte repeated
//	         the part
//
// Tags and offsets are those of an S2 block, whose layout github.com/klauspost/compress/s2
// documents.
package lzh

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/huff0"
	"github.com/klauspost/compress/s2"
)

const (
	format   = 0xB1
	maxPart  = 128 << 10
	minCoded = 48  // bytes from which on coding can win over its table
	minFour  = 256 // bytes from which on four runs are quicker to read
	// MaxBytes is the largest text Decode gives back. Callers of Encode stay below it.
	MaxBytes = 1 << 30
)

// How a part is stored.
const (
	plain = iota
	coded1
	coded4
	repeated
)

// ErrDamaged is what Decode answers to bytes that Encode did not make.
var ErrDamaged = errors.New("compressed block is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// coder is the memory of one call, kept for the next.
type coder struct {
	block   []byte // as S2 has it
	out     []byte
	streams [nStreams][]byte
	huff    huff0.Scratch
}

// The streams, in stored order.
const (
	literals = iota
	tags
	offsetsLow
	offsetsHigh
	nStreams
)

// keepBytes bounds the memory a coder keeps between calls.
const keepBytes = 1 << 20

var coders = sync.Pool{New: func() any { return new(coder) }}

func (c *coder) release() {
	if cap(c.block) <= keepBytes && cap(c.streams[literals]) <= keepBytes {
		coders.Put(c)
	}
}

// Encode appends text, compressed, to dst.
func Encode(dst, text []byte) []byte {
	c := coders.Get().(*coder)
	defer c.release()
	c.block = s2.Encode(c.block[:cap(c.block)], text)
	_, head := binary.Uvarint(c.block)
	c.split(c.block[head:])

	out := append(c.out[:0], format)
	out = binary.AppendUvarint(out, uint64(len(text)))
	out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(text, castagnoli))
	for _, s := range c.streams {
		out = c.appendStream(out, s)
	}
	c.out = out
	return append(dst, out...) // at once, so that it is as large as needed
}

// slack is how far beyond its end a stream may be written: short runs are copied in one piece
// of this size.
const slack = 16

// grow gives b room for n bytes and slack, all of it in its length.
func grow(b []byte, n int) []byte {
	if cap(b) < n+slack {
		return make([]byte, n+n/8+slack)
	}
	return b[:cap(b)]
}

// split takes an S2 block, without its length, apart by kinds of bytes.
func (c *coder) split(block []byte) {
	for i := range c.streams {
		c.streams[i] = grow(c.streams[i], len(block))
	}
	lit, tag, low, high := c.streams[literals], c.streams[tags], c.streams[offsetsLow], c.streams[offsetsHigh]
	var nLit, nTag, nLow, nHigh int
	for at := 0; at < len(block); {
		t := block[at]
		switch t & 3 {
		case tagLiteral:
			head, n := 1, int(t>>2)+1
			if n > 60 {
				head, n = literalLength(block[at:])
			}
			for i := range head {
				tag[nTag+i] = block[at+i]
			}
			nTag += head
			at += head
			if n <= slack && at+slack <= len(block) {
				*(*[slack]byte)(lit[nLit:]) = *(*[slack]byte)(block[at:])
			} else {
				copy(lit[nLit:], block[at:at+n])
			}
			nLit += n
			at += n
		case tagCopy1:
			if t>>5 == 0 {
				head := nearLength(t, block[at+1])
				nTag += copy(tag[nTag:], block[at:at+head])
				at += head
				continue
			}
			tag[nTag], low[nLow] = t, block[at+1]
			nTag, nLow = nTag+1, nLow+1
			at += 2
		case tagCopy2:
			tag[nTag], low[nLow], high[nHigh] = t, block[at+1], block[at+2]
			nTag, nLow, nHigh = nTag+1, nLow+1, nHigh+1
			at += 3
		default: // tagCopy4
			tag[nTag], low[nLow], low[nLow+1], high[nHigh], high[nHigh+1] = t, block[at+1], block[at+2], block[at+3], block[at+4]
			nTag, nLow, nHigh = nTag+1, nLow+2, nHigh+2
			at += 5
		}
	}
	c.streams = [nStreams][]byte{lit[:nLit], tag[:nTag], low[:nLow], high[:nHigh]}
}

// The kinds of S2's tags: their two lowest bits.
const (
	tagLiteral = iota
	tagCopy1
	tagCopy2
	tagCopy4
)

// literalLength gives how many bytes the tag of a run of literals has, and how many literals follow.
func literalLength(block []byte) (head, n int) {
	n = int(block[0] >> 2)
	if n < 60 {
		return 1, n + 1
	}
	head = n - 59 + 1
	n = 0
	for i := 1; i < head; i++ {
		n |= int(block[i]) << (8 * (i - 1))
	}
	return head, n + 1
}

// nearLength gives how many bytes the description of a copy has whose tag leaves the upper
// bits of the offset 0. They all stay among the tags, since offset 0 makes of it a repeat of
// the last offset, with the rest of its length behind it.
func nearLength(tag, offset byte) int {
	if offset != 0 {
		return 2
	}
	return 2 + max(0, int(tag>>2&7)-4)
}

func (c *coder) appendStream(dst, s []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	for len(s) > 0 {
		part := s[:min(len(s), maxPart)]
		s = s[len(part):]
		how, out := c.code(part)
		dst = binary.AppendUvarint(dst, uint64(len(out))<<2|how)
		dst = append(dst, out...)
	}
	return dst
}

func (c *coder) code(part []byte) (how uint64, out []byte) {
	if len(part) < minCoded {
		return plain, part
	}
	var err error
	c.huff.Reuse = huff0.ReusePolicyNone
	if len(part) < minFour {
		how = coded1
		out, _, err = huff0.Compress1X(part, &c.huff)
	} else {
		how = coded4
		out, _, err = huff0.Compress4X(part, &c.huff)
	}
	switch {
	case errors.Is(err, huff0.ErrUseRLE):
		return repeated, part[:1]
	case err != nil || len(out) >= len(part):
		return plain, part
	}
	return how, out
}

// Decode gives back the text of a block. ErrDamaged if it is not whole.
func Decode(block []byte) ([]byte, error) {
	text, err := decode(block)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return text, nil
}

var (
	errFormat   = errors.New("unknown format")
	errShort    = errors.New("ends too early")
	errLength   = errors.New("length does not fit")
	errChecksum = errors.New("checksum does not fit")
)

func decode(block []byte) ([]byte, error) {
	if len(block) == 0 || block[0] != format {
		return nil, errFormat
	}
	r := reader{block[1:]}
	size, err := r.uvarint(MaxBytes)
	if err != nil {
		return nil, err
	}
	sum, err := r.take(4)
	if err != nil {
		return nil, err
	}
	c := coders.Get().(*coder)
	defer c.release()
	for i := range c.streams {
		if c.streams[i], err = c.readStream(&r, c.streams[i][:0], size); err != nil {
			return nil, err
		}
	}
	if len(r.b) > 0 {
		return nil, errLength
	}
	text := make([]byte, size+slack)
	if err := c.expand(text, size); err != nil {
		return nil, err
	}
	text = text[:size:size]
	if crc32.Checksum(text, castagnoli) != binary.LittleEndian.Uint32(sum) {
		return nil, errChecksum
	}
	return text, nil
}

// readStream appends a stream to dst. No stream is longer than S2's worst case for the text.
func (c *coder) readStream(r *reader, dst []byte, size int) ([]byte, error) {
	length, err := r.uvarint(s2.MaxEncodedLen(size))
	if err != nil {
		return nil, err
	}
	for len(dst) < length {
		head, err := r.uvarint(maxPart<<2 | 3)
		if err != nil {
			return nil, err
		}
		part, err := r.take(head >> 2)
		if err != nil {
			return nil, err
		}
		want := min(length-len(dst), maxPart)
		at := len(dst)
		switch head & 3 {
		case plain:
			dst = append(dst, part...)
		case repeated:
			if len(part) != 1 {
				return nil, errLength
			}
			for range want {
				dst = append(dst, part[0])
			}
		case coded1, coded4:
			if dst, err = c.uncode(dst, part, want, head&3 == coded4); err != nil {
				return nil, err
			}
		}
		if len(dst)-at != want {
			return nil, errLength
		}
	}
	return dst, nil
}

func (c *coder) uncode(dst, part []byte, want int, four bool) ([]byte, error) {
	s, rest, err := huff0.ReadTable(part, &c.huff)
	if err != nil {
		return nil, err
	}
	if cap(dst)-len(dst) < want {
		dst = append(make([]byte, 0, len(dst)+max(want, len(dst)/2)), dst...)
	}
	room := dst[len(dst) : len(dst)+want : len(dst)+want]
	var out []byte
	if four {
		out, err = s.Decoder().Decompress4X(room, rest)
	} else {
		out, err = s.Decoder().Decompress1X(room[:0], rest)
	}
	if err != nil {
		return nil, err
	}
	if len(out) != want {
		return nil, errLength
	}
	return dst[:len(dst)+want], nil
}

// expand writes the text that the streams describe, size bytes, to the front of dst, which
// has slack bytes more.
func (c *coder) expand(dst []byte, size int) error {
	lit, tag, low, high := c.streams[literals], c.streams[tags], c.streams[offsetsLow], c.streams[offsetsHigh]
	var at, nLit, nTag, nLow, nHigh, offset int
	for nTag < len(tag) {
		t := tag[nTag]
		nTag++
		var n int
		switch t & 3 {
		case tagLiteral:
			if n = int(t>>2) + 1; n > 60 {
				more := n - 60
				if len(tag)-nTag < more {
					return errShort
				}
				_, n = literalLength(tag[nTag-1:])
				nTag += more
			}
			if n > len(lit)-nLit || n > size-at {
				return errLength
			}
			if n <= slack && nLit+slack <= len(lit) {
				*(*[slack]byte)(dst[at:]) = *(*[slack]byte)(lit[nLit:])
			} else {
				copy(dst[at:], lit[nLit:nLit+n])
			}
			nLit += n
			at += n
			continue
		case tagCopy1:
			n = int(t>>2&7) + 4
			if t>>5 != 0 {
				if nLow == len(low) {
					return errShort
				}
				offset = int(t>>5)<<8 | int(low[nLow])
				nLow++
				break
			}
			if nTag == len(tag) {
				return errShort
			}
			near := tag[nTag]
			nTag++
			if near != 0 {
				offset = int(near)
				break
			}
			more := max(0, n-8) // of a repeat: bytes that tell its length
			if len(tag)-nTag < more {
				return errShort
			}
			switch more {
			case 1:
				n = int(tag[nTag]) + 8
			case 2:
				n = (int(tag[nTag]) | int(tag[nTag+1])<<8) + 1<<8 + 4
			case 3:
				n = (int(tag[nTag]) | int(tag[nTag+1])<<8 | int(tag[nTag+2])<<16) + 1<<16 + 4
			}
			nTag += more
		case tagCopy2:
			if nLow == len(low) || nHigh == len(high) {
				return errShort
			}
			n, offset = int(t>>2)+1, int(low[nLow])|int(high[nHigh])<<8
			nLow, nHigh = nLow+1, nHigh+1
		default:
			if len(low)-nLow < 2 || len(high)-nHigh < 2 {
				return errShort
			}
			n = int(t>>2) + 1
			offset = int(low[nLow]) | int(low[nLow+1])<<8 | int(high[nHigh])<<16 | int(high[nHigh+1])<<24
			nLow, nHigh = nLow+2, nHigh+2
		}
		if offset <= 0 || offset > at || n > size-at {
			return errLength
		}
		from := at - offset
		switch {
		case n <= slack && offset >= slack:
			*(*[slack]byte)(dst[at:]) = *(*[slack]byte)(dst[from:])
		case offset >= n:
			copy(dst[at:at+n], dst[from:from+n])
		default: // the copy reads what it writes
			for i := range n {
				dst[at+i] = dst[from+i]
			}
		}
		at += n
	}
	if at != size || nLit < len(lit) || nLow < len(low) || nHigh < len(high) {
		return errLength
	}
	return nil
}

// reader takes a block apart.
type reader struct{ b []byte }

func (r *reader) uvarint(limit int) (int, error) {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		return 0, errShort
	}
	if v > uint64(limit) {
		return 0, errLength
	}
	r.b = r.b[n:]
	return int(v), nil
}

func (r *reader) take(n int) ([]byte, error) {
	if n > len(r.b) {
		return nil, errShort
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b, nil
}
