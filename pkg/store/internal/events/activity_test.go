package events

import (
	"math"
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/status"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// stepped is a clock that a test moves.
type stepped struct{ at time.Time }

func (c *stepped) now() time.Time { return c.at }

func (c *stepped) add(d time.Duration) { c.at = c.at.Add(d) }

func reported(a *activity) (out status.Activity) {
	a.report(&out)
	return out
}

func TestActivityRates(t *testing.T) {
	t.Parallel()
	c := &stepped{time.Unix(1_790_000_000, 0)}
	a := newActivity(c.now)
	if got := reported(a); got.Ingest.Events != (status.Rate{}) || got.Commits.P50MS != nil || got.Commits.MeanEvents != nil || *got.Commits.Total != 0 {
		t.Errorf("before anything came: %+v", got)
	}
	batch := func(events, spans int) []writer.Batch {
		return []writer.Batch{&writeBatch{events: events, spans: spans}}
	}
	// Ten minutes of 20 events a second, a quarter of them spans, then three minutes of nothing.
	for range 600 {
		c.add(time.Second)
		a.commit(batch(20, 5), time.Millisecond, false)
	}
	got := reported(a)
	near := func(what string, x, want float64) {
		t.Helper()
		if math.Abs(x-want) > 0.5 {
			t.Errorf("%s: %v, want %v", what, x, want)
		}
	}
	near("events in a minute", got.Ingest.Events.PerSecond1m, 20)
	near("events in five minutes", got.Ingest.Events.PerSecond5m, 20)
	near("spans", got.Ingest.Spans.PerSecond1m, 5)
	near("native events", got.Ingest.Native.PerSecond5m, 15)
	if got.Ingest.Events.Total != 12_000 || got.Ingest.Spans.Total != 3000 || got.Ingest.Native.Total != 9000 {
		t.Errorf("totals: %+v", got.Ingest)
	}
	near("events of a commit", *got.Commits.MeanEvents, 20)
	c.add(3 * time.Minute)
	got = reported(a)
	if got.Ingest.Events.PerSecond1m != 0 {
		t.Errorf("after three minutes of nothing: %v events a second in the last one", got.Ingest.Events.PerSecond1m)
	}
	near("events in five minutes, three of them quiet", got.Ingest.Events.PerSecond5m, 8)
	// A commit that failed stored nothing; one without events, such as an update, is no batch.
	a.commit(batch(1000, 0), time.Second, true)
	a.commit(nil, time.Millisecond, false)
	got = reported(a)
	if got.Ingest.Events.Total != 12_000 || *got.Commits.Failed != 1 || !got.Commits.LastFailed.Equal(c.at) || *got.Commits.Total != 602 {
		t.Errorf("after a failure: %+v, commits %+v", got.Ingest.Events, got.Commits)
	}
	near("events of a commit that stores some", *got.Commits.MeanEvents, 20)
	c.add(time.Hour)
	if got = reported(a); got.Commits.P50MS != nil || *got.Commits.Count != 0 || *got.Commits.Total != 602 {
		t.Errorf("an hour later: %+v", got.Commits)
	}
	c.add(-2 * time.Hour) // what comes while a clock is set back counts as now
	a.commit(batch(300, 0), time.Millisecond, false)
	if got = reported(a); *got.Commits.Count != 1 || got.Ingest.Events.Total != 12_300 {
		t.Errorf("after the clock was set back: %+v", got)
	}
}

// A server that has just started divides by the time that it runs.
func TestActivityOfAYoungServer(t *testing.T) {
	t.Parallel()
	c := &stepped{time.Unix(1_790_000_000, 0)}
	a := newActivity(c.now)
	c.add(12 * time.Second)
	a.commit([]writer.Batch{&writeBatch{events: 120}}, time.Millisecond, false)
	if got := reported(a).Ingest.Events; got.PerSecond1m != 10 || got.PerSecond5m != 10 {
		t.Errorf("%+v, want 10 a second", got)
	}
}

func TestActivityQuantiles(t *testing.T) {
	t.Parallel()
	c := &stepped{time.Unix(1_790_000_000, 0)}
	for _, ms := range []float64{0.2, 1, 3.7, 40, 900, 45_000} {
		a := newActivity(c.now)
		for range 98 {
			a.commit(nil, time.Duration(ms*float64(time.Millisecond)), false)
		}
		a.commit(nil, time.Duration(2*ms*float64(time.Millisecond)), false)
		a.commit(nil, time.Duration(2*ms*float64(time.Millisecond)), false)
		got := reported(a).Commits
		if p := *got.P50MS; math.Abs(p/ms-1) > 0.1 {
			t.Errorf("p50 of %v ms: %v", ms, p)
		}
		if p := *got.P99MS; math.Abs(p/(2*ms)-1) > 0.1 {
			t.Errorf("p99 of %v ms: %v", 2*ms, p)
		}
	}
	for _, took := range []time.Duration{-time.Second, 0, 24 * time.Hour} {
		if i := bucketOf(took); i < 0 || i >= timeBuckets {
			t.Errorf("%s is in bucket %d", took, i)
		}
	}
}

func BenchmarkActivity(b *testing.B) {
	a := newActivity(time.Now)
	batches := []writer.Batch{&writeBatch{events: 20, spans: 5}}
	for b.Loop() {
		a.commit(batches, 1700*time.Microsecond, false)
	}
}
