package events

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// hold keeps the store's writer busy until the returned function is called.
func hold(t *testing.T, s *Store) (release func()) {
	t.Helper()
	begun, end := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- s.Change(context.Background(), 0, uuid.Nil, 0, func(context.Context, *Commit) error {
			close(begun)
			<-end
			return nil
		})
	}()
	<-begun
	return func() {
		close(end)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func oneEvent() event.Batch {
	e := event.Incoming{Event: event.Event{Type: event.TypeTool, Inputs: []byte(`{"q":"text"}`)}}
	e.Complete(time.UnixMilli(1767355200000))
	return event.Batch{Events: []event.Incoming{e}}
}

func TestQueueBound(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{QueueBytes: 1000})
	release := hold(t, s)
	waiting := make(chan error, 3)
	for range 3 { // each is some 270 bytes
		b := oneEvent()
		before := s.pool.Queued()
		go func() { waiting <- s.Put(context.Background(), testProject, b) }()
		for s.pool.Queued() == before {
			runtime.Gosched() // until it is in the queue
		}
	}
	err := s.Put(t.Context(), testProject, oneEvent())
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Unavailable || f.RetryAfter <= 0 {
		t.Errorf("past the bound: %v, want Unavailable with a delay", err)
	}
	_, err = s.Update(t.Context(), testProject, event.Update{EventID: uuid.New(), Metadata: make([]byte, 900)})
	if fault.Of(err) != fault.Unavailable {
		t.Errorf("update past the bound: %v, want Unavailable", err)
	}
	release()
	for range 3 {
		if err := <-waiting; err != nil {
			t.Error(err)
		}
	}
	if err := s.Put(t.Context(), testProject, oneEvent()); err != nil {
		t.Errorf("after the queue emptied: %v", err)
	}
	if n := s.pool.Queued(); n != 0 {
		t.Errorf("%d bytes in an empty queue", n)
	}
}

func TestCallerGoesAway(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{})
	release := hold(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := oneEvent()
	if err := s.Put(ctx, testProject, b); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want canceled", err)
	}
	for range 2 * 256 { // the writer's queue fills, and the rest never get in
		_ = s.Put(ctx, testProject, oneEvent())
	}
	release()
	if err := s.Put(t.Context(), testProject, b); err != nil {
		t.Errorf("sent again: %v", err)
	}
	closeTest(s)
	if n := s.pool.Queued(); n != 0 {
		t.Errorf("%d bytes left in the queue", n)
	}
	if err := s.Put(t.Context(), testProject, b); fault.Of(err) != fault.Unavailable {
		t.Errorf("after Close: %v, want Unavailable", err)
	}
	if n := s.pool.Queued(); n != 0 {
		t.Errorf("%d bytes in the queue of a closed store", n)
	}
}

// A job that fails for a reason of the database's rolls back alone.
func TestFailingRequestSinksNoNeighbour(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{})
	release := hold(t, s)
	b := oneEvent()
	good, bad := make(chan error, 1), make(chan error, 1)
	go func() { good <- s.Put(context.Background(), testProject, b) }()
	go func() {
		bad <- s.Change(context.Background(), 0, uuid.Nil, 1, func(ctx context.Context, tx *Commit) error {
			_, err := tx.Exec(ctx, `INSERT INTO setting(name, value) VALUES ('twice', ''), ('twice', '')`)
			return err
		})
	}()
	for want := sizeOf(&b) + 1; s.pool.Queued() < want; {
		runtime.Gosched() // until both wait for one commit
	}
	release()
	if err := <-good; err != nil {
		t.Errorf("the neighbour: %v", err)
	}
	if err := <-bad; err == nil {
		t.Error("the failing request was answered well")
	}
	if _, err := s.Event(t.Context(), testProject, b.Events[0].ID); err != nil {
		t.Error(err)
	}
}

func TestExpire(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1767355200000)
	s := openTest(t, Options{Now: func() time.Time { return now }, PendingTTL: time.Hour})
	for range 3 {
		if _, err := s.Update(t.Context(), testProject, event.Update{EventID: uuid.New(), Metadata: []byte(`{"a":1}`)}); err != nil {
			t.Fatal(err)
		}
	}
	part := event.LogPart{Kind: event.LogRecord, SpanID: uuid.New(), TraceID: uuid.New(), Content: []byte(`{"body":"text"}`)}
	if err := s.Put(t.Context(), testProject, event.Batch{LogParts: []event.LogPart{part}}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		after time.Duration
		want  int
	}{{time.Hour, 3}, {time.Hour + time.Millisecond, 0}} {
		if err := errors.Join(s.expirePending(t.Context(), now.Add(tt.after)), s.expireLogs(t.Context(), now.Add(tt.after))); err != nil {
			t.Fatal(err)
		}
		if n := s.pending.count(); n != tt.want {
			t.Errorf("after %s %d updates wait, want %d", tt.after, n, tt.want)
		}
		if bytes, err := s.StoredBytes(t.Context(), testProject); err != nil || (bytes > 0) != (tt.want > 0) {
			t.Errorf("after %s %d bytes are stored (%v)", tt.after, bytes, err)
		}
	}
	var bytes int64 // as a server that begins reads them
	if _, err := sqldb.One(t.Context(), s.db, `SELECT sum(bytes) FROM stored_bytes`, nil, &bytes); err != nil || bytes != 0 {
		t.Errorf("%d bytes are stored at the end (%v)", bytes, err)
	}
}

// What a change uses of its caller's is the caller's again when he has left: a change that runs
// ends before, and one that waits does not run.
func TestChangeWhoseCallerLeaves(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{})
	leaving, leave := context.WithCancel(t.Context())
	begun, end, left := make(chan struct{}), make(chan struct{}), make(chan string, 1)
	go func() {
		var wrote string
		_ = s.Change(leaving, 0, uuid.Nil, 0, func(context.Context, *Commit) error {
			close(begun)
			<-end
			wrote = "all"
			return nil
		})
		left <- wrote
	}()
	<-begun
	ran := false
	waiting, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	if err := s.Change(waiting, 0, uuid.Nil, 0, func(context.Context, *Commit) error { ran = true; return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	leave()
	time.AfterFunc(50*time.Millisecond, func() { close(end) }) // time enough to leave at once
	if wrote := <-left; wrote != "all" {
		t.Errorf("the caller left when the change had written %q", wrote)
	}
	if err := s.Change(t.Context(), 0, uuid.Nil, 0, func(context.Context, *Commit) error { return nil }); err != nil || ran {
		t.Error("a change ran whose caller had left", err)
	}
}
