package tracer

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// gate is a queue's send that waits until it is opened.
type gate struct {
	began chan []int
	open  chan struct{}
}

func (g gate) send(ctx context.Context, batch []int) int {
	g.began <- slices.Clone(batch)
	select {
	case <-g.open:
		return 0
	case <-ctx.Done():
		return len(batch)
	}
}

func newGate() gate { return gate{make(chan []int, 100), make(chan struct{})} }

// reports collects what a queue reports.
type reports struct {
	mu   sync.Mutex
	list []error
}

func (r *reports) add(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, err)
}

func (r *reports) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.list)
}

func newTestQueue(t *testing.T, g gate, l *sendQueue[int]) (*sendQueue[int], *reports) {
	t.Helper()
	r := &reports{}
	l.what, l.send, l.report = "things", g.send, r.add
	before := goleak.IgnoreCurrent()
	l.start()
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		l.close(ended)
		goleak.VerifyNone(t, before)
	})
	return l, r
}

// TestBatches checks what makes a batch: so many items, so many bytes, or a flush; each item once
// and in order.
func TestBatches(t *testing.T) {
	for _, tt := range []struct {
		name                   string
		batchItems, batchBytes int
		want                   [][]int
	}{
		{"items", 2, 1000, [][]int{{1, 2}, {3, 4}, {5}}},
		{"bytes", 100, 7, [][]int{{1, 2, 3}, {4}, {5}}}, // an item has as many bytes as its number
		{"all", 100, 1000, [][]int{{1, 2, 3, 4, 5}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGate()
			close(g.open)
			l, _ := newTestQueue(t, g, &sendQueue[int]{limit: 1000, batchItems: tt.batchItems, batchBytes: tt.batchBytes, delay: time.Hour})
			l.mu.Lock() // so that all are there when the first batch is made
			for i := 1; i <= 5; i++ {
				l.items, l.waiting, l.bytes, l.in = append(l.items, sized[int]{i, i}), l.waiting+i, l.bytes+i, l.in+1
			}
			l.mu.Unlock()
			if err := l.flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			var got [][]int
			for range tt.want {
				got = append(got, <-g.began)
			}
			if !slices.EqualFunc(got, tt.want, slices.Equal[[]int]) {
				t.Errorf("batches %v, want %v", got, tt.want)
			}
			if c := l.counts(); c != (Counts{Sent: 5}) {
				t.Errorf("counts %+v", c)
			}
		})
	}
}

// TestDelay sends what waits after the delay, without a flush.
func TestDelay(t *testing.T) {
	g := newGate()
	close(g.open)
	l, _ := newTestQueue(t, g, &sendQueue[int]{limit: 10, batchItems: 10, batchBytes: 10, delay: time.Millisecond})
	l.put(1, 1)
	if got := <-g.began; !slices.Equal(got, []int{1}) {
		t.Errorf("sent %v", got)
	}
}

// TestBlocking checks that put waits for room, of which what is under way takes its part, and that the
// end of the queue lets it go.
func TestBlocking(t *testing.T) {
	g := newGate()
	l, r := newTestQueue(t, g, &sendQueue[int]{limit: 2, block: true, batchItems: 1, batchBytes: 1, delay: time.Hour})
	l.put(1, 1)
	l.put(2, 1)
	<-g.began
	done := make(chan int)
	go func() { l.put(3, 1); done <- 3 }()
	go func() { l.put(4, 1); done <- 4 }()
	select {
	case <-done:
		t.Fatal("put did not wait")
	case <-time.After(10 * time.Millisecond): // it cannot be seen to wait but by time
	}
	g.open <- struct{}{} // 1 is out
	first := <-done
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	l.close(ended) // 2 and the first of the others are lost, and the last of them is
	if second := <-done; first+second != 7 {
		t.Errorf("%d and %d went on", first, second)
	}
	if c := l.counts(); c != (Counts{Sent: 1, Lost: 3}) {
		t.Errorf("counts %+v", c)
	}
	if r.len() != 1 {
		t.Errorf("reports: %v", r.list)
	}
}

// TestDropping counts what there is no room for, and tells of it once.
func TestDropping(t *testing.T) {
	g := newGate()
	l, r := newTestQueue(t, g, &sendQueue[int]{limit: 3, batchItems: 1, batchBytes: 1, delay: time.Hour})
	l.put(1, 5) // larger than the queue, but alone
	<-g.began
	l.put(2, 1)
	l.put(3, 1)
	if c := l.counts(); c != (Counts{Waiting: 1, Lost: 2}) || r.len() != 1 {
		t.Errorf("counts %+v, reports %v", c, r.list)
	}
	close(g.open)
	if err := l.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.put(4, 1)
	if err := l.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := l.counts(); c != (Counts{Sent: 2, Lost: 2}) {
		t.Errorf("counts %+v", c)
	}
}

// TestFlushEnds checks that a flush that may not wait longer loses nothing.
func TestFlushEnds(t *testing.T) {
	g := newGate()
	l, _ := newTestQueue(t, g, &sendQueue[int]{limit: 10, batchItems: 1, batchBytes: 1, delay: time.Hour})
	l.put(1, 1)
	<-g.began
	l.put(2, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.flush(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("flush: %v", err)
	}
	close(g.open)
	if err := l.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := l.counts(); c != (Counts{Sent: 2}) {
		t.Errorf("counts %+v", c)
	}
	l.close(t.Context())
	l.put(3, 1)
	if c := l.counts(); c.Lost != 1 {
		t.Errorf("after the end: counts %+v", c)
	}
}
