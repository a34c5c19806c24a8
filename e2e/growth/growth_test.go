package growth

import (
	"testing"
	"testing/synctest"
	"time"
)

// failed notes a failure in place of failing.
type failed struct {
	testing.TB
	failed bool
}

func (f *failed) Errorf(string, ...any) { f.failed = true }

func TestLinear(t *testing.T) {
	for name, tt := range map[string]struct {
		take func(size int) time.Duration
		want bool
	}{
		"with the size":      {func(n int) time.Duration { return time.Duration(n) * time.Millisecond }, false},
		"with its square":    {func(n int) time.Duration { return time.Duration(n*n) * time.Millisecond }, true},
		"not with it at all": {func(int) time.Duration { return time.Millisecond }, false},
	} {
		synctest.Test(t, func(t *testing.T) { // in which sleeping takes as long as it says
			f := &failed{TB: t}
			Linear(f, 20, func(size int) func() { return func() { time.Sleep(tt.take(size)) } })
			if f.failed != tt.want {
				t.Errorf("work that grows %s: failed is %t", name, f.failed)
			}
		})
	}
}
