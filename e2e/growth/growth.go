// Package growth tells in tests how the time of some work grows with its size. It compares two times of the same process, so that neither the speed of
// the machine nor what else runs there decides.
package growth

import (
	"testing"
	"time"
)

const (
	step  = 4  // how many times as large the larger work is
	most  = 10 // how many times as long it may take; what grows with the square takes 16 times as long
	tries = 5
)

// Linear fails the test if work that is four times as large takes more than ten times as long, each time that it is tried. prepare returns the work of
// a size, which is not timed.
func Linear(t testing.TB, size int, prepare func(size int) (work func())) {
	t.Helper()
	var small, large time.Duration
	for range tries {
		small, large = timed(prepare(size/step)), timed(prepare(size))
		if large <= most*small {
			return
		}
	}
	t.Errorf("%d took %s, and %d took %s, each of %d times", size/step, small, size, large, tries)
}

func timed(work func()) time.Duration {
	began := time.Now()
	work()
	return time.Since(began)
}
