package events

import (
	"math"
	"sync"
	"time"

	"github.com/spangrove/spangrove/pkg/status"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// activity counts commits for the status of the server: in all, and of the last five minutes in slots of five seconds, with a histogram of
// their times in each. It takes about 25 KB however much is stored, and a commit well under a microsecond. What the meters of telemetry
// count, it counts at the same places.
type activity struct {
	now func() time.Time

	mu      sync.Mutex
	began   time.Time
	newest  int64 // number of the newest slot
	slots   [activitySlots]activitySlot
	total   activityCounts
	failed  time.Time // when a commit last failed; zero: none did
	refused int64     // requests that found no room in the queue
}

const (
	activitySlot5s = 5 * time.Second
	activitySlots  = 61 // five minutes, and the slot that is being filled
	slotsOfMinute  = 12
	// Buckets of times grow by a quarter of a power of two: the middle of one differs from what is in it by less than 10 %.
	timeBuckets   = 88   // up to 200 s, which is more than commitTimeout
	firstBucketMS = 0.05 // upper bound of the first bucket
	bucketsOfTwo  = 4    // buckets for each power of two
	minCoveredSec = 1.0  // rates of a server that started just now are not of milliseconds
)

// activityCounts are sums over commits.
type activityCounts struct {
	events, spans int64
	commits       int64 // those that failed, too
	batches       int64 // of the commits, those that stored events
	failed        int64
}

func (c *activityCounts) add(o *activityCounts) {
	c.events += o.events
	c.spans += o.spans
	c.commits += o.commits
	c.batches += o.batches
	c.failed += o.failed
}

// activitySlot is what came in five seconds, which number counts from the start.
type activitySlot struct {
	number int64
	counts activityCounts
	times  [timeBuckets]uint32
}

func newActivity(now func() time.Time) *activity { return &activity{now: now, began: now()} }

// commit counts one commit. Its events count only if it is on disk, its time in any case.
func (a *activity) commit(batches []writer.Batch, took time.Duration, failed bool) {
	c := activityCounts{commits: 1}
	if failed {
		c.failed = 1
	} else {
		for _, b := range batches {
			if w, ok := b.(*writeBatch); ok {
				c.events += int64(w.events)
				c.spans += int64(w.spans)
			}
		}
		if c.events > 0 {
			c.batches = 1
		}
	}
	now := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if failed {
		a.failed = now
	}
	a.total.add(&c)
	slot := &a.slots[a.slot(now)%activitySlots]
	slot.counts.add(&c)
	slot.times[bucketOf(took)]++
}

// slot returns the number of the slot of now, which is empty if nothing was counted in it. The caller holds mu.
func (a *activity) slot(now time.Time) int64 {
	n := max(int64(now.Sub(a.began)/activitySlot5s), a.newest) // a clock that was set back
	if s := &a.slots[n%activitySlots]; s.number != n {
		*s = activitySlot{number: n}
	}
	a.newest = n
	return n
}

func (a *activity) refuse() {
	a.mu.Lock()
	a.refused++
	a.mu.Unlock()
}

// bucketOf returns the bucket of a time.
func bucketOf(took time.Duration) int {
	ms := float64(took) / float64(time.Millisecond)
	if ms <= firstBucketMS {
		return 0
	}
	return min(int(math.Ceil(bucketsOfTwo*math.Log2(ms/firstBucketMS))), timeBuckets-1)
}

// bucketMS returns the middle of a bucket.
func bucketMS(i int) float64 { return firstBucketMS * math.Exp2((float64(i)-0.5)/bucketsOfTwo) }

// last sums up the last slots before the one that is being filled, and that one; seconds is how long they are together, at least one.
// The caller holds mu and has called slot.
func (a *activity) last(now time.Time, slots int64) (sum activitySlot, seconds float64) {
	for n := max(a.newest-slots, 0); n <= a.newest; n++ {
		s := &a.slots[n%activitySlots]
		if s.number != n {
			continue // nothing was counted in it
		}
		sum.counts.add(&s.counts)
		for i, x := range s.times {
			sum.times[i] += x
		}
	}
	from := a.began.Add(time.Duration(max(a.newest-slots, 0)) * activitySlot5s)
	return sum, max(now.Sub(from).Seconds(), minCoveredSec)
}

// quantile returns the time within which a share of the commits of a slot ended, in milliseconds; nil if there was none.
func (s *activitySlot) quantile(share float64) *float64 {
	if s.counts.commits == 0 {
		return nil
	}
	rank := int64(math.Ceil(share * float64(s.counts.commits)))
	i := 0
	for seen := int64(s.times[0]); seen < rank && i < timeBuckets-1; seen += int64(s.times[i]) {
		i++
	}
	ms := math.Round(bucketMS(i)*1000) / 1000
	return &ms
}

// report fills in what was counted.
func (a *activity) report(to *status.Activity) {
	now := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.slot(now)
	minute, minuteS := a.last(now, slotsOfMinute)
	five, fiveS := a.last(now, activitySlots-1)
	rate := func(of func(*activityCounts) int64) status.Rate {
		round := func(x float64) float64 { return math.Round(x*100) / 100 }
		return status.Rate{
			PerSecond1m: round(float64(of(&minute.counts)) / minuteS),
			PerSecond5m: round(float64(of(&five.counts)) / fiveS),
			Total:       of(&a.total),
		}
	}
	to.Ingest = status.Ingest{
		Events: rate(func(c *activityCounts) int64 { return c.events }),
		Spans:  rate(func(c *activityCounts) int64 { return c.spans }),
		Native: rate(func(c *activityCounts) int64 { return c.events - c.spans }),
	}
	total, failed, count := a.total.commits, a.total.failed, five.counts.commits
	to.Commits = status.Commits{P50MS: five.quantile(0.5), P99MS: five.quantile(0.99), Count: &count, Total: &total, Failed: &failed}
	if five.counts.batches > 0 {
		mean := math.Round(float64(five.counts.events)/float64(five.counts.batches)*100) / 100
		to.Commits.MeanEvents = &mean
	}
	if !a.failed.IsZero() {
		at := a.failed.UTC()
		to.Commits.LastFailed = &at
	}
	to.Queue.Refused = a.refused
}
