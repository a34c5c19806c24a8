package ingress

import (
	"math/bits"
	"sync"
)

// Buffers of firstRead to largestBuffer bytes are kept for the next body, by powers of two of their
// size. The garbage collector frees those that nobody asks for.
const (
	firstBits     = 16
	largestBits   = 22
	firstRead     = 1 << firstBits // the size of the first buffer for a body
	largestBuffer = 1 << largestBits
)

var buffers [largestBits - firstBits + 1]sync.Pool // of *[]byte

// bufferSize returns how many bytes a buffer for n bytes has: n, or the next power of two if it can be kept.
func bufferSize(n int64) int64 {
	if n < firstRead || n > largestBuffer {
		return n
	}
	return 1 << bits.Len64(uint64(n-1))
}

// class returns the index in buffers for a size, and false for a size that is not kept.
func class(size int) (int, bool) {
	return bits.Len(uint(size)) - 1 - firstBits, size >= firstRead && size <= largestBuffer && size&(size-1) == 0
}

// newBuffer returns a buffer of a size that bufferSize gave. Anything may stand in it.
func newBuffer(size int64) []byte {
	if i, ok := class(int(size)); ok {
		if b, ok := buffers[i].Get().(*[]byte); ok {
			return *b
		}
	}
	return make([]byte, size)
}

// freeBuffer keeps a buffer that newBuffer made, whatever its length is now.
func freeBuffer(b []byte) {
	if i, ok := class(cap(b)); ok {
		b = b[:cap(b)]
		buffers[i].Put(&b)
	}
}
