package events

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Events are sealed while an index of words is built, which takes much longer.
func TestSealedWhileWordsAreIndexed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := openTest(t, Options{})
	makeTestProject(t, s)
	put := func(n int) {
		t.Helper()
		for n > 0 {
			session := uuid.New()
			var b event.Batch
			for range min(n, 2000) {
				e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: session, Type: event.TypeTool, Name: "a", Start: 1_790_000_000_000,
					Inputs: []byte(`{"q":"word"}`)}}
				e.Complete(time.UnixMilli(1_790_000_000_000))
				b.Events = append(b.Events, e)
			}
			if err := s.Put(ctx, testProject, b); err != nil {
				t.Fatal(err)
			}
			n -= len(b.Events)
		}
	}
	behind := func() int64 {
		t.Helper()
		last, err := s.bulk.lastSeq(ctx, s.db)
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := s.sealedSeq(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return last - sealed
	}
	put(10)
	last := behind()
	if err := s.sealSome(ctx, last, true, func() bool { return false }); err != nil {
		t.Fatal(err)
	}
	put(sealEvents)
	if n := behind(); n < sealEvents {
		t.Fatalf("%d events are not sealed, want some", n)
	}
	index := &wordIndexer{s: s}
	if err := index.run(ctx, true); err != nil {
		t.Fatal(err)
	}
	if n := behind(); n > 0 {
		t.Errorf("%d events are not sealed", n)
	}
	var indexed int
	if _, err := sqldb.One(ctx, s.db, `SELECT count(*) FROM segment WHERE words`, nil, &indexed); err != nil || indexed == 0 {
		t.Errorf("%d segments have an index of words, %v", indexed, err)
	}
}

// However many events are not sealed, a question has no more rows of them in memory than a range has places.
func TestUnsealedRanges(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{})
	bulk := &fakePlaces{Bulk: s.bulk}
	s.bulk = bulk
	for _, x := range []struct{ sealed, last int64 }{{0, 0}, {5, 5}, {7, 3}, {0, 1}, {10, looseRange}, {10, 10 + 3*looseRange}, {1, 4_000_000}} {
		bulk.last = x.last
		v := &segmentView{s: s, sealed: x.sealed, conn: s.db}
		list, err := v.unsealed(t.Context())
		if err != nil || len(list) == 0 {
			t.Fatalf("%v: %v %v", x, list, err)
		}
		next := x.sealed + 1
		for i, r := range list {
			if r[0] != next || i < len(list)-1 && r[1]-r[0] >= looseRange {
				t.Errorf("%v: range %v, want one from %d on", x, r, next)
			}
			next = r[1] + 1
		}
		if end := list[len(list)-1]; end[1] != math.MaxInt64 || x.last-end[0] >= looseRange {
			t.Errorf("%v: the last range is %v", x, end)
		}
	}
}

// fakePlaces says which place was handed out last.
type fakePlaces struct {
	Bulk
	last int64
}

func (f *fakePlaces) lastSeq(context.Context, sqldb.Conn) (int64, error) { return f.last, nil }
