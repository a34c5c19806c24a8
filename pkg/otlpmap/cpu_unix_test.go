//go:build unix

package otlpmap

import (
	"syscall"
	"time"
)

// cpuTime returns how long this process has been on a CPU so far. On a machine that does other work
// as well it tells what a benchmark costs, where the time on the wall tells what the others left.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
