package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// While a project's heavy reads have its share, those of another go on, and the first's are told to
// come again.
func TestGateKeepsShares(t *testing.T) {
	t.Parallel()
	g := events.newGate(6, 4, 10*time.Millisecond)
	ctx := t.Context()
	a1, err1 := g.enter(ctx, 1, 2)
	a2, err2 := g.enter(ctx, 1, 2)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if _, err := g.enter(ctx, 1, 1); fault.Of(err) != fault.Limited {
		t.Errorf("past the share: %v, want Limited", err)
	}
	b, err := g.enter(ctx, 2, 2)
	if err != nil {
		t.Fatal("another project:", err)
	}
	g.wait = time.Minute
	got := make(chan int64, 2)
	begin := func(project int64) {
		before := len(g.queue)
		go func() {
			release, err := g.enter(ctx, project, 2)
			if err == nil {
				got <- project
				release()
			}
		}()
		for {
			g.mu.Lock()
			n := len(g.queue)
			g.mu.Unlock()
			if n > before {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	begin(1)
	begin(3)
	a1() // project 1 still has two, project 3 nothing
	if first := <-got; first != 3 {
		t.Errorf("project %d came first, want the one that had least", first)
	}
	<-got
	a2()
	b()
	if g.free != 6 || len(g.used) != 0 || len(g.queue) != 0 {
		t.Errorf("%d free, used %v, %d waiting", g.free, g.used, len(g.queue))
	}
	gone, leave := context.WithCancel(ctx)
	leave()
	full, _ := g.enter(ctx, 1, 4)
	if _, err := g.enter(gone, 1, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left: %v", err)
	}
	g.waiters = 0
	if _, err := g.enter(ctx, 1, 1); fault.Of(err) != fault.Limited {
		t.Errorf("too many wait: %v, want Limited", err)
	}
	full()
}

// Searches of a project that has its share wait; another project searches, keys are found, events
// are stored.
func TestHeavyReadsLeaveOthersAlone(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := openTest(t, Options{ReadWait: 10 * time.Millisecond})
	var ids []int64
	for _, name := range []string{"a", "b"} {
		p, err := s.resources.EnsureProject(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, p.ID)
	}
	a, b := ids[0], ids[1]
	key := project.Key{ID: "k", ProjectID: a, Name: "k", Hash: project.HashSecret("secret"), Scope: project.ScopeRead, Origin: project.OriginAPI, CreatedAt: time.Now()}
	if err := s.resources.InsertKey(ctx, key); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, end, err := s.events.HeavyRead(ctx, b, events.ScanConns)
		if err != nil {
			t.Fatal(err)
		}
		defer end()
	}
	page := query.Search{Limit: 10, Page: 1}
	if _, err := s.events.Search(ctx, b, page); fault.Of(err) != fault.Limited {
		t.Errorf("the project that has its share: %v, want Limited", err)
	}
	if _, err := s.events.Search(ctx, a, page); err != nil {
		t.Errorf("another project: %v", err)
	}
	takeReaders(t, s.db.(*sqldb.SQLite)) // all that searches could ever have
	if _, _, err := s.resources.KeyByHash(ctx, key.Hash); err != nil {
		t.Errorf("a key: %v", err)
	}
	if err := s.events.Put(ctx, a, oneEvent()); err != nil {
		t.Errorf("an event: %v", err)
	}
}

// What a store reads when it is opened has no time limit: it would not start once it is large.
func TestOpenHasNoReadTimeout(t *testing.T) {
	t.Parallel()
	openTest(t, Options{ReadTimeout: 1})
}

// A read that takes too long is a timeout, and is interrupted.
func TestReadTimeout(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{ReadTimeout: 50 * time.Millisecond})
	var n int
	_, err := sqldb.One(t.Context(), s.db, `WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 10000000000) SELECT count(*) FROM c`, nil, &n)
	if err = sqldb.WrapError(s.db, err, "count"); fault.Of(err) != fault.Timeout {
		t.Errorf("got %v, want a timeout", err)
	}
}
