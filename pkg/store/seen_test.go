package store

import (
	"encoding/binary"
	"testing"

	"github.com/google/uuid"
)

// idsOf makes n ids of a kind: random, led by a time, or counted.
func idsOf(kind string, n int) []uuid.UUID {
	list := make([]uuid.UUID, n)
	for i := range list {
		switch kind {
		case "v4":
			list[i] = uuid.New()
		case "v7":
			list[i] = uuid.Must(uuid.NewV7())
		case "counted":
			binary.BigEndian.PutUint64(list[i][8:], uint64(i))
		case "counted from the front":
			binary.BigEndian.PutUint64(list[i][:8], uint64(i))
		}
	}
	return list
}

func TestSeenNeverForgets(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"v4", "v7", "counted", "counted from the front"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			const n = 60_000
			s := newSeen(1 << 20)
			all := idsOf(kind, 2*n)
			for _, id := range all[:n] {
				s.add(7, id)
			}
			false1 := 0
			for i, id := range all {
				has := len(s.maybe(id, nil)) > 0
				if i < n && !has {
					t.Fatalf("id %d of %d is forgotten", i, n)
				}
				if i >= n && has {
					false1++
				}
			}
			if rate := float64(false1) / n; rate > 0.02 {
				t.Errorf("%.2f %% of unknown ids seem known, want under 2 %%", rate*100)
			}
		})
	}
}

func TestSeenDays(t *testing.T) {
	t.Parallel()
	s := newSeen(1 << 20)
	id := uuid.New()
	s.known(3)
	if got := s.maybe(id, nil); len(got) != 1 || got[0] != 3 {
		t.Errorf("a day that is not loaded: got %v, want [3]", got)
	}
	if !s.load(3, []uuid.UUID{id}, false) || !s.load(3, nil, true) {
		t.Error("does not fit")
	}
	s.add(9, uuid.New())
	if got := s.maybe(id, nil); len(got) != 1 || got[0] != 3 {
		t.Errorf("a loaded day: got %v, want [3]", got)
	}
	s.add(9, id)
	if got := s.maybe(id, nil); len(got) != 2 || got[0] != 9 {
		t.Errorf("on two days: got %v, want [9 3]", got)
	}
}

// A day whose filter was dropped for its size must be probed ever after, whatever is added.
func TestSeenFullStaysFull(t *testing.T) {
	t.Parallel()
	s := newSeen(16 << 10) // one part of 4096 ids, not the next
	s.known(1)
	all := idsOf("v4", 6000)
	for start := 0; start < len(all); start += 1000 {
		s.load(1, all[start:start+1000], false)
	}
	s.load(1, nil, true)
	for _, id := range idsOf("v4", 10) {
		s.add(1, id)
	}
	for i, id := range all {
		if len(s.maybe(id, nil)) == 0 {
			t.Fatalf("id %d is forgotten", i)
		}
	}
	if s.bytes > s.limit {
		t.Errorf("%d bytes, limit %d", s.bytes, s.limit)
	}
}
