package writer

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeDB runs transactions without a database; fail returns the error of the commit of a transaction, by its number.
type fakeDB struct {
	sqldb.DB
	mu   sync.Mutex
	runs int
	fail func(run int) error
	tx   fakeSQL
}

// fakeSQL counts the statements of all transactions.
type fakeSQL struct {
	sqldb.Tx
	changes int
}

func (t *fakeSQL) Changes() int { return t.changes }

func (d *fakeDB) Write(_ context.Context, f func(sqldb.Tx) error) error {
	d.mu.Lock()
	d.runs++
	run := d.runs
	d.mu.Unlock()
	if err := f(&d.tx); err != nil {
		return err
	}
	if d.fail != nil {
		return d.fail(run)
	}
	return nil
}

func (d *fakeDB) Writers() int           { return 1 }
func (d *fakeDB) Exclusive() bool        { return true }
func (d *fakeDB) Retryable(error) bool   { return false }
func (d *fakeDB) Interrupted(error) bool { return false }
func (d *fakeDB) Unavailable(error) bool { return false }
func (d *fakeDB) Full(error) bool        { return false }

// fakeTx notes which changes ran in one transaction, and publishes them.
type fakeTx struct {
	names  []string
	commit func(names []string)
}

func (*fakeTx) StoreBatches(context.Context, []Batch) error { return nil }
func (*fakeTx) Finish(context.Context) error                { return nil }
func (t *fakeTx) Publish()                                  { t.commit(t.names) }

// poolTest is a pool whose writer waits in the first request until release is called.
type poolTest struct {
	*Pool[*fakeTx]
	db      *fakeDB
	commits [][]string // what each commit published
	release func()
	work    sync.WaitGroup
}

func newPoolTest(t *testing.T, limit int64) *poolTest {
	t.Helper()
	p := &poolTest{db: &fakeDB{}}
	p.Pool = NewPool(p.db, limit, Hooks[*fakeTx]{
		Ready: func(context.Context, []int32, bool) error { return nil },
		Begin: func(sqldb.Tx, int, bool) *fakeTx {
			return &fakeTx{commit: func(names []string) { p.commits = append(p.commits, names) }}
		},
		Observe: func(context.Context, []Batch, time.Duration, error) {},
	})
	held, started := make(chan struct{}), make(chan struct{})
	p.release = sync.OnceFunc(func() { close(held) })
	p.work.Go(func() {
		_ = p.Submit(context.Background(), 0, &Request[*fakeTx]{Apply: func(context.Context, *fakeTx) error {
			close(started)
			<-held
			return nil
		}})
	})
	<-started
	t.Cleanup(func() { p.end() })
	return p
}

// end closes the pool once all that was queued is answered.
func (p *poolTest) end() {
	p.release()
	p.work.Wait()
	p.Close()
	p.Wait()
}

// queue submits a change and waits until the writer's queue has it. The channel takes its answer.
func (p *poolTest) queue(ctx context.Context, name string, apply func() error) <-chan error {
	answer, before := make(chan error, 1), len(p.writers[0].requests)
	p.work.Go(func() {
		answer <- p.Submit(ctx, 0, &Request[*fakeTx]{Apply: func(_ context.Context, tx *fakeTx) error {
			if err := apply(); err != nil {
				return err
			}
			tx.names = append(tx.names, name)
			return nil
		}})
	})
	for len(p.writers[0].requests) == before {
		time.Sleep(time.Millisecond)
	}
	return answer
}

func fine() error { return nil }

func TestWaitingRequestsShareACommit(t *testing.T) {
	t.Parallel()
	p := newPoolTest(t, 100)
	a, b := p.queue(t.Context(), "a", fine), p.queue(t.Context(), "b", fine)
	if n, _, _ := p.Waiting(); n != 3 || p.Oldest().IsZero() {
		t.Errorf("%d requests wait, the transaction began at %v, want 3 with the one that runs", n, p.Oldest())
	}
	p.release()
	if err := errors.Join(<-a, <-b); err != nil {
		t.Fatal(err)
	}
	p.end()
	if n, _, _ := p.Waiting(); n != 0 || !p.Oldest().IsZero() {
		t.Errorf("at rest %d requests wait, and a transaction runs since %v", n, p.Oldest())
	}
	if len(p.commits) != 2 || !slices.Equal(p.commits[1], []string{"a", "b"}) {
		t.Errorf("commits %q", p.commits)
	}
}

func TestOwnErrorFailsAlone(t *testing.T) {
	t.Parallel()
	// The first transaction is that of the request that held the writer, the second one has both.
	refusedBeside(t, &fault.Error{Kind: fault.NotFound, Msg: "no such row"}, 0, 2)
}

// What a request wrote before it was refused is taken back, and its neighbours are stored without it.
func TestRefusedAfterAWrite(t *testing.T) {
	t.Parallel()
	refusedBeside(t, &fault.Error{Kind: fault.Invalid, Msg: "no such row"}, 1, 4) // after the one with both, one with each alone
}

// refusedBeside has a request fail with an error of its own, after some statements that write, beside another one, which must be stored
// alone; all of it must take so many transactions.
func refusedBeside(t *testing.T, own error, changes, transactions int) {
	t.Helper()
	p := newPoolTest(t, 100)
	a := p.queue(t.Context(), "a", func() error { p.db.tx.changes += changes; return own })
	b := p.queue(t.Context(), "b", fine)
	p.release()
	if err := <-a; !errors.Is(err, own) {
		t.Errorf("the request's own error: %v", err)
	}
	if err := <-b; err != nil {
		t.Errorf("its neighbour: %v", err)
	}
	p.end()
	if p.db.runs != transactions || len(p.commits) != 2 || !slices.Equal(p.commits[1], []string{"b"}) {
		t.Errorf("%d transactions, commits %q", p.db.runs, p.commits)
	}
}

func TestConflictRunsAgain(t *testing.T) {
	t.Parallel()
	p := newPoolTest(t, 100)
	p.db.fail = func(run int) error {
		if run == 2 {
			return sqldb.ErrConflict
		}
		return nil
	}
	ran := 0
	a := p.queue(t.Context(), "a", func() error { ran++; return nil })
	p.release()
	if err := <-a; err != nil {
		t.Fatal(err)
	}
	p.end()
	if ran != 2 || len(p.commits) != 2 || !slices.Equal(p.commits[1], []string{"a"}) {
		t.Errorf("ran %d times, commits %q", ran, p.commits)
	}
}

func TestQueueBound(t *testing.T) {
	t.Parallel()
	p := newPoolTest(t, 100)
	if err := p.Take(60); err != nil {
		t.Fatal(err)
	}
	if err := p.Take(60); fault.Of(err) != fault.Unavailable || p.Queued() != 60 {
		t.Errorf("beyond the bound: %v, %d bytes wait", err, p.Queued())
	}
	p.GiveBack(60)
	if err := p.Take(1000); err != nil { // alone, it may be larger than the bound
		t.Errorf("a large request: %v", err)
	}
	p.GiveBack(1000)
	if p.Queued() != 0 {
		t.Errorf("%d bytes wait", p.Queued())
	}
}

// What waits is counted from when it is submitted until it is answered, whether it was stored, failed, or its caller left.
func TestWaitingIsCounted(t *testing.T) {
	t.Parallel()
	p := newPoolTest(t, 100)
	waiting := func(want int64) {
		t.Helper()
		if requests, _, most := p.Waiting(); requests != want || most != queueLength {
			t.Errorf("%d of %d requests wait, want %d of %d", requests, most, want, queueLength)
		}
	}
	waiting(1) // the one that holds the writer
	ctx, leave := context.WithCancel(t.Context())
	a := p.queue(t.Context(), "a", fine)
	b := p.queue(t.Context(), "b", func() error { return &fault.Error{Kind: fault.NotFound} })
	c := p.queue(ctx, "c", fine)
	waiting(4)
	leave()
	<-c
	waiting(4) // it is still in the queue
	p.release()
	<-a
	<-b
	p.end()
	waiting(0)
}

func TestCallerThatLeaves(t *testing.T) {
	t.Parallel()
	p := newPoolTest(t, 100)
	ctx, leave := context.WithCancel(t.Context())
	ran := false
	a := p.queue(ctx, "a", func() error { ran = true; return nil })
	leave()
	if err := <-a; !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left: %v", err)
	}
	p.end()
	if ran {
		t.Error("the change ran after its caller had left")
	}
}

func TestCloseRefuses(t *testing.T) {
	t.Parallel()
	p := newPoolTest(t, 100)
	a := p.queue(t.Context(), "a", fine)
	if !p.Close() || p.Close() {
		t.Error("the first call of Close, and no other, is the first")
	}
	if err := p.Take(10); err != nil {
		t.Fatal(err)
	}
	if err := p.Submit(t.Context(), 0, &Request[*fakeTx]{Bytes: 10}); !errors.Is(err, ErrClosed) || p.Queued() != 0 {
		t.Errorf("after Close: %v, %d bytes wait", err, p.Queued())
	}
	p.release()
	if err := <-a; err != nil {
		t.Errorf("a request from before Close: %v", err)
	}
}

func TestFailingNeighbourIsTriedAlone(t *testing.T) {
	t.Parallel()
	p := newPoolTest(t, 100)
	broken := errors.New("constraint")
	a, b := p.queue(t.Context(), "a", fine), p.queue(t.Context(), "b", func() error { return broken })
	p.release()
	if err := <-a; err != nil {
		t.Errorf("its neighbour: %v", err)
	}
	if err := <-b; !errors.Is(err, broken) {
		t.Errorf("the failing request: %v", err)
	}
	p.end()
	if p.db.runs != 4 || len(p.commits) != 2 || !slices.Equal(p.commits[1], []string{"a"}) {
		t.Errorf("%d transactions, commits %q", p.db.runs, p.commits)
	}
}
