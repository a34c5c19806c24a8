package events

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"

	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/segment"
)

// maxKnownBuckets is how many buckets one segment may have events in for the points of a chart of percentiles to be kept.
const maxKnownBuckets = 2000

// percentiles sums up a chart of percentiles over segments. Its values cannot be added up segment by segment, so points of whole buckets are kept: a bucket's
// points are known as long as the same segments have events of its time, none of which has changed, and no event of it is read from its row.
type percentiles struct {
	v      *segmentView
	c      *query.Chart
	sums   *query.ChartSums
	found  bool              // some points were known
	unkept map[int64]string  // by the start of each bucket whose points are not known: under what they will be kept
	look   []segment.Segment // those with events in such a bucket
}

// sumPercentiles adds all events of a chart of percentiles to sums, or those whose points are not known. It reports whether some were known.
func (v *segmentView) sumPercentiles(ctx context.Context, c *query.Chart, sums *query.ChartSums, useKnown bool) (known bool, err error) {
	p := &percentiles{v: v, c: c, sums: sums, look: v.segments}
	add := func(l *looseEvent) error { return sums.AddEvent(l.event) }
	// These first: their buckets need all values.
	if err := v.eachLoose(ctx, &c.Search, c.NeedPayload(), add); err != nil {
		return false, err
	}
	v.keys = nil
	if useKnown {
		if err := p.restore(); err != nil {
			return false, err
		}
	}
	err = eachSegment(ctx, v, p.look, func(b *segment.Block) (*query.BlockSums, error) {
		d, err := v.match(b, &c.Search)
		if err != nil {
			return nil, err
		}
		return sums.SumBlock(query.Share(b), d)
	}, func(b *segment.Block, x *query.BlockSums) (bool, error) {
		if err := sums.AddBlock(x); err != nil {
			return false, err
		}
		return true, v.addLoose(b, query.Decided{Maybe: x.Maybe})
	})
	if err == nil {
		err = newLooseReader(v, &c.Search, c.NeedPayload(), add).readKeys(ctx, v.keys)
	}
	if err == nil {
		p.keep()
	}
	return p.found, err
}

// restore adds the points that are known, and finds the segments that are to be looked at for the others.
func (p *percentiles) restore() error {
	within := map[int64][]int{} // by the start of a bucket: the segments that may have events of it
	of := make([][]int64, len(p.v.segments))
	ends := map[int64]int64{}
	for i, x := range p.v.segments {
		if overlaps, _ := p.c.Overlaps(&x); !overlaps {
			continue
		}
		starts, end, ok := p.sums.Buckets(x.FirstMS, x.LastMS, maxKnownBuckets)
		if !ok {
			return nil
		}
		for k, start := range starts {
			within[start] = append(within[start], i)
			ends[start] = end
			if k+1 < len(starts) {
				ends[start] = starts[k+1]
			}
		}
		of[i] = starts
	}
	changes := make([][]byte, len(p.v.segments))
	for i := range changes {
		changes[i] = p.v.changesOf(&p.v.segments[i])
	}
	p.unkept = map[int64]string{}
	for start, segments := range within {
		if p.sums.HasEvents(start) {
			p.unkept[start] = ""
			continue
		}
		key := p.key(start, ends[start], segments, changes)
		points, ok := p.v.s.answers.Known(key).([]query.BucketPoint)
		if !ok {
			p.unkept[start] = key
			continue
		}
		p.found = true
		if err := p.sums.Restore(start, points); err != nil {
			return err
		}
	}
	p.look = nil
	for i, x := range p.v.segments {
		for _, start := range of[i] {
			if _, ok := p.unkept[start]; ok {
				p.look = append(p.look, x)
				break
			}
		}
	}
	return nil
}

// key says all that the points of a bucket depend on.
func (p *percentiles) key(start, end int64, segments []int, changes [][]byte) string {
	h := fnv.New128a()
	for _, i := range segments {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(p.v.segments[i].ID)))
		h.Write(changes[i])
	}
	within := "" // of a bucket that the chart's range cuts
	if p.c.From != nil && *p.c.From > float64(start) {
		within = fmt.Sprint(" from ", *p.c.From)
	}
	if p.c.To != nil && *p.c.To < float64(end) {
		within += fmt.Sprint(" to ", *p.c.To)
	}
	return fmt.Sprintf("points %d %d %s%s %x %s", p.v.project, start, p.sums.PointsKey(), within, h.Sum(nil), query.KeyOf(p.c.Filters))
}

// keep keeps the points that were not known, unless some groups are to become one.
func (p *percentiles) keep() {
	if p.unkept == nil || p.sums.JoinsGroups() {
		return
	}
	finished := p.sums.Finished()
	for start, key := range p.unkept {
		if key == "" || p.sums.HasEvents(start) {
			continue
		}
		points := finished[start]
		size := 0
		for _, x := range points {
			size += 48
			if x.Group != nil {
				size += len(*x.Group)
			}
		}
		p.v.s.answers.Keep(key, points, size)
	}
}
