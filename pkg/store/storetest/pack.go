package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store"
)

var packTests = []test{
	{"Pack/chunks of many sessions", packMany},
	{"Pack/a large session, and one on two days", packLarge},
	{"Pack/chunks of an earlier version", packFormer},
	{"Pack/updates and deletions take texts out", packShrinks},
	{"Pack/deletion of sessions empties packs", packEmptied},
	{"Pack/deletion of a project", packProject},
	{"Pack/a session after one of another project that was deleted", packAfterDeleted},
	{"Pack/retention of payload and of events", packRetention},
	{"Pack/bytes that are stored", packStored},
	{"Pack/in the background", packBackground},
	{"Pack/while events are stored, changed, read and deleted", packConcurrently},
	{"Pack/broken off anywhere", packBrokenOff},
	{"Pack/damaged", packDamaged},
}

// optionsUnpacked leave it to the test when to pack.
var optionsUnpacked = store.Options{PackAfter: -1}

// conversation returns a session of n steps that each repeat what was said before.
func conversation(session string, n int) (list []event.Incoming) {
	said := ""
	for i := range n {
		said += prose(120, uint64(i)+uint64(len(session))<<20+uint64(session[len(session)-1])<<8)
		x := call(session, fmt.Sprint(session, " ", i), float64(i), 1, 1, 0.25)
		x.Inputs, x.Outputs = text(`{"said":"%s"}`, said), text(`"%s needle %d"`, session, i)
		list = append(list, x)
	}
	return list
}

// talks stores sessions, each event with a commit of its own.
func (e *env) talks(sessions, n int) (list []event.Incoming) {
	for i := range sessions {
		list = append(list, conversation(fmt.Sprint("talk", i), n)...)
	}
	e.putEach(list...)
	return list
}

// chunks, inPacks and packs count rows.
func (e *env) chunks() int { return e.place.Count(e.T, `SELECT count(*) FROM chunk`) }
func (e *env) inPacks() int {
	return e.place.Count(e.T, `SELECT count(*) FROM chunk WHERE pack IS NOT NULL`)
}
func (e *env) packs() int {
	return e.place.Count(e.T, `SELECT count(DISTINCT pack) FROM chunk WHERE pack IS NOT NULL`)
}

// noOrphans checks that each chunk is named by an event, and each pack by a chunk, and that none is missing.
func (e *env) noOrphans() {
	e.Helper()
	e.equal("chunks that nobody names", 0, e.place.Count(e.T, `SELECT count(*) FROM chunk
		WHERE id NOT IN (SELECT chunk FROM event WHERE chunk IS NOT NULL)
			AND id NOT IN (SELECT pack FROM chunk WHERE pack IS NOT NULL)`))
	e.equal("chunks that are missing", 0, e.place.Count(e.T, `SELECT count(*) FROM event
		WHERE chunk IS NOT NULL AND chunk NOT IN (SELECT id FROM chunk)`))
	e.equal("packs that are missing", 0, e.place.Count(e.T, `SELECT count(*) FROM chunk WHERE pack NOT IN (SELECT id FROM chunk)`))
}

// finds searches for a text of outputs.
func (e *env) finds(what string) int {
	e.Helper()
	set, err := e.s.Search(e.ctx, e.project, query.Search{Filters: []query.Filter{e.filter("outputs", "contains", "", fmt.Sprintf("%q", what))}, Limit: 100, Page: 1})
	e.ok(err)
	return set.Total
}

// packAfterDeleted: in the database, a session may be where one of another project was that went before it was packed.
func packAfterDeleted(e *env) {
	e.reopen(optionsUnpacked)
	e.putEach(conversation("gone", 3)...)
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("gone")))
	e.project = e.second().ID
	list := conversation("stays", 3)
	e.putEach(list...)
	e.ok(e.s.Pack(e.ctx))
	e.equal("chunks in packs", len(list), e.inPacks())
	e.equal("sessions that wait", 0, e.place.Count(e.T, `SELECT count(*) FROM unpacked`))
	e.holds(list...)
	e.noOrphans()
}

func packMany(e *env) {
	e.reopen(optionsUnpacked)
	list := e.talks(6, 5)
	bytes := e.place.Count(e.T, `SELECT sum(length(data)) FROM chunk`)
	before, found := e.session(id("talk3")), e.finds("talk2 needle")
	e.ok(e.s.Pack(e.ctx))
	e.equal("chunks in packs", len(list), e.inPacks())
	e.equal("packs", 1, e.packs())
	e.equal("sessions that wait", 0, e.place.Count(e.T, `SELECT count(*) FROM unpacked`))
	if packed := e.place.Count(e.T, `SELECT sum(length(data)) FROM chunk`); packed > bytes/3 {
		e.Errorf("%d bytes became %d", bytes, packed)
	}
	e.noOrphans()
	e.holds(list...) // from the cache
	e.reopen(optionsUnpacked)
	e.holds(list...)
	e.same("a session", before, e.session(id("talk3")))
	e.equal("found", found, e.finds("talk2 needle"))
	e.ok(e.s.Pack(e.ctx))
	e.equal("packed again", len(list)+1, e.chunks())

	// Of a session that goes on, the new chunks are packed.
	more := conversation("talk3", 9)[5:]
	e.putEach(more...)
	e.equal("sessions that wait", 1, e.place.Count(e.T, `SELECT count(*) FROM unpacked`))
	e.ok(e.s.Pack(e.ctx))
	e.equal("packs", 2, e.packs())
	e.reopen(optionsUnpacked)
	e.holds(append(list, more...)...)
	e.noOrphans()
}

func packLarge(e *env) {
	e.reopen(optionsUnpacked)
	var list []event.Incoming
	for i := range 30 {
		x := step("s", fmt.Sprint("x", i), float64(i/15)*86400*3+float64(i))
		x.Inputs = text(`{"text":"%s %s"}`, prose(20<<10, 99), prose(20<<10, uint64(i)))
		if i == 7 {
			x.Inputs = text(`{"text":"%s"}`, prose(700<<10, uint64(i)))
		}
		list = append(list, x)
	}
	e.putEach(list...)
	before := e.place.Count(e.T, `SELECT sum(length(data)) FROM chunk`)
	e.ok(e.s.Pack(e.ctx))
	e.noOrphans()
	if after := e.place.Count(e.T, `SELECT sum(length(data)) FROM chunk`); after > before*8/10 {
		e.Errorf("%d bytes became %d", before, after)
	}
	if n := e.packs(); n < 5 || n > 8 {
		e.Errorf("%d packs of 1.2 MB and one large event", n)
	}
	e.reopen(optionsUnpacked)
	e.holds(list...)
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("s")))
	e.equal("chunks", 0, e.chunks())
}

func packFormer(e *env) {
	e.reopen(optionsUnpacked)
	var list []event.Incoming
	for i := range 3 {
		x := step("s", fmt.Sprint("x", i), float64(i))
		x.Inputs = text(`{"q":"%s"}`, formerText)
		list = append(list, x)
	}
	e.putEach(list...)
	e.ok(e.s.Close(e.ctx))
	e.place.Exec(e.T, `UPDATE chunk SET data = `+e.place.Bytes(formerBlock))
	e.open(optionsUnpacked)
	e.ok(e.s.Pack(e.ctx))
	e.equal("chunks in packs", 3, e.inPacks())
	e.reopen(optionsUnpacked)
	e.holds(list...)
}

func packShrinks(e *env) {
	e.reopen(optionsUnpacked)
	list := e.talks(3, 4)
	shared := conversation("shared", 4)
	e.put(shared...)
	list = append(list, shared...)
	e.ok(e.s.Pack(e.ctx))
	e.equal("packs", 1, e.packs())
	size := func() int { return e.place.Count(e.T, `SELECT max(length(data)) FROM chunk WHERE pack IS NULL`) }
	before := size()

	list[2].Outputs = text(`{"new":"text"}`)
	e.update(event.Update{EventID: list[2].ID, Outputs: list[2].Outputs})
	e.holds(list...)
	e.equal("packs", 1, e.packs())
	if after := size(); after >= before {
		e.Errorf("the pack has %d bytes without the text that was replaced, %d with it", after, before)
	}
	for _, i := range []int{13, 5, 12} { // two of a chunk that four share, and one of its own
		e.ok(e.s.DeleteEvent(e.ctx, e.project, list[i].ID))
		if _, err := e.s.Event(e.ctx, e.project, list[i].ID); fault.Of(err) != fault.NotFound {
			e.Errorf("deleted event: %v, want NotFound", err)
		}
		list = append(list[:i:i], list[i+1:]...)
		e.holds(list...)
		e.noOrphans()
	}
	e.reopen(optionsUnpacked)
	e.holds(list...)
	e.equal("of what was deleted", 0, e.finds("shared needle 1")+e.finds("talk1 needle 1"))
	e.ok(e.s.Pack(e.ctx))
	e.noOrphans()
	e.reopen(optionsUnpacked)
	e.holds(list...)
}

func packEmptied(e *env) {
	e.reopen(optionsUnpacked)
	e.talks(4, 3)
	e.ok(e.s.Pack(e.ctx))
	for i := range 4 {
		e.equal("packs", 1, e.packs())
		e.ok(e.s.DeleteSession(e.ctx, e.project, id(fmt.Sprint("talk", i))))
		e.noOrphans()
		if i < 3 {
			e.holds(conversation("talk3", 3)...)
		}
	}
	e.empty()
}

func packProject(e *env) {
	e.reopen(optionsUnpacked)
	keep := e.talks(2, 3)
	p := e.second()
	for i := range 3 {
		e.ok(e.s.Put(e.ctx, p.ID, event.Batch{Events: conversation(fmt.Sprint("other", i), 4)}))
	}
	e.ok(e.s.Pack(e.ctx))
	e.equal("packs, one a project", 2, e.packs())
	e.ok(e.s.Put(e.ctx, p.ID, event.Batch{Events: conversation("late", 2)}))
	gone, err := e.s.DeleteProject(e.ctx, p.ID)
	e.ok(err)
	e.await(gone)
	e.equal("rows", 0, e.leftOf(p))
	e.ok(e.s.Pack(e.ctx))
	e.equal("chunks", len(keep)+1, e.chunks())
	e.noOrphans()
	e.holds(keep...)
}

func packRetention(e *env) {
	var old, fresh []event.Incoming
	for i := range 5 {
		old = append(old, spoken(fmt.Sprint("old", i%2), fmt.Sprint("o", i), float64(i)))
		fresh = append(fresh, spoken("old0", fmt.Sprint("f", i), 2*day+float64(i)))
	}
	e.putEach(append(slices.Clone(old), fresh...)...)
	e.at(2.1)
	e.ok(e.s.Pack(e.ctx))
	e.equal("chunks in packs", 10, e.inPacks())
	e.keep("payload_days", 1)
	e.retain()
	e.noOrphans()
	e.equal("chunks in packs", 5, e.inPacks())
	for _, x := range old {
		if got := e.event(x.ID); len(got.Inputs)+len(got.Outputs) > 0 {
			e.Errorf("%s has its payload still: %s", x.Name, got.Inputs)
		}
	}
	e.holds(fresh...)
	e.keep("event_days", 1)
	e.retain()
	e.gone("old1")
	e.noOrphans()
	e.holds(fresh...)
}

func packStored(e *env) {
	e.reopen(optionsUnpacked)
	list := e.talks(3, 6)
	before := e.stored()
	e.equal("the rows say the same", before, e.recount())
	e.ok(e.s.Pack(e.ctx))
	after := e.stored()
	if after >= before {
		e.Errorf("%d bytes before, %d after", before, after)
	}
	e.equal("the rows still say the same", after, e.recount())
	e.ok(e.s.DeleteSession(e.ctx, e.project, list[0].SessionID))
	if left := e.recount(); left >= after {
		e.Errorf("%d bytes before a deletion, %d after", after, left)
	}
	for _, s := range []string{"talk1", "talk2"} {
		e.ok(e.s.DeleteSession(e.ctx, e.project, id(s)))
	}
	e.equal("when all is gone", int64(0), e.recount())
}

func packBackground(e *env) {
	e.reopen(optionsNone)
	list := e.talks(3, 3)
	e.equal("not at rest for ten minutes", 0, e.inPacks())
	e.reopen(store.Options{PackAfter: time.Millisecond})
	for deadline := time.Now().Add(time.Minute); e.inPacks() < len(list); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			e.Fatalf("%d of %d chunks in packs after a minute", e.inPacks(), len(list))
		}
	}
	e.holds(list...)
	e.noOrphans()
}

// packConcurrently packs as fast as can be while others store, update, read and delete. At the end every event that is left is whole.
func packConcurrently(e *env) {
	e.reopen(optionsUnpacked)
	var work sync.WaitGroup
	ctx, stop := context.WithCancel(e.ctx)
	work.Go(func() {
		for ctx.Err() == nil {
			if err := e.s.Pack(ctx); err != nil && ctx.Err() == nil {
				e.Error("pack:", err)
			}
			time.Sleep(time.Millisecond)
		}
	})
	var mu sync.Mutex
	want := map[string][]event.Incoming{}
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 5))
			for i := range 8 {
				name := fmt.Sprint("w", w, "s", i)
				list := conversation(name, 4)
				for _, x := range list {
					if err := e.s.Put(e.ctx, e.project, event.Batch{Events: []event.Incoming{x}}); err != nil {
						e.Error(err)
					}
				}
				at := r.IntN(len(list))
				list[at].Outputs = text(`{"changed":"%d"}`, i)
				if _, err := e.s.Update(e.ctx, e.project, event.Update{EventID: list[at].ID, Outputs: list[at].Outputs}); err != nil {
					e.Error(err)
				}
				if _, err := e.s.Event(e.ctx, e.project, list[at].ID); err != nil {
					e.Error("read:", err)
				}
				switch i % 3 {
				case 0:
					gone := r.IntN(len(list))
					if err := e.s.DeleteEvent(e.ctx, e.project, list[gone].ID); err != nil {
						e.Error(err)
					}
					list = append(list[:gone:gone], list[gone+1:]...)
				case 1:
					if err := e.s.DeleteSession(e.ctx, e.project, id(name)); err != nil {
						e.Error(err)
					}
					list = nil
				}
				mu.Lock()
				want[name] = list
				mu.Unlock()
			}
		})
	}
	writers.Wait()
	stop()
	work.Wait()
	e.ok(e.s.Pack(e.ctx))
	e.noOrphans()
	for range 2 {
		for _, list := range want {
			e.holds(list...)
		}
		e.reopen(optionsUnpacked)
	}
}

// packBrokenOff ends the packer at random moments; what is stored then is what was, and the next one goes on.
func packBrokenOff(e *env) {
	e.reopen(optionsUnpacked)
	list := e.talks(40, 8)
	r := rand.New(rand.NewPCG(1, 6))
	for range 12 {
		ctx, cancel := context.WithTimeout(e.ctx, time.Duration(r.Int64N(int64(30*time.Millisecond))))
		if err := e.s.Pack(ctx); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			e.Error(err)
		}
		cancel()
		e.noOrphans()
		e.reopen(optionsUnpacked)
		e.holds(list[r.IntN(len(list))])
	}
	e.ok(e.s.Pack(e.ctx))
	e.equal("chunks in packs", len(list), e.inPacks())
	e.reopen(optionsUnpacked)
	e.holds(list...)
	e.noOrphans()
}

// packDamaged reads packs that are damaged, which is an error and nothing worse, and deletes what is in them.
func packDamaged(e *env) {
	for i, change := range []string{
		`UPDATE chunk SET data = ` + e.place.Bytes("00") + ` WHERE id IN (SELECT pack FROM chunk)`,
		`UPDATE chunk SET data = ` + e.place.Bytes("502a4d1804000000020000002828") + ` WHERE id IN (SELECT pack FROM chunk)`,
		`UPDATE chunk SET data = ` + e.place.Bytes("ffffff7f05") + ` WHERE pack IS NOT NULL`,
		`UPDATE chunk SET data = ` + e.place.Bytes("") + ` WHERE pack IS NOT NULL`,
		`DELETE FROM chunk WHERE id IN (SELECT pack FROM chunk)`,
	} {
		e.reopen(optionsUnpacked)
		session := fmt.Sprint("d", i)
		list := conversation(session, 3)
		e.putEach(list...)
		e.ok(e.s.Pack(e.ctx))
		e.ok(e.s.Close(e.ctx))
		e.place.Exec(e.T, change)
		e.open(optionsUnpacked)
		for _, x := range list {
			if got, err := e.s.Event(e.ctx, e.project, x.ID); err == nil || fault.Of(err) != fault.Internal {
				e.Errorf("%s: %v, %v, want an internal error", change, got, err)
			}
		}
		if i < 2 || i == 4 {
			e.ok(e.s.DeleteSession(e.ctx, e.project, id(session)))
			e.equal("chunks", 0, e.chunks())
		} else {
			e.place.Exec(e.T, `DELETE FROM chunk`)
			e.ok(e.s.DeleteSession(e.ctx, e.project, id(session)))
		}
	}
}
