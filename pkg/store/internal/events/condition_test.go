package events

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

var (
	errNoSpace = errors.New("no space left on device")
	errDown    = errors.New("connection refused")
)

// conditionDB is a database of which only errors and free space are asked.
type conditionDB struct {
	sqldb.DB
	free int64 // -1: not known
}

func (d *conditionDB) Full(err error) bool        { return errors.Is(err, errNoSpace) }
func (d *conditionDB) Unavailable(err error) bool { return d.Full(err) || errors.Is(err, errDown) }
func (d *conditionDB) Interrupted(error) bool     { return false }
func (d *conditionDB) Disk(context.Context) (free, total int64, known bool, err error) {
	return max(d.free, 0), 1 << 40, d.free >= 0, nil
}

// conditionTest is a condition with a clock of its own, and what it logs.
type conditionTest struct {
	*condition
	db  *conditionDB
	at  time.Time
	log *observer.ObservedLogs
}

func newConditionTest() *conditionTest {
	core, logs := observer.New(zapcore.InfoLevel)
	c := &conditionTest{db: &conditionDB{}, at: time.Unix(1_700_000_000, 0), log: logs}
	c.condition = &condition{
		db: c.db, log: zap.New(core), now: func() time.Time { return c.at }, slow: time.Second,
		waiting: func() int64 { return 7 }, queued: func() int64 { return 4096 }, oldest: func() time.Time { return time.Time{} },
		answers: func(context.Context) error { return nil },
	}
	return c
}

// after lets time pass and notes a commit.
func (c *conditionTest) after(d time.Duration, took time.Duration, err error) string {
	c.at = c.at.Add(d)
	return c.commit(took, err)
}

// lines returns what was logged since the last call.
func (c *conditionTest) lines() (all []string) {
	for _, e := range c.log.TakeAll() {
		line := e.Level.String() + " " + e.Message
		m := e.ContextMap()
		for _, name := range []string{"after", "commits", "free_bytes", "took", "p99", "of_commits", "queue_requests", "queue_bytes"} {
			if v, ok := m[name]; ok {
				line += fmt.Sprintf(" %s=%v", name, v)
			}
		}
		all = append(all, line)
	}
	return all
}

func (c *conditionTest) said(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, c.lines()); diff != "" {
		t.Errorf("the log, -want +got\n%s", diff)
	}
}

func TestFullDiskIsSaidOnce(t *testing.T) {
	t.Parallel()
	c := newConditionTest()
	c.db.free = 4096
	for range 100 {
		if failure := c.after(time.Second, 0, fmt.Errorf("commit: %w", errNoSpace)); failure != "disk_full" {
			t.Fatalf("failure %q", failure)
		}
	}
	c.said(t, "error disk full: nothing can be stored until it has space free_bytes=4096")
	if err := c.writable(t.Context()); fault.Of(err) != fault.Unavailable || err.Error() != "disk full" {
		t.Errorf("writable: %v", err)
	}
	c.after(time.Second, 0, nil) // a small write found a place
	c.said(t)
	c.after(time.Second, 0, errNoSpace)
	c.said(t)
	c.db.free = roomBytes
	c.after(time.Second, 0, nil)
	c.said(t, "info disk has space again after=1m42s commits=101")
	if err := c.writable(t.Context()); err != nil {
		t.Errorf("writable again: %v", err)
	}
	c.after(time.Second, 0, errNoSpace)
	if got := c.lines(); len(got) != 1 {
		t.Errorf("a second time: %q", got)
	}
}

// Where nobody knows what is free, as on another machine, some time without a refusal counts.
func TestFullDiskElsewhere(t *testing.T) {
	t.Parallel()
	c := newConditionTest()
	c.db.free = -1
	c.after(0, 0, errNoSpace)
	c.after(time.Second, 0, nil)
	c.said(t, "error disk full: nothing can be stored until it has space")
	c.after(roomAfter, 0, nil)
	c.said(t, "info disk has space again after=11s commits=1")
}

func TestOutageIsSaidOnce(t *testing.T) {
	t.Parallel()
	c := newConditionTest()
	for range 10 {
		if failure := c.after(time.Second, 0, errDown); failure != "unavailable" {
			t.Fatalf("failure %q", failure)
		}
	}
	if err := c.writable(t.Context()); err == nil || !strings.Contains(err.Error(), "not available") {
		t.Errorf("writable: %v", err)
	}
	c.after(time.Second, 0, nil)
	c.said(t, "error the database is not available: nothing can be stored until it is", "info the database is available again after=10s commits=10")
	if got := []string{c.after(0, 0, context.DeadlineExceeded), c.after(0, 0, errors.New("odd")), c.after(0, 0, nil)}; !cmp.Equal(got, []string{"timeout", "other", ""}) {
		t.Errorf("reasons %q", got)
	}
	c.said(t)
}

func TestSlowCommitsAreSaidOnce(t *testing.T) {
	t.Parallel()
	c := newConditionTest()
	for range 98 {
		c.after(time.Millisecond, 10*time.Millisecond, nil)
	}
	c.after(time.Second, 1500*time.Millisecond, nil)
	c.after(time.Second, 3*time.Second, nil)
	c.said(t, "warn commits are slow took=1.5s p99=1.5s of_commits=99 queue_requests=7 queue_bytes=4096")
	c.after(fastAfter-time.Second, time.Millisecond, nil)
	c.said(t)
	c.after(time.Second, time.Millisecond, nil)
	c.said(t, "info commits are fast again after=1m1s commits=2 p99=1.5s of_commits=102 queue_requests=7 queue_bytes=4096")
	for range 2 * lastCommits {
		c.after(0, time.Millisecond, nil)
	}
	if len(c.took) != lastCommits {
		t.Errorf("%d commits are kept", len(c.took))
	}
	c.slow = -1
	c.after(0, time.Hour, nil)
	c.said(t)
}

// Anybody may ask whether the store can write: the database is asked at most once a second.
func TestWritableAsksSeldom(t *testing.T) {
	t.Parallel()
	c := newConditionTest()
	asked := 0
	c.answers = func(context.Context) error { asked++; return errDown }
	for range 10 {
		if err := c.writable(t.Context()); fault.Of(err) != fault.Unavailable {
			t.Fatalf("writable: %v", err)
		}
	}
	c.at = c.at.Add(askEvery)
	c.answers = func(context.Context) error { asked++; return nil }
	if err := c.writable(t.Context()); err != nil || asked != 2 {
		t.Errorf("a second later: %v; asked %d times", err, asked)
	}
}

func TestStuck(t *testing.T) {
	t.Parallel()
	c := newConditionTest()
	for ago, want := range map[time.Duration]bool{time.Minute: false, stuckAfter + time.Second: true} {
		c.oldest = func() time.Time { return c.at.Add(-ago) }
		if c.stuck() != want {
			t.Errorf("a transaction of %s: %t", ago, !want)
		}
	}
}

// A try to write leaves one row, however often it is made.
func TestCheckWrite(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{})
	for range 3 {
		if err := s.CheckWrite(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var n int
	if _, err := sqldb.One(t.Context(), s.db, `SELECT count(*) FROM setting WHERE name = 'write_check'`, nil, &n); err != nil || n != 1 {
		t.Errorf("%d rows, %v", n, err)
	}
}
