package storetest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
)

var copyTests = []test{
	{"Copy/answers as the original does, and goes on by itself", copyAnswers},
	{"Copy/as of one moment while others write", copyWhileWriting},
	{"Copy/refusals", copyRefusals},
}

func copyAnswers(e *env) {
	doctorFill(e)
	to := e.place.Fresh(e.T)
	e.ok(e.place.Copy(e.ctx, to, func(done, total int64) {
		if done > total {
			e.Errorf("copied %d of %d", done, total)
		}
	}))
	c := &env{T: e.T, ctx: e.ctx, place: to}
	original := e.answers()
	if d := cmp.Diff(original, c.answers()); d != "" {
		e.Errorf("answers (-original +copy):\n%s", d)
	}
	// What numbers events, chunks and rows goes on behind those that were copied.
	c.open(optionsUnpacked)
	c.put(start("after", "stored in the copy alone", 200, 210), step("after", "a", 201))
	c.ok(c.s.Seal(c.ctx))
	c.ok(c.s.Pack(c.ctx))
	c.ok(c.s.Close(c.ctx))
	c.wantFound("a copy that events were stored in")
	if slices.Equal(original, c.answers()) {
		e.Error("what was stored in the copy is not there")
	}
	if d := cmp.Diff(original, e.answers()); d != "" {
		e.Errorf("answers of the original (-before +after the copy was written to):\n%s", d)
	}
}

// writers begins to store events from three goroutines, until stop. before are some that were acknowledged by now.
func (e *env) writers() (stop func(), before []uuid.UUID) {
	e.Helper()
	var wg sync.WaitGroup
	acknowledged := make(chan uuid.UUID, 10_000)
	ended := make(chan struct{})
	for w := range 3 {
		wg.Go(func() {
			for i := range 2000 {
				select {
				case <-ended:
					return
				default:
				}
				name := fmt.Sprintf("written %d %d", w, i)
				batch := event.Batch{Events: []event.Incoming{start(name, "a session", float64(i), float64(i+1)), step(name, name+" step", float64(i))}}
				if err := e.s.Put(e.ctx, e.project, batch); err != nil {
					e.Error(err)
					return
				}
				acknowledged <- batch.Events[1].ID
			}
		})
	}
	for len(before) < 50 {
		before = append(before, <-acknowledged)
	}
	return func() {
		close(ended)
		wg.Wait()
	}, before
}

// wantAcknowledged checks that events are there which were acknowledged before something began.
func (e *env) wantAcknowledged(before []uuid.UUID, what string) {
	e.Helper()
	for _, id := range before {
		if _, err := e.s.Event(e.ctx, e.project, id); err != nil {
			e.Errorf("event %s was acknowledged before %s began: %v", id, what, err)
		}
	}
}

func copyWhileWriting(e *env) {
	stop, before := e.writers()
	to := e.place.Fresh(e.T)
	err := e.place.Copy(e.ctx, to, nil)
	stop()
	e.ok(err)
	c := newEnv(e.T, to, optionsUnpacked)
	c.wantAcknowledged(before, "the copy")
	c.wantFound("a copy made while others wrote")
}

func copyRefusals(e *env) {
	to := e.place.Fresh(e.T)
	e.ok(e.place.Copy(e.ctx, to, nil))
	if err := e.place.Copy(e.ctx, to, nil); err == nil {
		e.Error("a copy over a store is not refused")
	}
	if err := e.place.Fresh(e.T).Copy(e.ctx, e.place.Fresh(e.T), nil); err == nil {
		e.Error("a copy of nothing is not refused")
	}
}
