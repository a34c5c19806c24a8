package live

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var a, b = uuid.MustParse("11111111-1111-4111-8111-111111111111"), uuid.MustParse("22222222-2222-4222-8222-222222222222")

func watch(t *testing.T, h *Hub, project int64, session uuid.UUID) *Watch {
	t.Helper()
	w, err := h.Watch(project, session)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

func take(t *testing.T, what string, w *Watch, want event.Change) {
	t.Helper()
	got, ok, err := w.Take()
	if err != nil || ok != (want != event.Change{}) {
		t.Errorf("%s: %+v, %t, %v; want %+v", what, got, ok, err, want)
		return
	}
	got.Touched = want.Touched
	if got != want {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

func changed(session uuid.UUID) event.Change {
	return event.Change{SessionID: session, Kind: event.ChangeEvent}
}

// A transaction that began before the first subscriber did not record its changes: who subscribed meanwhile is told that
// something may be missing.
func TestCommitUnderWay(t *testing.T) {
	t.Parallel()
	h := NewHub(time.Now)
	began := h.Collect()
	began.Add(1, a, event.ChangeEvent) // to nobody
	h.Publish(began)
	w := watch(t, h, 1, a)
	take(t, "before the commit", w, event.Change{})
	h.Publish(began)
	take(t, "after the commit", w, event.Change{Reset: true})
	now := h.Collect()
	now.Add(1, a, event.ChangeEvent)
	h.Publish(now)
	take(t, "the next commit", w, changed(a))
	w.Close()
	if h.Collect() != nil {
		t.Error("changes are recorded though nobody listens any more")
	}
}

// Of more changes than are recorded, only the project is known, and all who watch it are told.
func TestManyChanges(t *testing.T) {
	t.Parallel()
	h := NewHub(time.Now)
	all, one, other := watch(t, h, 1, uuid.Nil), watch(t, h, 1, a), watch(t, h, 2, uuid.Nil)
	c := h.Collect()
	for range 2 * maxChanges {
		c.Add(1, uuid.New(), event.ChangeEvent)
	}
	if n := len(c.projects[1]); n > maxChanges+1 {
		t.Errorf("%d sessions are recorded", n)
	}
	h.Publish(c)
	take(t, "who watches all", all, changed(uuid.Nil))
	take(t, "who watches one", one, changed(a))
	take(t, "who watches another project", other, event.Change{})
}

// ether is a database with servers: what one sends, all hear.
type ether struct {
	mu      sync.Mutex
	servers map[*station]bool
	changes int // notifications of changes so far
	down    bool
}

type station struct {
	e    *ether
	down chan struct{}
	in   chan string
}

func (s *station) Notify(_ context.Context, payloads []string) error {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	if s.e.down {
		return errors.New("down")
	}
	for _, p := range payloads {
		if len(p) > 7999 {
			return errors.New("payload string too long")
		}
		if strings.Contains(p, " change ") {
			s.e.changes++
		}
		for to := range s.e.servers {
			to.in <- p
		}
	}
	return nil
}

func (s *station) Listen(ctx context.Context, ready func(), heard func(string)) error {
	s.e.mu.Lock()
	if s.e.down {
		s.e.mu.Unlock()
		return errors.New("down")
	}
	s.in, s.down = make(chan string, 1000), make(chan struct{})
	s.e.servers[s] = true
	s.e.mu.Unlock()
	ready()
	for {
		select {
		case p := <-s.in:
			heard(p)
		case <-s.down:
			return errors.New("connection lost")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// server is a hub that hears of others.
func (e *ether) server(ctx context.Context, work *sync.WaitGroup) *Hub {
	h := NewHub(time.Now)
	r := NewRelay(h, &station{e: e}, zap.NewNop())
	work.Go(func() { r.Run(ctx) })
	return h
}

func (e *ether) sent() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.changes
}

// cut ends all connections.
func (e *ether) cut() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for s := range e.servers {
		close(s.down)
		delete(e.servers, s)
	}
}

func commit(h *Hub, sessions ...uuid.UUID) {
	c := h.Collect()
	for _, s := range sessions {
		c.Add(1, s, event.ChangeEvent)
	}
	h.Publish(c)
}

func TestRelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work sync.WaitGroup
		ctx, stop := context.WithCancel(t.Context())
		e := &ether{servers: map[*station]bool{}}
		one, two := e.server(ctx, &work), e.server(ctx, &work)
		time.Sleep(time.Minute)
		if one.Listening() || two.Listening() {
			t.Error("a server collects changes though nobody listens anywhere")
		}
		w := watch(t, two, 1, a)
		commit(one, a) // not heard of: the other server does not know yet
		time.Sleep(2 * time.Second)
		take(t, "once the other server knows", w, event.Change{Reset: true})
		commit(one, a)
		commit(one, b)
		time.Sleep(time.Second)
		take(t, "changes on the other server", w, changed(a))
		before := e.sent()
		for range 1000 {
			commit(one, a)
			time.Sleep(time.Millisecond)
		}
		if n := e.sent() - before; n > 12 {
			t.Errorf("%d notifications in a second", n)
		}
		many := make([]uuid.UUID, 3000)
		for i := range many {
			many[i] = uuid.New()
		}
		time.Sleep(time.Second)
		take(t, "many commits", w, changed(a))
		commit(one, append(many, a)...)
		time.Sleep(time.Second)
		take(t, "one of many sessions", w, changed(a))
		time.Sleep(10 * time.Minute) // the other server goes on believing it
		commit(one, a)
		time.Sleep(time.Second)
		take(t, "after ten minutes", w, changed(a))

		e.mu.Lock()
		e.down = true
		e.mu.Unlock()
		e.cut()
		commit(one, a)
		time.Sleep(5 * time.Minute)
		e.mu.Lock()
		e.down = false
		e.mu.Unlock()
		time.Sleep(time.Minute)
		take(t, "after the database was away", w, event.Change{Reset: true})
		commit(one, a)
		time.Sleep(time.Second)
		take(t, "after that", w, changed(a))

		three := e.server(ctx, &work)
		time.Sleep(time.Second)
		take(t, "a server that begins, and may have ended before", w, event.Change{Reset: true})
		time.Sleep(30 * time.Second)
		take(t, "nothing", w, event.Change{})
		commit(three, a)
		time.Sleep(time.Second)
		take(t, "what it stores", w, changed(a))

		w.Close()
		time.Sleep(2 * time.Minute)
		if one.Listening() || three.Listening() {
			t.Error("the others go on collecting when nobody listens any more")
		}
		stop()
		work.Wait()
	})
}

func TestHeardNonsense(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{
		"", "x", "x change", "x change 1", "x change z 1::e", "x change 1 1:z:e", "x change 1 z::e", "x change 1 1:", "x later",
	} {
		h := NewHub(time.Now)
		r := NewRelay(h, nil, zap.NewNop())
		w := watch(t, h, 1, a)
		r.heard(payload)
		take(t, payload, w, event.Change{Reset: true})
	}
}
