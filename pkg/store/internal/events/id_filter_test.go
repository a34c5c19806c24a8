package events

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

func TestIDFilterNeverForgets(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"v4", "v7", "counted", "counted from the front"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			const n = 60_000
			s := newIDFilter(1<<20, false)
			all := idsOf(kind, 2*n)
			for _, id := range all[:n] {
				s.add(1, 7, id)
			}
			false1 := 0
			for i, id := range all {
				days, _ := s.mayContain(1, id, nil)
				has := len(days) > 0
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

func TestIDFilterDays(t *testing.T) {
	t.Parallel()
	s := newIDFilter(1<<20, false)
	id := uuid.New()
	s.known(1, 3)
	if got, _ := s.mayContain(1, id, nil); len(got) != 1 || got[0] != 3 {
		t.Errorf("a day that is not loaded: got %v, want [3]", got)
	}
	if !s.load(1, 3, []uuid.UUID{id}, false) || !s.load(1, 3, nil, true) {
		t.Error("does not fit")
	}
	s.add(1, 9, uuid.New())
	if got, _ := s.mayContain(1, id, nil); len(got) != 1 || got[0] != 3 {
		t.Errorf("a loaded day: got %v, want [3]", got)
	}
	s.add(1, 9, id)
	if got, _ := s.mayContain(1, id, nil); len(got) != 2 || got[0] != 9 {
		t.Errorf("on two days: got %v, want [9 3]", got)
	}
}

// A day whose filter was dropped for its size must be probed ever after, whatever is added.
func TestIDFilterFullStaysFull(t *testing.T) {
	t.Parallel()
	s := newIDFilter(8<<10, false) // parts of 4096 ids in all, not the next
	s.known(1, 1)
	all := idsOf("v4", 6000)
	for start := 0; start < len(all); start += 1000 {
		s.load(1, 1, all[start:start+1000], false)
	}
	s.load(1, 1, nil, true)
	for _, id := range idsOf("v4", 10) {
		s.add(1, 1, id)
	}
	for i, id := range all {
		if days, _ := s.mayContain(1, id, nil); len(days) == 0 {
			t.Fatalf("id %d is forgotten", i)
		}
	}
	if s.bytes > s.limit {
		t.Errorf("%d bytes, limit %d", s.bytes, s.limit)
	}
}

// Each id that comes is looked for in all parts of all days, so days have few parts; and no more memory than twice what their ids need.
func TestIDFilterPartsOfDays(t *testing.T) {
	t.Parallel()
	s := newIDFilter(1<<30, false)
	const days, perDay = 30, 5000
	for day := range int32(days) {
		for _, id := range idsOf("v4", perDay) {
			s.add(1, day, id)
		}
	}
	parts := 0
	for _, d := range s.projects[1].days {
		parts += len(d.parts)
	}
	if parts > 2*days {
		t.Errorf("%d parts of %d days", parts, days)
	}
	if most := 2 * days * perDay * 15 / 8; s.bytes > most {
		t.Errorf("%d bytes, want at most %d", s.bytes, most)
	}
}

// What one project stores takes nothing from the others: where the filters are too large, those of
// the largest project give way, and ids are only looked for on days of their own project.
func TestIDFilterOfProjects(t *testing.T) {
	t.Parallel()
	s := newIDFilter(64<<10, false)
	mine := idsOf("v4", 100)
	for _, id := range mine {
		s.add(1, 7, id)
	}
	for day := range int32(2000) {
		for _, id := range idsOf("v4", 3) {
			s.add(2, day, id)
		}
	}
	if s.bytes > s.limit {
		t.Errorf("%d bytes, limit %d", s.bytes, s.limit)
	}
	if got := s.unfiltered(1000); len(got) < 500 || got[0].project != 2 {
		t.Errorf("%d days without a filter", len(got))
	}
	if d := s.projects[1].days[7]; !d.ready || d.off {
		t.Error("the small project's filter gave way")
	}
	for _, id := range mine {
		if days, far := s.mayContain(1, id, nil); len(days) != 1 || far {
			t.Fatalf("days %v, far %v", days, far)
		}
	}
	if days, far := s.mayContain(3, mine[0], nil); len(days) != 0 || far {
		t.Errorf("another project: %v, %v", days, far)
	}
	for day := range int32(2000) {
		s.drop(2, day)
	}
	if filters, bytes := s.size(); filters != 1 || bytes != s.projects[1].bytes {
		t.Errorf("%d filters of %d bytes left", filters, bytes)
	}
	s.add(1, farDay, mine[0])
	if days, far := s.mayContain(1, mine[0], nil); len(days) != 1 || !far || !s.hasFar(1) || s.hasFar(2) {
		t.Errorf("far: %v, %v", days, far)
	}
}
