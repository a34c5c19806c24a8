package storetest

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
)

// segmentsPercentiles asks for the same chart of percentiles again and again, while buckets whose points are known get events, lose them and
// have them changed, sealed and not.
func segmentsPercentiles(e *env) {
	took := func(session, name string, seconds, ms float64) event.Incoming {
		in := step(session, name, seconds)
		in.End, in.Duration = in.Start+ms, ms
		return in
	}
	chart := func(when string) {
		e.Helper()
		metric, err := query.NewFieldReader("duration")
		e.ok(err)
		name, err := query.NewFieldReader("event_type")
		e.ok(err)
		// The second range cuts the second of three hours.
		from := noon + 1.5*3_600_000.0
		for _, q := range []query.Search{{}, {From: &from}} {
			for _, group := range []*query.FieldReader{nil, &name} {
				c := &query.Chart{Metric: metric, Bucket: query.Hour, Zone: time.UTC, Aggregation: query.P95, Search: q, Group: group}
				want, err := e.s.Chart(events.FromRows(e.ctx), e.project, c)
				e.ok(err)
				for range 2 { // the second time some points are known
					got, err := e.s.Chart(e.ctx, e.project, c)
					e.ok(err)
					if d := cmp.Diff(want, got); d != "" {
						e.Errorf("%s (-rows +segments):\n%s", when, d)
					}
				}
			}
		}
	}
	for j, name := range []string{"a", "b", "c", "d", "e", "f"} {
		e.put(took("s", name, float64(j)*1800, float64(100*(j+1))))
	}
	chart("not sealed")
	e.ok(e.s.Seal(e.ctx))
	chart("sealed")
	e.put(took("t", "x", 3700, 5000))
	chart("an event that is not sealed in the second hour")
	e.put(took("t", "y", 8*3600, 700))
	chart("another in an hour of its own")
	e.ok(e.s.Seal(e.ctx))
	chart("both sealed")
	e.ok(e.s.DeleteEvent(e.ctx, e.project, id("a")))
	chart("one of the first hour deleted")
	e.ok(e.s.Seal(e.ctx))
	chart("its segment built anew")
	e.ok(e.s.DeleteEvent(e.ctx, e.project, id("b")))
	e.ok(e.s.Seal(e.ctx))
	chart("the first hour is empty but for its session")
	e.put(took("u", "z", 60, 9000))
	chart("an event in the first hour")
}
