package events

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/spangrove/spangrove/pkg/status"
)

// Reasons for which a question goes by rows, as an operator sees them.
const (
	rowsByIndex  = "index"   // an index or a sum that is kept leads to the answer at once
	rowsByFields = "fields"  // columns do not hold all that the question reads
	rowsNone     = "none"    // the project has no segments yet
	rowsWaiting  = "waiting" // too many events are in segments that wait to be built anew
	rowsLoose    = "loose"   // too many events of segments have changed, or cannot be decided by columns
	rowsLarge    = "large"   // there are too many groups, values or sessions to be held in memory
	rowsDamaged  = "damaged" // a segment turned out to be damaged
	rowsOther    = "other"
)

// goByRows is errNotInSegments with a reason.
type goByRows string

func (r goByRows) Error() string        { return errNotInSegments.Error() + ": " + string(r) }
func (r goByRows) Is(target error) bool { return target == errNotInSegments }

// reasonOf returns the reason of an error that is errNotInSegments.
func reasonOf(err error) string {
	var r goByRows
	if errors.As(err, &r) {
		return string(r)
	}
	return rowsOther
}

// byRows counts a question that goes by rows, and returns false.
func (s *Store) byRows(ctx context.Context, reason string) bool {
	if ctx.Value(fromRows{}) == nil {
		s.telemetry.reads.Add(ctx, 1, metric.WithAttributes(attribute.String("by", "rows"), attribute.String("reason", reason)))
	}
	return false
}

// bySegments counts a question that segments have answered.
func (s *Store) bySegments(ctx context.Context) {
	s.telemetry.reads.Add(ctx, 1, metric.WithAttributes(attribute.String("by", "segments")))
}

// segmentGauges is what the last pass of the background saw, of all projects.
type segmentGauges struct {
	segments atomic.Int64
	waiting  atomic.Int64 // segments
	unsealed atomic.Int64 // places behind the last that is sealed
	changed  atomic.Int64 // events of segments
	passed   atomic.Int64 // when a pass last ended, or built a segment, Unix nanoseconds
}

func (g *segmentGauges) saw(list []segmentState) {
	var waiting, changed int64
	for i := range list {
		if !list[i].HasHeader {
			waiting++
		}
		changed += int64(list[i].stale)
	}
	g.segments.Store(int64(len(list)))
	g.waiting.Store(waiting)
	g.changed.Store(changed)
}

// built notes that a run of segments was built anew.
func (g *segmentGauges) built(run []segmentState) {
	for i := range run {
		if !run[i].HasHeader {
			g.waiting.Add(-1)
		}
	}
	g.pass()
}

// idle returns how long ago the background last looked for segments to build, or built one.
func (g *segmentGauges) idle() time.Duration { return time.Since(time.Unix(0, g.passed.Load())) }

// report returns what the gauges show.
func (g *segmentGauges) report() status.Index {
	return status.Index{
		Segments:        g.segments.Load(),
		WaitingSegments: g.waiting.Load(),
		UnsealedEvents:  g.unsealed.Load(),
		ChangedEvents:   g.changed.Load(),
		IdleS:           math.Round(g.idle().Seconds()*10) / 10,
	}
}

func (g *segmentGauges) pass() { g.passed.Store(time.Now().UnixNano()) }

// observe registers the gauges.
func (g *segmentGauges) observe(m metric.Meter) error {
	g.pass()
	for _, x := range []struct {
		name, unit, description string
		value                   *atomic.Int64
	}{
		{"spangrove_store_segments", "{segment}", "Segments, which hold events as columns.", &g.segments},
		{"spangrove_store_segments_waiting", "{segment}", "Segments that wait to be built anew; their events are read from rows.", &g.waiting},
		{"spangrove_store_segment_events_unsealed", "{event}", "Events, at most, that came after the last segment; they are read from rows.", &g.unsealed},
		{"spangrove_store_segment_events_changed", "{event}",
			"Events that were changed or deleted since their segment was built; they are read from rows.", &g.changed},
	} {
		if _, err := m.Int64ObservableGauge(x.name, metric.WithUnit(x.unit), metric.WithDescription(x.description),
			metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
				o.Observe(x.value.Load())
				return nil
			}),
		); err != nil {
			return err
		}
	}
	_, err := m.Float64ObservableGauge("spangrove_store_segment_idle_seconds", metric.WithUnit("s"),
		metric.WithDescription("Time since the background last looked for segments to build, or built one: a few seconds, unless it fails."),
		metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
			o.Observe(g.idle().Seconds())
			return nil
		}))
	return err
}
