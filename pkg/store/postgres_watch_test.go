package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/store"
)

// nextChange waits for what w is told of next.
func nextChange(t *testing.T, w event.Watch) event.Change {
	t.Helper()
	end := time.After(30 * time.Second)
	for {
		select {
		case <-w.Changed():
		case <-end:
			t.Fatal("no change came")
		}
		c, ok, err := w.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			return c
		}
	}
}

// nextReset waits for w to be told that it may have missed changes.
func nextReset(t *testing.T, w event.Watch) {
	t.Helper()
	for !nextChange(t, w).Reset {
	}
}

// changeOf returns what w is told of a commit. Servers that begin and connections that are made again send resets of their own,
// each of which stands for all changes before it: what commit did is then told of as a reset, and commit is called again.
func changeOf(t *testing.T, w event.Watch, commit func()) event.Change {
	t.Helper()
	for {
		commit()
		if c := nextChange(t, w); !c.Reset {
			return c
		}
	}
}

func oneEvent(session uuid.UUID) event.Batch {
	e := event.Incoming{Event: event.Event{SessionID: session, Type: event.TypeTool, Name: "x"}}
	e.Complete(time.Now())
	return event.Batch{Events: []event.Incoming{e}}
}

// Who watches on one server is told of what another one on the same database stores, but not of what servers in other
// schemas store; also after the connection that listens was lost, which is told of.
func TestPostgresWatchOnTwoServers(t *testing.T) {
	t.Parallel()
	place, elsewhere := newPostgresPlace(t), newPostgresPlace(t)
	a, b, c := place.Open(t, store.Options{}), place.Open(t, store.Options{}), elsewhere.Open(t, store.Options{})
	p, err := a.EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	other, err := a.EnsureProject(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.EnsureProject(t.Context(), "default"); err != nil {
		t.Fatal(err)
	}
	put := func(s *store.Store, project int64, session uuid.UUID) {
		t.Helper()
		if err := s.Put(t.Context(), project, oneEvent(session)); err != nil {
			t.Fatal(err)
		}
	}
	watch := func(project int64, session uuid.UUID) event.Watch {
		t.Helper()
		w, err := b.Watch(t.Context(), project, session)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Close)
		return w
	}
	all := watch(p.ID, uuid.Nil)
	nextReset(t, all) // the others have heard of it
	var session uuid.UUID
	var one event.Watch
	first, commits := event.Change{Reset: true}, 0
	for ; first.Reset; commits++ {
		session = uuid.New()
		one = watch(p.ID, session)
		put(a, p.ID, session)
		first = nextChange(t, one)
	}
	got := first
	if commits == 1 { // another reset would have stood for the first session
		if change := nextChange(t, all); !change.Reset {
			got = change
		}
	}
	for _, change := range []event.Change{first, got} {
		if change.SessionID != session || change.Kind != event.ChangeSession || time.Since(time.UnixMilli(change.Touched)) > time.Minute {
			t.Errorf("the other server's commit is %+v", change)
		}
	}
	apart := watch(other.ID, uuid.Nil)
	if got := changeOf(t, one, func() { put(a, p.ID, session) }); got.SessionID != session || got.Kind != event.ChangeEvent {
		t.Errorf("who watches the session alone is told of %+v", got)
	}
	got = changeOf(t, all, func() {
		_, _, _ = all.Take(t.Context())
		put(c, p.ID, uuid.New())
		put(a, p.ID, session)
	})
	if got.SessionID != session || got.Kind != event.ChangeEvent {
		t.Errorf("the next is %+v, want the event of the same database", got)
	}
	if got, ok, err := apart.Take(t.Context()); ok && !got.Reset || err != nil {
		t.Errorf("another project is told of %+v, %v", got, err)
	}

	conn := place.conn(t)
	defer func() { _ = conn.Close(context.Background()) }()
	_, _, _ = all.Take(t.Context())
	cutListeners(t, conn)
	nextReset(t, all)
	if got := changeOf(t, all, func() { put(a, p.ID, session) }); got.SessionID != session {
		t.Errorf("after the connections were cut: %+v", got)
	}
}

// cutListeners ends the connections that listen, those of the schema of conn.
func cutListeners(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	var n int
	err := conn.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid))
		FROM pg_stat_activity
		WHERE query LIKE 'LISTEN "spangrove_' || md5(current_schema()) || '"%'`).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	if n != 2 {
		t.Errorf("%d connections listened, want one of each server", n)
	}
}

// While nobody watches, a commit sends nothing.
func TestPostgresWatchCostsNothingUnused(t *testing.T) {
	t.Parallel()
	place := newPostgresPlace(t)
	s := place.Open(t, store.Options{})
	p, err := s.EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	conn := place.conn(t)
	defer func() { _ = conn.Close(context.Background()) }()
	var channel string
	if err := conn.QueryRow(t.Context(), `SELECT 'spangrove_' || md5(current_schema())`).Scan(&channel); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `LISTEN "`+channel+`"`); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second) // a server that begins takes others to be there
	drained, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	for err == nil {
		_, err = conn.WaitForNotification(drained)
	}
	cancel()
	for range 5 {
		if err := s.Put(t.Context(), p.ID, oneEvent(uuid.New())); err != nil {
			t.Fatal(err)
		}
	}
	within, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if n, err := conn.WaitForNotification(within); err == nil {
		t.Errorf("a commit that nobody waits for sends %q", n.Payload)
	}
}
