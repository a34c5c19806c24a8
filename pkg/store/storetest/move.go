package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store"
)

var moveTests = []test{
	{"Move/the other database answers as the original did, and back", moveAnswers},
	{"Move/while others write, with nothing lost that was acknowledged", moveWhileWriting},
	{"Move/interrupted again and again, and gone on with", moveInterrupted},
	{"Move/compared before the switch, and abandoned", moveAbandoned},
	{"Move/a copy that differs is noticed, and the original stays", moveDiffers},
	{"Move/what earlier versions stored and PostgreSQL does not take", moveOldRows},
	{"Move/refusals", moveRefusals},
}

// moved moves the env's place to one of the other database.
func (e *env) moved(o store.MoveOptions) (*env, *store.MoveReport) {
	e.Helper()
	to := e.place.Other(e.T)
	r, err := e.place.Move(e.ctx, to, o)
	e.ok(err)
	return &env{T: e.T, ctx: e.ctx, place: to}, r
}

func moveAnswers(e *env) {
	doctorFill(e)
	original := e.answers()
	c, r := e.moved(store.MoveOptions{})
	if !r.Moved || r.Events == 0 || len(r.Days) == 0 || len(r.Tables) == 0 {
		e.Errorf("report: %+v", r)
	}
	if d := cmp.Diff(original, c.answers()); d != "" {
		e.Errorf("answers (-original +moved):\n%s", d)
	}
	c.wantFound("a store that was moved")
	if err := e.place.TryOpen(e.ctx); err == nil || !strings.Contains(err.Error(), "has moved to") {
		e.Errorf("the old store can be opened: %v", err)
	}
	c.open(optionsUnpacked)
	c.put(start("after", "stored in the moved store alone", 200, 210), step("after", "a", 201))
	c.ok(c.s.DeleteSession(c.ctx, c.project, id("after")))
	c.put(start("stays", "stored in the moved store alone", 200, 210), step("stays", "b", 201))
	c.ok(c.s.Seal(c.ctx))
	c.ok(c.s.Pack(c.ctx))
	c.ok(c.s.Close(c.ctx))
	c.wantFound("a moved store that events were stored in")
	there := c.answers()
	back, _ := c.moved(store.MoveOptions{})
	if d := cmp.Diff(there, back.answers()); d != "" {
		e.Errorf("answers (-moved +back):\n%s", d)
	}
	back.wantFound("a store that was moved back")
}

// tryPut stores events unless it cannot.
func (e *env) tryPut(events ...event.Incoming) error {
	return e.s.Put(e.ctx, e.project, event.Batch{Events: events})
}

func moveWhileWriting(e *env) {
	e.fillBackup("before", 300)
	e.ok(e.s.Pack(e.ctx))
	var mu sync.Mutex
	kept := map[string]bool{}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for w := range 3 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(w), 1))
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				name := fmt.Sprintf("w%d %d", w, i)
				err := e.tryPut(start(name, name, float64(i), float64(i)+10), step(name, name+" step", float64(i)+1))
				if err == nil {
					mu.Lock()
					kept[name] = true
					mu.Unlock()
					if rnd.IntN(4) == 0 {
						// A deletion that fails leaves open whether it was done.
						mu.Lock()
						delete(kept, name)
						mu.Unlock()
						err = e.s.DeleteSession(e.ctx, e.project, id(name))
					}
				}
				if err != nil {
					if k := fault.Of(err); k != fault.Unavailable {
						e.Errorf("what a writer is told: %v", err)
					}
					return // it has moved
				}
			}
		})
	}
	c, r := e.moved(store.MoveOptions{})
	close(stop)
	wg.Wait()
	if len(kept) == 0 || r.Later == 0 {
		e.Errorf("%d sessions stored, %d rows compared by themselves: nobody wrote", len(kept), r.Later)
	}
	if err := e.tryPut(start("late", "late", 0, 1)); fault.Of(err) != fault.Unavailable {
		e.Errorf("what the old store answers: %v", err)
	}
	e.ok(e.s.Close(e.ctx))
	c.open(optionsUnpacked)
	for name := range kept {
		if _, err := c.s.Event(c.ctx, c.project, id(name+" step")); err != nil {
			e.Errorf("%s was acknowledged and is not there: %v", name, err)
		}
	}
	c.ok(c.s.Seal(c.ctx))
	c.ok(c.s.Close(c.ctx))
	c.wantFound("a store that moved while others wrote")
}

func moveInterrupted(e *env) {
	e.fillBackup("kept", 1500)
	r := newRandomEvents(e, 7, 5)
	to := e.place.Other(e.T)
	tries := 0
	for stop := int64(1); ; stop += 3 {
		r.change()
		ctx, cancel := context.WithCancel(e.ctx)
		var told int64
		_, err := e.place.Move(ctx, to, store.MoveOptions{Progress: func(string, int64, int64) {
			if told++; told > stop {
				cancel()
			}
		}})
		cancel()
		if err == nil {
			break
		}
		if told <= stop {
			e.Fatalf("try %d: %v", tries, err)
		}
		tries++
		if to.Shared() { // else there is nothing yet, and what is opened is a new store
			if err := to.TryOpen(e.ctx); err == nil {
				e.Fatal("a store that is not finished can be opened")
			}
		}
	}
	if tries < 3 {
		e.Errorf("interrupted %d times", tries)
	}
	e.ok(e.s.Close(e.ctx))
	e.abandonMove(true) // to ask the original as well
	c := &env{T: e.T, ctx: e.ctx, place: to}
	if d := cmp.Diff(e.answers(), c.answers()); d != "" {
		e.Errorf("answers (-original +moved):\n%s", d)
	}
	c.wantFound("a store whose move was interrupted")
}

// abandonMove ends the move of the store, and checks whether there was one.
func (e *env) abandonMove(begun bool) {
	e.Helper()
	ended, err := e.place.AbandonMove(e.ctx)
	e.ok(err)
	if ended != begun {
		e.Errorf("a move was ended: %v, want %v", ended, begun)
	}
}

func moveAbandoned(e *env) {
	e.fillBackup("kept", 20)
	e.abandonMove(false)
	to := e.place.Other(e.T)
	r, err := e.place.Move(e.ctx, to, store.MoveOptions{Stay: true})
	e.ok(err)
	if r.Moved || r.Events != 40 {
		e.Errorf("report: %+v", r)
	}
	e.fillBackup("later", 5)
	if _, err := e.place.Move(e.ctx, e.place.Other(e.T), store.MoveOptions{}); err == nil || !strings.Contains(err.Error(), "has begun") {
		e.Errorf("a second move to somewhere else: %v", err)
	}
	e.abandonMove(true)
	if _, err := e.place.Move(e.ctx, to, store.MoveOptions{}); err == nil || !strings.Contains(err.Error(), "abandoned") {
		e.Errorf("a move that was abandoned goes on: %v", err)
	}
	e.fillBackup("after", 5)
	c, _ := e.moved(store.MoveOptions{})
	e.ok(e.s.Close(e.ctx))
	c.open(optionsUnpacked)
	if _, err := c.s.Event(c.ctx, c.project, id("after 4 step")); err != nil {
		e.Error(err)
	}
}

// moveDiffers changes what was copied behind the back of a move that is to go on.
func moveDiffers(e *env) {
	e.fillBackup("kept", 20)
	if e.place.Shared() {
		return // the copy in a data directory is out of reach before it is finished
	}
	for _, damage := range []string{
		`UPDATE event SET name = 'other' WHERE seq = (SELECT max(seq) FROM event)`,
		`UPDATE event SET metadata = '{"a": 1}' WHERE seq = (SELECT max(seq) FROM event)`,
		`DELETE FROM session WHERE session_id = (SELECT max(session_id::text)::uuid FROM session)`,
		`DELETE FROM chunk WHERE id = (SELECT max(chunk) FROM event)`,
		`UPDATE chunk SET data = data || '\x00' WHERE id = (SELECT max(chunk) FROM event)`,
		`INSERT INTO alias SELECT project_id, session_id, session_id FROM session LIMIT 1`,
	} {
		to := e.place.Other(e.T)
		_, err := e.place.Move(e.ctx, to, store.MoveOptions{Stay: true})
		e.ok(err)
		to.Exec(e.T, damage)
		if r, err := e.place.Move(e.ctx, to, store.MoveOptions{}); err == nil || !strings.Contains(err.Error(), "differs") {
			e.Errorf("%s: %+v, %v", damage, r, err)
		}
		e.put(start("still", "the original takes events", 1, 2))
		e.abandonMove(true)
	}
}

func moveRefusals(e *env) {
	e.fillBackup("kept", 2)
	used := e.place.Other(e.T)
	e.ok(used.TryOpen(e.ctx))
	if _, err := e.place.Move(e.ctx, used, store.MoveOptions{}); err == nil || !strings.Contains(err.Error(), "has ") {
		e.Errorf("a move to a store that is there: %v", err)
	}
	e.put(start("still", "stored", 1, 2))
}

// moveOldRows moves a store in which texts stand as SQLite has taken them: ids of users, runs and answers of any length in columns with an
// index, and names with NUL and what is not UTF-8.
func moveOldRows(e *env) {
	if e.place.Shared() {
		return // PostgreSQL never took them
	}
	user, run, response := prose(4000, 1), prose(4000, 2), prose(4000, 3)
	long := ofTrace("s", step("s", "long", 1))
	long.UserProperties, long.Metadata = text(`{"user_id":"%s"}`, user), text(`{"run_id":"%s"}`, run)
	of := note("long", "s", 3, event.LogEvaluation, `{"name":"tone","value":0.5}`)
	of.ResponseID = "answer"
	e.put(long, step("s", "short", 2))
	e.putNotes(of)
	e.ok(e.s.Close(e.ctx))
	for _, old := range []string{
		`UPDATE event SET user_id = '` + user + `', run_id = '` + run + `', target_id = '` + response + `' WHERE name = 'long'`,
		`UPDATE event SET name = CAST(x'6100ff62' AS TEXT) WHERE name = 'short'`,
		`UPDATE session SET run_id = '` + run + `'`,
		`UPDATE log_part SET response_id = '` + response + `' WHERE response_id = 'answer'`,
	} {
		e.place.Exec(e.T, old)
	}
	c, r := e.moved(store.MoveOptions{})
	e.equal("moved", true, r.Moved)
	c.open(optionsUnpacked)
	defer func() { c.ok(c.s.Close(c.ctx)) }()
	e.equal("of the user", []string{"long"}, c.found(c.filter("user_properties.user_id", "is", "", fmt.Sprintf("%q", user)), c.filter("event_type", "is not", "", `"session"`)))
	e.equal("of the run", []string{"long"}, c.found(c.filter("metadata.run_id", "is", "", fmt.Sprintf("%q", run))))
	e.equal("name", "a\uFFFD\uFFFDb", c.event(id("short")).Name)
	e.equal("evaluations that name an answer", 1, c.place.Count(c.T, `SELECT count(*) FROM log_part WHERE response_id <> ''`))
}
