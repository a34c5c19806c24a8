package limit

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
)

func who(projectID int64, key string) *project.Identity {
	return &project.Identity{Project: project.Project{ID: projectID}, KeyID: key}
}

// wait returns how long a refused request is told to wait; 0 if it was admitted.
func wait(t *testing.T, err error) time.Duration {
	t.Helper()
	if err == nil {
		return 0
	}
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Limited || f.RetryAfter <= 0 {
		t.Fatalf("refused by %v", err)
	}
	return f.RetryAfter
}

func TestRequests(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	l := New(func() time.Time { return now })
	b := project.Bounds{RequestsPerSecond: 2, RequestBurst: 3}
	admit := func(projectID int64, key string) time.Duration {
		_, err := l.Admit(who(projectID, key), &b)
		return wait(t, err)
	}
	for _, key := range []string{"a", "b", "a"} {
		if w := admit(1, key); w != 0 {
			t.Fatalf("refused within the burst for %s", w)
		}
	}
	for range 3 { // what is refused counts nothing
		if w := admit(1, "b"); w != 500*time.Millisecond {
			t.Fatalf("past the burst: wait %s", w)
		}
	}
	if w := admit(2, "c"); w != 0 {
		t.Errorf("another project waits %s", w)
	}
	now = now.Add(time.Second)
	if w := []time.Duration{admit(1, "a"), admit(1, "a"), admit(1, "a")}; w[0] != 0 || w[1] != 0 || w[2] == 0 {
		t.Errorf("a second later: %v", w)
	}
	b = project.Bounds{} // without bounds from the next request on
	for range 100 {
		if w := admit(1, "a"); w != 0 {
			t.Fatalf("without bounds: wait %s", w)
		}
	}
}

func TestRequestsOfAKey(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	l := New(func() time.Time { return now })
	b := project.Bounds{RequestsPerSecond: 1, RequestBurst: 3, KeyRequestsPerSecond: 0.5}
	admit := func(key string) error {
		_, err := l.Admit(who(1, key), &b)
		return err
	}
	if err := admit("a"); err != nil {
		t.Fatal(err)
	}
	for range 5 { // the project pays nothing for them
		if err := admit("a"); wait(t, err) != 2*time.Second || !strings.Contains(err.Error(), "the key makes more than 0.5 requests") {
			t.Fatal(err)
		}
	}
	if admit("b") != nil || admit("c") != nil {
		t.Error("other keys are refused")
	}
	if err := admit("d"); wait(t, err) != time.Second || !strings.Contains(err.Error(), "the project makes more than 1 requests") {
		t.Errorf("past the project's own: %v", err)
	}
	now = now.Add(time.Second)
	if err := admit("d"); err != nil { // the project's refusal cost the key nothing
		t.Error(err)
	}
}

func TestBytes(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	l := New(func() time.Time { return now })
	b := project.Bounds{BytesPerSecond: 1 << 20, ByteBurst: 2 << 20}
	m, err := l.Admit(who(1, "a"), &b)
	if err != nil {
		t.Fatal(err)
	}
	Charge(WithMeter(t.Context(), m), 5<<20) // more than the burst
	Charge(t.Context(), 1<<40)               // of nobody
	if _, err := l.Admit(who(1, "b"), &b); wait(t, err) != 3*time.Second {
		t.Errorf("3 MiB too many: %v", err)
	}
	if _, err := l.Admit(who(2, "c"), &b); err != nil {
		t.Errorf("another project: %v", err)
	}
	now = now.Add(3 * time.Second)
	if _, err := l.Admit(who(1, "b"), &b); err != nil {
		t.Errorf("when it is made up for: %v", err)
	}
	m.Charge(1)
	if _, err := l.Admit(who(1, "b"), &b); err == nil {
		t.Error("one byte too many is free")
	}
}

func TestTinyRatesNameNoEndlessWait(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	l := New(func() time.Time { return now })
	b := project.Bounds{RequestsPerSecond: 1e-12, BytesPerSecond: 1}
	m, err := l.Admit(who(1, "a"), &b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Admit(who(1, "a"), &b); wait(t, err) != maxWait {
		t.Error(err)
	}
	m.Charge(1 << 40)
	if _, err := l.Admit(who(1, "a"), &b); wait(t, err) != maxWait {
		t.Error(err)
	}
}

// Idle buckets give way, so that many keys and projects take bounded memory.
func TestBucketsAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	l := New(func() time.Time { return now })
	b := project.Bounds{RequestsPerSecond: 1, KeyRequestsPerSecond: 1}
	for i := range maxKeys + 10 {
		if _, err := l.Admit(who(int64(i), "k"+time.Duration(i).String()), &b); err != nil {
			t.Fatal(err)
		}
	}
	if l.projects.Len() != maxProjects || l.keys.Len() != maxKeys {
		t.Errorf("%d projects, %d keys", l.projects.Len(), l.keys.Len())
	}
}
