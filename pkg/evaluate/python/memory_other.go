//go:build !unix

package python

import "github.com/tetratelabs/wazero/experimental"

// memory is an interpreter's memory, from the garbage collector.
type memory struct {
	max int
	all []byte
}

// newMemory returns memory that may grow to that many bytes.
func newMemory(bytes int) (*memory, error) { return &memory{max: bytes}, nil }

// Allocate implements experimental.MemoryAllocator.
func (m *memory) Allocate(_, _ uint64) experimental.LinearMemory { return m }

// Reallocate implements experimental.LinearMemory.
func (m *memory) Reallocate(size uint64) []byte {
	if size > uint64(m.max) {
		return nil
	}
	if more := int(size) - len(m.all); more > 0 {
		m.all = append(m.all, make([]byte, more)...)
	}
	return m.all
}

// Free implements experimental.LinearMemory.
func (m *memory) Free() {}

// release leaves the memory to the garbage collector.
func (m *memory) release() { m.all = nil }
