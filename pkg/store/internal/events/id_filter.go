package events

import (
	"math"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/store/internal/bloom"
)

// idFilter records which event ids were stored on which day of a project, with false positives only: a
// Bloom filter for each day. A day whose filter is not built yet, or did not fit, counts as holding
// every id. Ids that are not found by day are in a filter of their own, under farDay.
//
// A project does not slow others down: ids are looked for on the days of their own project, and where
// all filters together are too large, those of the project with the most are dropped.
type idFilter struct {
	mu       sync.RWMutex
	projects map[int64]*projectIDs
	bytes    int // of all filters
	limit    int // bytes
	// shared is set where one statement looks on all days at once: filters are then of all
	// projects together.
	shared bool
}

// projectIDs is the part of idFilter for one project.
type projectIDs struct {
	days  map[int32]*dayFilter // farDay among them
	order []int32              // days but farDay, newest first
	bytes int
}

// dayFilter is the filter of one day. A Bloom filter has a fixed size: when one is full, the next part takes further ids, and
// an id is looked for in all parts.
type dayFilter struct {
	ready bool // false: ask the database
	off   bool // did not fit, and is not tried again: a filter without the ids before it would lie
	parts []*bloom.Filter
}

// farDay stands for the ids that the database keeps by id and not by day.
const farDay = math.MinInt32

// firstFilter is how many ids the first part of a project's first filter is for. That of a later day is for as many as the days before had on
// average, since each part of each day is looked at for every id that comes. Each further part doubles the filter, and is for lastFilter at most.
const (
	firstFilter = 256
	lastFilter  = 1 << 20
)

func newIDFilter(limit int, shared bool) *idFilter {
	return &idFilter{projects: map[int64]*projectIDs{}, limit: limit, shared: shared}
}

// of returns what is known of a project, which it makes if make is set.
func (s *idFilter) of(project int64, make bool) *projectIDs {
	if s.shared {
		project = 0
	}
	p := s.projects[project]
	if p == nil && make {
		p = &projectIDs{days: map[int32]*dayFilter{}}
		s.projects[project] = p
	}
	return p
}

// day returns a day's filter, which it makes if there is none.
func (p *projectIDs) day(day int32, ready bool) *dayFilter {
	d := p.days[day]
	if d == nil {
		d = &dayFilter{ready: ready}
		p.days[day] = d
		if day != farDay {
			i, _ := slices.BinarySearchFunc(p.order, day, func(a, b int32) int { return int(b) - int(a) })
			p.order = slices.Insert(p.order, i, day)
		}
	}
	return d
}

// add records that id is stored on day.
func (s *idFilter) add(project int64, day int32, id uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.of(project, true)
	s.addTo(p, p.day(day, true), id, day != farDay)
}

// known makes a day that holds rows from before this process; it is not ready until loaded.
func (s *idFilter) known(project int64, day int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(project, true).day(day, false)
}

// load adds ids that were stored before, a slice at a time; done marks the day ready. It reports
// whether the day's filter fits.
func (s *idFilter) load(project int64, day int32, ids []uuid.UUID, done bool) (fits bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.of(project, true)
	d := p.day(day, false)
	for _, id := range ids {
		if !s.addTo(p, d, id, false) {
			return false
		}
	}
	if done {
		d.ready = !d.off
	}
	return !d.off
}

// addTo adds an id to a filter, unless that is off. If there is no room, evict is set if other
// filters may give way: new events make old filters go, but what is loaded from before does not.
func (s *idFilter) addTo(p *projectIDs, d *dayFilter, id uuid.UUID, evict bool) bool {
	if d.off {
		return false
	}
	if len(d.parts) == 0 || d.parts[len(d.parts)-1].Full() {
		b := bloom.New(p.nextSize(d))
		for s.bytes+b.Bytes() > s.limit && !d.off {
			if !evict || !s.evict() {
				s.switchOff(p, d)
			}
		}
		if d.off {
			return false
		}
		s.bytes += b.Bytes()
		p.bytes += b.Bytes()
		d.parts = append(d.parts, b)
	}
	d.parts[len(d.parts)-1].Add(id)
	return true
}

// nextSize returns for how many ids the next part of a day's filter is.
func (p *projectIDs) nextSize(d *dayFilter) int {
	bytes := d.size()
	if bytes == 0 {
		bytes = p.bytes / len(p.days)
	}
	return min(max(firstFilter, bloom.CapacityOf(bytes)), lastFilter)
}

// evict switches off the oldest filter of the project with the most bytes, that of the ids by
// themselves before those of days. It reports whether there was one.
func (s *idFilter) evict() bool {
	var most *projectIDs
	for _, p := range s.projects {
		if most == nil || p.bytes > most.bytes {
			most = p
		}
	}
	if most == nil {
		return false
	}
	if d := most.days[farDay]; d != nil && len(d.parts) > 0 {
		s.switchOff(most, d)
		return true
	}
	for _, day := range slices.Backward(most.order) {
		if d := most.days[day]; len(d.parts) > 0 {
			s.switchOff(most, d)
			return true
		}
	}
	return false
}

// switchOff gives up a filter. From then on its day counts as holding every id.
func (s *idFilter) switchOff(p *projectIDs, d *dayFilter) {
	n := d.size()
	s.bytes -= n
	p.bytes -= n
	d.parts, d.ready, d.off = nil, false, true
}

// size returns the bytes of a day's filter.
func (d *dayFilter) size() (n int) {
	for _, b := range d.parts {
		n += b.Bytes()
	}
	return n
}

// drop forgets a day of which nothing is stored any more.
func (s *idFilter) drop(project int64, day int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.of(project, false)
	if p == nil || p.days[day] == nil {
		return
	}
	s.switchOff(p, p.days[day])
	delete(p.days, day)
	if i, ok := slices.BinarySearchFunc(p.order, day, func(a, b int32) int { return int(b) - int(a) }); ok {
		p.order = slices.Delete(p.order, i, i+1)
	}
	if len(p.days) == 0 && !s.shared {
		delete(s.projects, project)
	}
}

// hasFar reports whether a project has ids that are not found by day.
func (s *idFilter) hasFar(project int64) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p := s.of(project, false)
	return p != nil && p.days[farDay] != nil
}

// unfiltered lists the days before a day that have no filter since it did not fit.
func (s *idFilter) unfiltered(before int32) (list []projectDay) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for project, p := range s.projects {
		for day, d := range p.days {
			if d.off && day != farDay && day < before {
				list = append(list, projectDay{project, day})
			}
		}
	}
	return list
}

// size returns how many filters there are, and their bytes.
func (s *idFilter) size() (filters, bytes int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, p := range s.projects {
		filters += len(p.days)
	}
	return filters, s.bytes
}

// mayContain appends to days those on which id may have been stored in the project. far reports whether it may
// be among the ids that are not found by day.
func (s *idFilter) mayContain(project int64, id uuid.UUID, days []int32) (_ []int32, far bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p := s.of(project, false)
	if p == nil {
		return days, false
	}
	h := bloom.Hash(id)
	for _, day := range p.order {
		if p.days[day].mayContain(h) {
			days = append(days, day)
		}
	}
	d := p.days[farDay]
	return days, d != nil && d.mayContain(h)
}

func (d *dayFilter) mayContain(h [2]uint64) bool {
	return !d.ready || slices.ContainsFunc(d.parts, func(b *bloom.Filter) bool { return b.Has(h) })
}
