package status

import (
	"fmt"
	"time"
)

// Severity is how bad a problem is.
type Severity string

// Severities.
const (
	Error   Severity = "error"   // the server does not do all that it is for, or soon will not
	Warning Severity = "warning" // it does, and may be slow or refuse some of what is sent
)

// Problem is something that is wrong with a server. Its texts name nobody and nothing that is stored.
type Problem struct {
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
}

// Codes of problems.
const (
	NotWritable  = "store_not_writable"
	NotReadable  = "store_not_readable"
	DiskLow      = "disk_low"
	QueueFull    = "queue_full"
	UpdatesFull  = "updates_full"
	CommitsSlow  = "commits_slow"
	IndexStalled = "index_stalled"
)

// Bounds past which something is a problem.
const (
	// MinFree is how much of the disk must be free: less than that, a large commit and the checkpoint after it may not fit.
	MinFree = 1 << 30
	// fullShare is from which share of its bound on a queue is nearly full. One project alone may take no more than that of the updates.
	fullShare = 0.75
	// slowCommit is what 99 of 100 commits should not take.
	slowCommit = 2 * time.Second
	// stalled is how long the background may look for no segment to build. It looks every few seconds, but one pass over many
	// events takes minutes.
	stalled = 15 * time.Minute
)

// Find returns what is wrong, the worst first, by the figures of s. What could not be read at all, its caller knows.
func (s *Status) Find() (list []Problem) {
	add := func(code string, severity Severity, format string, args ...any) {
		list = append(list, Problem{code, severity, fmt.Sprintf(format, args...)})
	}
	if s.Store != nil {
		if w := s.Store.WriteCheck; w != nil && !w.OK {
			add(NotWritable, Error, "the store cannot be written (%s)", w.Reason)
		}
		if d := s.Store.Disk; d != nil && d.FreeBytes < MinFree {
			add(DiskLow, Error, "%d MB of the disk of the data directory are free, and should be at least %d", d.FreeBytes>>20, MinFree>>20)
		}
	}
	if q := s.Queue; q != nil && (full(q.Bytes, q.MaxBytes) || full(q.Requests, q.MaxRequests)) {
		add(QueueFull, Warning, "the queue of writes is nearly full: %d requests of %d, %d bytes of %d", q.Requests, q.MaxRequests, q.Bytes, q.MaxBytes)
	}
	if w := s.Waiting; w != nil && full(w.Updates, w.MaxUpdates) {
		add(UpdatesFull, Warning, "%d updates wait for their events, of at most %d", w.Updates, w.MaxUpdates)
	}
	if c := s.Commits; c != nil && c.P99MS != nil && *c.P99MS > float64(slowCommit.Milliseconds()) {
		add(CommitsSlow, Warning, "one of a hundred commits takes longer than %.1f s", *c.P99MS/1000)
	}
	if x := s.Index; x != nil && x.IdleS > stalled.Seconds() {
		add(IndexStalled, Warning, "no segments were built or looked for since %.0f min", x.IdleS/60)
	}
	return list
}

func full(n, bound int64) bool { return bound > 0 && float64(n) >= fullShare*float64(bound) }
