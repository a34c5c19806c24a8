package status_test

import (
	"fmt"
	"testing"

	"github.com/spangrove/spangrove/pkg/status"
)

func TestFind(t *testing.T) {
	t.Parallel()
	ms := func(x float64) *float64 { return &x }
	store := func(free int64, w *status.WriteCheck) *status.Database {
		return &status.Database{Disk: &status.Disk{FreeBytes: free, TotalBytes: 1 << 40}, WriteCheck: w}
	}
	for _, tt := range []struct {
		name string
		s    status.Status
		want string
	}{
		{"nothing is known", status.Status{}, ""},
		{"all is well", status.Status{
			Store: store(status.MinFree, &status.WriteCheck{OK: true}), Queue: &status.Queue{Requests: 10, MaxRequests: 256, Bytes: 10, MaxBytes: 100},
			Waiting: &status.Waiting{Updates: 10, MaxUpdates: 100}, Commits: &status.Commits{P99MS: ms(20)}, Index: &status.Index{IdleS: 3},
		}, ""},
		{"no disk of its own", status.Status{Store: &status.Database{}}, ""},
		{"disk", status.Status{Store: store(status.MinFree-1, nil)}, "disk_low error"},
		{"write", status.Status{Store: store(status.MinFree, &status.WriteCheck{Reason: "UNAVAILABLE"})}, "store_not_writable error"},
		{"bytes", status.Status{Queue: &status.Queue{Bytes: 75, MaxBytes: 100}}, "queue_full warning"},
		{"requests", status.Status{Queue: &status.Queue{Requests: 200, MaxRequests: 256, MaxBytes: 100}}, "queue_full warning"},
		{"updates", status.Status{Waiting: &status.Waiting{Updates: 80, MaxUpdates: 100}}, "updates_full warning"},
		{"commits", status.Status{Commits: &status.Commits{P99MS: ms(2001)}}, "commits_slow warning"},
		{"index", status.Status{Index: &status.Index{IdleS: 901}}, "index_stalled warning"},
		{"the worst is first", status.Status{Store: store(0, nil), Index: &status.Index{IdleS: 901}}, "disk_low error index_stalled warning"},
	} {
		got := ""
		for _, p := range tt.s.Find() {
			if got != "" {
				got += " "
			}
			got += fmt.Sprint(p.Code, " ", p.Severity)
			if p.Message == "" {
				t.Errorf("%s: %s has no message", tt.name, p.Code)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
