package lzh

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/klauspost/compress/huff0"
	"github.com/klauspost/compress/s2"
)

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
