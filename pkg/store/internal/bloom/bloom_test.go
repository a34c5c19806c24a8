package bloom

import (
	"encoding/binary"
	"testing"

	"github.com/google/uuid"
)

// TestFilter checks that no id that was added is missed, and that few others are found.
func TestFilter(t *testing.T) {
	t.Parallel()
	id := func(n uint64) (u uuid.UUID) { // ids that begin alike, as those that begin with a time
		binary.BigEndian.PutUint64(u[8:], n)
		return u
	}
	const capacity = 20_000
	f := New(capacity)
	for n := range uint64(capacity) {
		if f.Full() {
			t.Fatalf("full after %d ids of %d", n, capacity)
		}
		f.Add(id(n))
	}
	if !f.Full() {
		t.Errorf("not full after %d ids", capacity)
	}
	for n := range uint64(capacity) {
		if !f.Has(Hash(id(n))) {
			t.Fatalf("id %d was added and is not found", n)
		}
	}
	wrong := 0
	for n := range uint64(capacity) {
		if f.Has(Hash(id(capacity + n))) {
			wrong++
		}
	}
	if wrong > capacity/100 {
		t.Errorf("%d of %d other ids are found", wrong, capacity)
	}
	if bits := f.Bytes() * 8; bits < capacity*15 || bits > capacity*15+512 {
		t.Errorf("%d bits for %d ids", bits, capacity)
	}
}
