package storetest

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/deletion"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
)

// killDay is when Churn and CompareAnswers are, in days after the first of the random events: some of these are expired then.
const killDay = 3

func openKilled(t *testing.T, place Place) *env {
	c := NewClock(arrival.Add(killDay * 24 * time.Hour))
	return newEnv(t, place, store.Options{Now: c.Now})
}

// Churn stores, changes and deletes random events, seals them with their words, packs payloads, builds the index anew, and removes what
// changing rules of retention do not keep, all at once and until the process is killed. It calls ready once each has been done.
func Churn(t *testing.T, place Place, seed uint64, ready func()) {
	e := openKilled(t, place)
	r := newRandomEvents(e, seed, 5)
	for range 4 {
		r.change()
	}
	e.ok(e.s.Seal(e.ctx))
	e.ok(e.s.Pack(e.ctx))
	e.ok(e.churnRetention(rand.New(rand.NewPCG(seed, 6))))
	passes := 0
	go e.forever(func() error {
		if err := e.s.Seal(e.ctx); err != nil {
			return err
		}
		if passes++; passes%4 != 0 {
			return nil // the next question finds segments with their words
		}
		return e.s.RebuildIndex(e.ctx, e.project)
	})
	go e.forever(func() error { return e.s.Pack(e.ctx) })
	retention := rand.New(rand.NewPCG(seed, 7))
	go e.forever(func() error { return e.churnRetention(retention) })
	deletions := rand.New(rand.NewPCG(seed, 10))
	go e.forever(func() error { return e.churnDeletions(deletions) })
	ready()
	for {
		r.change()
		if r.rand.IntN(2) == 0 {
			if err := e.s.DeleteSession(e.ctx, e.project, r.sessions[0]); fault.Of(err) != fault.NotFound { // it may have expired
				e.ok(err)
			}
			r.sessions = r.sessions[1:]
		}
	}
}

// forever calls f again and again until it fails.
func (e *env) forever(f func() error) {
	for {
		if err := f(); err != nil {
			e.Error(err)
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// churnRetention sets a random rule, and removes what it does not keep.
func (e *env) churnRetention(r *rand.Rand) error {
	days, payload := int64(1+r.IntN(killDay)), int64(1)
	if _, err := e.s.ChangeRetention(e.ctx, e.project, func(r *project.Retention) error {
		*r = project.Retention{EventDays: &days, PayloadDays: &payload}
		return nil
	}); err != nil {
		return err
	}
	return e.s.Retain(e.ctx)
}

// churnDeletions deletes a random part of all events or sessions.
func (e *env) churnDeletions(r *rand.Rand) error {
	from := noon + r.Float64()*killDay*dayMillis
	to := from + dayMillis/50
	all := deletion.Count{Sessions: deletion.Max, Events: deletion.Max}
	var done <-chan struct{}
	var err error
	if r.IntN(3) == 0 {
		_, done, err = e.s.DeleteSessions(e.ctx, e.project, query.SessionSearch{From: &from, To: &to}, all)
	} else {
		_, done, err = e.s.DeleteEvents(e.ctx, e.project, query.Search{From: &from, To: &to}, all)
	}
	if err == nil {
		<-done
	}
	return err
}

// CompareAnswers compares answers of segments with those of rows in what killed processes have left: as it is, once all is sealed, and
// while the index is built anew.
func CompareAnswers(t *testing.T, place Place, seed uint64) {
	place.Exec(t, `DELETE FROM setting WHERE name LIKE '%_lease'`) // the clock of this process stands still, so that those of the killed one would not end
	place.Exec(t, `UPDATE bulk_deletion SET created_ms = 0, updated_ms = 0`)
	e := openKilled(t, place)
	e.deletionsEnd()
	_, err := e.s.ChangeRetention(e.ctx, e.project, func(r *project.Retention) error {
		*r = project.Retention{}
		return nil
	})
	e.ok(err)
	e.retain() // waits for a pass that still knows the rule
	r := newRandomEvents(e, seed, 8)
	n, err := e.s.EventCount(e.ctx, e.project)
	e.ok(err)
	e.Logf("%d events, %d of %d chunks in packs, %+v", n, e.inPacks(), e.chunks(), e.index())
	e.noOrphans()
	e.readable(n)
	r.compareSome(12)
	e.ok(e.s.Seal(e.ctx))
	x := e.index()
	e.equal("events in segments", n, x.Events)
	e.equal("events in none", int64(0), x.UnsealedEvents)
	e.equal("columns of no segment", 0, e.place.Count(e.T, `SELECT count(*) FROM segment_column WHERE segment_id NOT IN (SELECT id FROM segment)`))
	r.compareSome(12)
	e.ok(e.s.RebuildIndex(e.ctx, e.project))
	r.compareSome(5)
	e.built()
	r.compareSome(5)
	e.ok(e.s.Close(context.Background()))
	checkEventCounts(t, place)
}

// readable reads all events whole.
func (e *env) readable(n int64) {
	e.Helper()
	set, err := e.s.Search(events.FromRows(e.ctx), e.project, query.Search{Limit: 100_000, Page: 1})
	e.ok(err)
	e.equal("events read", int(n), len(e.load(set)))
}
