package store

import (
	"encoding/binary"
	"slices"
	"sync"

	"github.com/google/uuid"
)

// seen knows which event ids were stored on which day, with false positives only: a Bloom
// filter for each day. A day whose filter is not built yet counts as holding every id.
type seen struct {
	mu    sync.RWMutex
	days  map[int32]*dayFilter
	order []int32 // days, newest first
	bytes int
	limit int // bytes; days past it stay without a filter and are probed
}

type dayFilter struct {
	ready bool // false: ask the database
	off   bool // did not fit, and is not tried again: a filter without the ids before it would lie
	parts []*bloom
}

func newSeen(limit int) *seen {
	return &seen{days: map[int32]*dayFilter{}, limit: limit}
}

// add records id on day.
func (s *seen) add(day int32, id uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.days[day]
	if d == nil {
		d = &dayFilter{ready: true}
		s.days[day] = d
		s.insertDay(day)
	}
	s.addTo(d, id)
}

// known makes a day that holds rows from before this process; it is not ready until loaded.
func (s *seen) known(day int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.days[day] == nil {
		s.days[day] = &dayFilter{}
		s.insertDay(day)
	}
}

// load adds ids that were stored before, a slice at a time; done marks the day ready.
func (s *seen) load(day int32, ids []uuid.UUID, done bool) (fits bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.days[day]
	for _, id := range ids {
		if !s.addTo(d, id) {
			return false
		}
	}
	if done {
		d.ready = !d.off
	}
	return !d.off
}

func (s *seen) insertDay(day int32) {
	i, _ := slices.BinarySearchFunc(s.order, day, func(a, b int32) int { return int(b) - int(a) })
	s.order = slices.Insert(s.order, i, day)
}

func (s *seen) addTo(d *dayFilter, id uuid.UUID) bool {
	if d.off {
		return false
	}
	if len(d.parts) == 0 || d.parts[len(d.parts)-1].full() {
		size := 4096
		if n := len(d.parts); n > 0 {
			size = min(d.parts[n-1].capacity*4, 1<<20)
		}
		b := newBloom(size)
		if s.bytes+b.bytes() > s.limit {
			s.bytes -= d.size()
			d.parts, d.ready, d.off = nil, false, true
			return false
		}
		s.bytes += b.bytes()
		d.parts = append(d.parts, b)
	}
	d.parts[len(d.parts)-1].add(id)
	return true
}

func (d *dayFilter) size() (n int) {
	for _, b := range d.parts {
		n += b.bytes()
	}
	return n
}

// maybe appends to days those on which id may have been stored.
func (s *seen) maybe(id uuid.UUID, days []int32) []int32 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	h := hashID(id)
	for _, day := range s.order {
		d := s.days[day]
		if !d.ready {
			days = append(days, day)
			continue
		}
		for _, b := range d.parts {
			if b.has(h) {
				days = append(days, day)
				break
			}
		}
	}
	return days
}

// bloom is a blocked Bloom filter: all bits of an id stand in one 64-byte block, so that a
// question costs one cache line. 15 bits an id and 7 probes give about 0.2 % false positives.
type bloom struct {
	blocks   [][8]uint64
	n        int
	capacity int
}

func newBloom(capacity int) *bloom {
	return &bloom{blocks: make([][8]uint64, max(1, capacity*15/512)), capacity: capacity}
}

func (b *bloom) full() bool { return b.n >= b.capacity }
func (b *bloom) bytes() int { return len(b.blocks) * 64 }

// hashID mixes the 16 bytes of an id into two words. Ids are mostly random already; those
// that begin with a time are spread by the multiplications.
func hashID(id uuid.UUID) [2]uint64 {
	a, c := binary.LittleEndian.Uint64(id[:8]), binary.LittleEndian.Uint64(id[8:])
	a = (a ^ c>>29) * 0x9e3779b97f4a7c15
	c = (c ^ a>>31) * 0xd6e8feb86659fd93
	a ^= c >> 27
	return [2]uint64{a, c}
}

func (b *bloom) add(id uuid.UUID) {
	h := hashID(id)
	blk := &b.blocks[h[0]%uint64(len(b.blocks))]
	for i := range 7 {
		bit := h[1] >> (9 * i) & 511
		blk[bit>>6] |= 1 << (bit & 63)
	}
	b.n++
}

func (b *bloom) has(h [2]uint64) bool {
	blk := &b.blocks[h[0]%uint64(len(b.blocks))]
	for i := range 7 {
		bit := h[1] >> (9 * i) & 511
		if blk[bit>>6]&(1<<(bit&63)) == 0 {
			return false
		}
	}
	return true
}
