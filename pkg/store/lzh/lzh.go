// Package lzh reads blocks of text as the store compressed them before it wrote S2 and zstd (package record, ADR 013): the matches are
// S2's, and what S2 leaves (the literal text, and the descriptions of the matches) is Huffman coded in four streams, by kind.
// Nothing writes such blocks any more. They are read for the sake of stores that were made before.
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
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/huff0"
)

const (
	format  = 0xB1
	maxPart = 128 << 10
	// MaxBytes is the largest text Decode gives back.
	MaxBytes = 1 << 30
)

// How a part is stored.
const (
	plain = iota
	coded1
	coded4
	repeated
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// coder is the memory of one call, kept for the next.
type coder struct {
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
	if cap(c.streams[literals]) <= keepBytes {
		coders.Put(c)
	}
}

// slack is how far beyond its end a text may be written: short runs are copied in one piece of this size.
const slack = 16

// The kinds of S2's tags: their two lowest bits.
const (
	tagLiteral = iota
	tagCopy1
	tagCopy2
	tagCopy4
)

// literalLength returns how many bytes the tag of a run of literals has, and how many literals follow.
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
