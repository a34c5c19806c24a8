package hostile

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
)

// resetPeak makes the process's peak of resident memory what it has now, and returns that in MiB.
func resetPeak(t *testing.T, pid int) int {
	t.Helper()
	// 5 resets the peak, see proc_pid_clear_refs(5).
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		t.Fatal("the peak of the server's memory cannot be reset:", err)
	}
	return peak(t, pid)
}

// peak returns the most resident memory that the process has had since resetPeak, in MiB.
func peak(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			kib, err := strconv.Atoi(string(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte(" kB"))))
			if err != nil {
				t.Fatal(err)
			}
			return kib >> 10
		}
	}
	t.Fatalf("no VmHWM in /proc/%d/status", pid)
	return 0
}

func running(pid int) bool { return syscall.Kill(pid, 0) == nil }
