package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
)

var writerTests = []test{
	{"Lanes/a bad batch sinks no neighbour", badNeighbour},
	{"Lanes/an invalid event stores nothing of its batch", invalidBatch},
	{"Lanes/many sessions, many clients", crossing},
	{"Lanes/closed", closedStore},
	{"Lanes/close stores what was taken", closeDrains},
	{"Lanes/an empty batch", emptyBatch},
}

func badNeighbour(e *env) {
	e.put(step("s", "taken", 0))
	var wg sync.WaitGroup
	for i := range 60 {
		x := step(fmt.Sprint("s", i%10), fmt.Sprint("x", i), float64(i))
		bad := i%3 == 0
		if bad { // the session's id is that of an event
			x = step("taken", fmt.Sprint("x", i), float64(i))
		}
		wg.Go(func() {
			err := e.s.Put(e.ctx, e.project, event.Batch{Events: []event.Incoming{step(fmt.Sprint("s", i%10), fmt.Sprint("y", i), float64(i)), x}})
			if bad && fault.Of(err) != fault.Invalid || !bad && err != nil {
				e.Errorf("put %d (bad: %v): %v", i, bad, err)
			}
		})
	}
	wg.Wait()
	e.equal("events", 40, e.place.Count(e.T, `SELECT count(*) FROM event WHERE name LIKE 'x%' AND type = 2`))
	e.equal("beside them", 40, e.place.Count(e.T, `SELECT count(*) FROM event WHERE name LIKE 'y%' AND type = 2`))
}

func invalidBatch(e *env) {
	valid, invalid := step("s", "x", 0), step("s", "y", 1)
	invalid.End = -1
	err := e.s.Put(e.ctx, e.project, event.Batch{Events: []event.Incoming{valid, invalid}})
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Invalid || f.Field != "events[1].end_time" {
		e.Errorf("got %v, want Invalid at events[1].end_time", err)
	}
	e.equal("rows", 0, e.place.Count(e.T, `SELECT count(*) FROM event`))
}

// crossing has every client write all sessions, in another order each.
func crossing(e *env) {
	const clients, sessions, rounds = 8, 6, 5
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for r := range rounds {
				var list []event.Incoming
				for i := range sessions {
					s := fmt.Sprint("s", (i+c)%sessions)
					list = append(list, call(s, fmt.Sprint("x ", c, r, s), float64(c*10+r), 1, 1, 0.25))
				}
				if err := e.s.Put(e.ctx, e.project, event.Batch{Events: list}); err != nil {
					e.Error(err)
				}
				for i := range list {
					if _, err := e.s.Update(e.ctx, e.project, event.Update{EventID: list[i].ID, Metadata: text(`{"cost":0.5}`)}); err != nil {
						e.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	for i := range sessions {
		s := fmt.Sprint("s", i)
		e.wantRollup(s, "num_events=40 num_model_events=40 has_feedback=false cost=20 total_tokens=80 prompt_tokens=40 completion_tokens=40")
		own := e.event(id(s))
		e.equal("span of "+s, []float64{noon, noon + 75000}, []float64{own.Start, own.End})
	}
}

func closedStore(e *env) {
	e.put(step("s", "x", 0))
	e.ok(e.s.Close(e.ctx))
	e.ok(e.s.Close(e.ctx))
	e.equal("put", fault.Unavailable, fault.Of(e.s.Put(e.ctx, e.project, event.Batch{Events: []event.Incoming{step("s", "y", 0)}})))
	_, err := e.s.Update(e.ctx, e.project, event.Update{EventID: id("x"), Metadata: text(`{"k":1}`)})
	e.equal("update", fault.Unavailable, fault.Of(err))
	e.equal("delete", fault.Unavailable, fault.Of(e.s.DeleteEvent(e.ctx, e.project, id("x"))))
}

func closeDrains(e *env) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var stored []event.Incoming
	begun := make(chan struct{}, 100)
	for i := range 50 {
		x := step(fmt.Sprint("s", i), fmt.Sprint("x", i), float64(i))
		x.Inputs = text(`{"n":%d}`, i)
		wg.Go(func() {
			begun <- struct{}{}
			err := e.s.Put(context.WithoutCancel(e.ctx), e.project, event.Batch{Events: []event.Incoming{x}})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				stored = append(stored, x)
			} else if fault.Of(err) != fault.Unavailable {
				e.Errorf("put while closing: %v", err)
			}
		})
	}
	for range 25 {
		<-begun
	}
	e.ok(e.s.Close(e.ctx))
	wg.Wait()
	e.open(optionsNone)
	e.holds(stored...)
}

func emptyBatch(e *env) {
	e.put()
	e.equal("rows", 0, e.place.Count(e.T, `SELECT count(*) FROM event`))
}
