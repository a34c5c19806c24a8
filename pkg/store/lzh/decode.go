package lzh

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/huff0"
	"github.com/klauspost/compress/s2"
)

// ErrDamaged is what Decode answers to bytes that are no block.
var ErrDamaged = errors.New("compressed block is damaged")

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
