//go:build unix

package python

import (
	"golang.org/x/sys/unix"

	"github.com/tetratelabs/wazero/experimental"
)

// memory is an interpreter's memory: pages of the system's that it gets as it touches them and
// that go back as one, so that the garbage collector has nothing to do with them.
type memory struct{ all []byte }

// newMemory reserves that many bytes of addresses. The system gives a page when it is first touched, zeroed.
func newMemory(bytes int) (*memory, error) {
	all, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	return &memory{all}, err
}

// Allocate implements experimental.MemoryAllocator.
func (m *memory) Allocate(_, _ uint64) experimental.LinearMemory { return m }

// Reallocate implements experimental.LinearMemory.
func (m *memory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.all)) {
		return nil
	}
	return m.all[:size]
}

// Free implements experimental.LinearMemory. It leaves the memory to release: at this moment the
// interpreter may still run.
func (m *memory) Free() {}

// release gives all pages back. Nothing may touch the memory any more.
func (m *memory) release() {
	_ = unix.Munmap(m.all)
	m.all = nil
}
