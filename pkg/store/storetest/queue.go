package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/queue"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store"
)

var queueTests = []test{
	{"Queue/created, listed, changed, deleted", queueLife},
	{"Queue/events are added and removed by hand", queueByHand},
	{"Queue/room for as many items as may wait", queueRoom},
	{"Queue/claims are one a slot and run out", queueClaims},
	{"Queue/released and skipped", queueRelease},
	{"Queue/annotations become scores of the event", queueAnnotations},
	{"Queue/one item opened, its lease renewed and lost", queueOpen},
	{"Queue/differences are settled and taken back", queueSettled},
	{"Queue/items over which people are tied count as disputed", queueTied},
	{"Queue/agreement", queueAgreement},
	{"Queue/events that are gone", queueGone},
	{"Queue/filters let events in", queueFilters},
	{"Queue/late events and those that match later", queueLate},
	{"Queue/switched off", queueOff},
	{"Queue/many events, a slice at a time", queueSlices},
	{"Queue/many annotators at once", queueRush},
	{"Queue/another project's is not there", queueProjects},
}

// stopped is a clock that stands still until it is set.
type stopped struct {
	mu  sync.Mutex
	now time.Time
}

func (c *stopped) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// set moves the clock to seconds after noon of the suite.
func (c *stopped) set(seconds float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = time.UnixMilli(int64(noon + 1000*seconds))
}

// clock opens the store anew with a clock that stands at noon.
func (e *env) clock() *stopped {
	e.Helper()
	c := &stopped{}
	c.set(0)
	e.reopen(store.Options{Now: c.Now})
	return c
}

const onlyTools = `{"filterArray":[{"field":"event_type","operator":"is","value":"tool","type":"string"}]}`

func ids(names ...string) (list []uuid.UUID) {
	for _, name := range names {
		list = append(list, id(name))
	}
	return list
}

func (e *env) createQueue(u queue.Update, events ...string) queue.Queue {
	e.Helper()
	if u.Name == nil {
		u.Name = pointer("q")
	}
	q := queue.New(&u, int64(noon))
	e.ok(q.Validate())
	q, err := e.s.CreateQueue(e.ctx, e.project, q, ids(events...))
	e.ok(err)
	return q
}

// inQueue shows the items of a queue as "name=state", in order; of names only.
func (e *env) inQueue(q string, of ...string) string {
	e.Helper()
	list, total, err := e.s.FindQueueItems(e.ctx, e.project, q, "", 1000, 1)
	e.ok(err)
	e.equal("total", len(list), total)
	items, err := e.s.LoadQueueItems(e.ctx, e.project, q, list)
	e.ok(err)
	var out []string
	for _, it := range items {
		for _, name := range of {
			if it.EventID == id(name) {
				out = append(out, name+"="+string(it.Shown()))
			}
		}
	}
	if len(out) != len(items) {
		e.Errorf("%d items, of which %d are known", len(items), len(out))
	}
	return strings.Join(out, " ")
}

// claim claims an item and returns the name of its event, empty if there is none.
func (e *env) claim(q, annotator string, of ...string) string {
	e.Helper()
	it, found, err := e.s.ClaimItem(e.ctx, e.project, q, annotator)
	e.ok(err)
	if !found {
		return ""
	}
	for _, name := range of {
		if it.EventID == id(name) {
			return name
		}
	}
	e.Fatalf("%s claims an unknown event %s", annotator, it.EventID)
	return ""
}

func (e *env) annotate(q, event, annotator, scores string) queue.Item {
	e.Helper()
	it, err := e.s.AnnotateItem(
		e.ctx,
		e.project,
		q,
		id(event),
		queue.Annotation{Annotator: annotator, Scores: raw(scores), Comment: "by " + annotator},
	)
	e.ok(err)
	return it
}

func (e *env) fill(q string) {
	e.Helper()
	for n := 0; ; n++ {
		_, more, err := e.s.FillQueue(e.ctx, project.Project{ID: e.project, Name: "default"}, q)
		e.ok(err)
		if !more {
			return
		}
		if n == 100 {
			e.Fatal("it never ends")
		}
	}
}

func queueLife(e *env) {
	e.putEach(step("s", "a", 1), step("s", "b", 2))
	first := e.createQueue(
		queue.Update{
			Description: pointer("d"),
			Filters:     raw(`{"filterArray": [], "kept":1.0}`),
			Annotators:  pointer(3),
			Lease:       pointer(int64(60)),
			Metrics:     []string{"m"},
		},
		"b",
		"a",
		"b",
	)
	second := e.createQueue(queue.Update{Enabled: pointer(false)})
	if len(first.ID) != 24 || !(first.ID < second.ID) {
		e.Errorf("ids %q, %q: want 24 digits, growing", first.ID, second.ID)
	}
	e.equal(
		"first",
		queue.Queue{
			ID:          first.ID,
			Name:        "q",
			Description: "d",
			Filters:     raw(`{"filterArray": [], "kept":1.0}`),
			Enabled:     true,
			Annotators:  3,
			Lease:       60,
			Metrics:     []string{"m"},
			Created:     first.Created,
			Counts:      queue.Counts{Waiting: 2},
		},
		first,
	)
	for _, tt := range []struct {
		enabled *bool
		want    []string
	}{{nil, []string{first.ID, second.ID}}, {pointer(true), []string{first.ID}}, {pointer(false), []string{second.ID}}} {
		got, total, err := e.s.FindQueues(e.ctx, e.project, tt.enabled, 10, 1)
		e.ok(err)
		e.equal("list", tt.want, got)
		e.equal("total", len(tt.want), total)
	}
	_, err := e.s.UpdateQueue(e.ctx, e.project, first.ID, queue.Update{Annotators: pointer(0)}, nil, ids("a"))
	e.equal("broken rule", fault.Invalid, fault.Of(err))
	changed, err := e.s.UpdateQueue(e.ctx, e.project, first.ID, queue.Update{Name: pointer("r"), Metrics: []string{}}, nil, nil)
	e.ok(err)
	e.reopen(optionsNone)
	list, err := e.s.LoadQueues(e.ctx, e.project, []string{second.ID, "nobody", first.ID})
	e.ok(err)
	changed.Metrics = nil // an empty list comes back as none
	e.equal("loaded", []queue.Queue{second, changed}, list)
	if changed.Updated < changed.Created || changed.Name != "r" || changed.Counts.Waiting != 2 {
		e.Errorf("changed: %+v", changed)
	}
	e.annotate(first.ID, "a", "ann", `{"m":1}`)
	e.ok(e.s.DeleteQueue(e.ctx, e.project, first.ID))
	for what, err := range map[string]error{
		"delete": e.s.DeleteQueue(e.ctx, e.project, first.ID),
		"read":   second1(e.s.Queue(e.ctx, e.project, first.ID)),
		"update": second1(e.s.UpdateQueue(e.ctx, e.project, first.ID, queue.Update{}, nil, nil)),
		"fill":   third(e.s.FillQueue(e.ctx, project.Project{ID: e.project}, first.ID)),
		"agree":  second1(e.s.QueueAgreement(e.ctx, e.project, first.ID)),
	} {
		e.equal(what+" after deletion", fault.NotFound, fault.Of(err))
	}
	for _, table := range []string{"queue_item", "queue_turn", "deletion"} {
		e.equal("rows of "+table, 0, e.place.Count(e.T, `SELECT count(*) FROM `+table))
	}
}

// second1 and third are the error among results.
func second1[T any](_ T, err error) error { return err }

func third[T, U any](_ T, _ U, err error) error { return err }

func queueByHand(e *env) {
	e.putEach(step("s", "a", 1), step("s", "b", 2), step("s", "c", 3))
	q := e.createQueue(queue.Update{Annotators: pointer(1)}, "a").ID
	change := func(add, remove []uuid.UUID) error {
		_, err := e.s.UpdateQueue(e.ctx, e.project, q, queue.Update{}, add, remove)
		return err
	}
	e.ok(change(ids("c", "a", "c", "s"), nil))
	e.equal("added", "a=waiting c=waiting s=waiting", e.inQueue(q, "a", "b", "c", "s"))
	err := change(ids("b", "nowhere"), ids("a"))
	if fault.Of(err) != fault.NotFound || !strings.HasPrefix(err.Error(), "add_event_ids[1]: no event") {
		e.Errorf("unknown event: %v", err)
	}
	e.equal("nothing changed", "a=waiting c=waiting s=waiting", e.inQueue(q, "a", "b", "c", "s"))
	e.annotate(q, "a", "ann", `{"m":1}`)
	e.ok(change(nil, ids("a", "b", "nowhere")))
	e.equal("removed", "c=waiting s=waiting", e.inQueue(q, "a", "b", "c", "s"))
	_, err = e.s.AnnotateItem(e.ctx, e.project, q, id("a"), queue.Annotation{Annotator: "ann", Scores: raw(`{"m":1}`)})
	e.equal("annotate what was removed", fault.NotFound, fault.Of(err))
	list, total, err := e.s.FindQueueItems(e.ctx, e.project, q, queue.Removed, 10, 1)
	e.ok(err)
	e.equal("removed ones", []string{id("a").String()}, list)
	e.equal("how many", 1, total)
	e.ok(change(ids("a"), nil))
	items, err := e.s.LoadQueueItems(e.ctx, e.project, q, list)
	e.ok(err)
	if it := items[0]; it.State != queue.Waiting || it.Annotations != nil || it.Scores != nil {
		e.Errorf("back again: %+v", it)
	}
	e.equal("at the end", "c=waiting s=waiting a=waiting", e.inQueue(q, "a", "c", "s"))
	list, _, err = e.s.FindQueueItems(e.ctx, e.project, q, queue.Waiting, 2, 2)
	e.ok(err)
	e.equal("second page", []string{id("a").String()}, list)

	e.put(traced("t", "", step("t", "x", 4)))
	e.put(traced("t", "key", step("key", "root", 5)))
	e.ok(change(ids("t"), nil))
	e.equal("a session by the id that it had before it moved", "c=waiting s=waiting a=waiting key=waiting", e.inQueue(q, "a", "c", "s", "key"))
	e.ok(change(nil, ids("t")))
	e.equal("removed by it", "c=waiting s=waiting a=waiting", e.inQueue(q, "a", "c", "s", "key"))
}

// queueRoom has a queue in which as many items wait as may: one more is refused, unless another one leaves in the same request.
func queueRoom(e *env) {
	const part = 500
	e.putEach(step("s", "a", 1), step("s", "b", 2), step("s", "c", 3), step("s", "d", 4))
	q := e.createQueue(queue.Update{Annotators: pointer(1)}, "a", "b").ID
	e.annotate(q, "b", "ann", `{"m":1}`)
	change := func(add, remove []uuid.UUID) error {
		_, err := e.s.UpdateQueue(e.ctx, e.project, q, queue.Update{}, add, remove)
		return err
	}
	for from := 1; from < queue.MaxWaiting; from += part {
		var list []event.Incoming
		var others []uuid.UUID
		for i := from; i < min(from+part, queue.MaxWaiting); i++ {
			name := fmt.Sprint("other", i)
			list, others = append(list, step(fmt.Sprint("s", from), name, 5)), append(others, id(name))
		}
		e.put(list...)
		e.ok(change(others, nil))
	}
	waiting := func(what string, want int) {
		e.Helper()
		e.equal(what, want, e.place.Count(e.T, `SELECT count(*) FROM queue_item WHERE state = 'waiting'`))
	}
	waiting("all that may", queue.MaxWaiting)
	e.equal("one more", fault.Conflict, fault.Of(change(ids("c"), nil)))
	e.equal("in the place of one that does not wait", fault.Conflict, fault.Of(change(ids("c"), ids("b"))))
	e.equal("one that was done, anew", fault.Conflict, fault.Of(change(ids("b"), ids("b"))))
	e.equal("two in the place of one", fault.Conflict, fault.Of(change(ids("c", "d"), ids("a"))))
	e.ok(change(ids("a", "b"), nil)) // which are there
	e.ok(change(ids("a"), ids("a", "a")))
	e.ok(change(ids("c"), ids("a")))
	waiting("one in the place of another", queue.MaxWaiting)
	e.ok(change(nil, ids("c")))
	e.ok(change(ids("b"), ids("b")))
	waiting("and one that was done, anew", queue.MaxWaiting)
	e.place.Exec(e.T, `UPDATE queue_item SET state = 'waiting' WHERE state = 'removed'`) // as when filters let in a whole slice
	e.ok(change(ids("d"), ids("a")))
	waiting("one in the place of another beyond that", queue.MaxWaiting+2)
}

func queueClaims(e *env) {
	c := e.clock()
	e.putEach(step("s", "a", -9), step("s", "b", -8))
	q := e.createQueue(queue.Update{Lease: pointer(int64(60))}, "a", "b").ID
	claim := func(annotator, want string) {
		e.Helper()
		e.equal(annotator+" claims", want, e.claim(q, annotator, "a", "b"))
	}
	claim("ann", "a")
	claim("ann", "a") // the same until it is done
	claim("bob", "a")
	claim("cid", "b")
	e.annotate(q, "a", "ann", `{"m":1}`)
	claim("ann", "b")
	claim("dan", "")
	c.set(59)
	claim("dan", "")
	claim("bob", "a") // a new lease
	c.set(61)         // the claims on b have run out
	claim("dan", "b")
	claim("eve", "b")
	claim("ann", "") // who annotated a, and waits for b
	it := e.annotate(q, "a", "bob", `{"m":1}`)
	e.equal("state", queue.Done, it.State)
	_, err := e.s.AnnotateItem(e.ctx, e.project, q, id("b"), queue.Annotation{Annotator: "fay", Scores: raw(`{"m":1}`)})
	e.equal("without a slot", fault.Conflict, fault.Of(err))
	// ann's lease on b ran out and others have the slots, but her work is taken.
	e.annotate(q, "b", "ann", `{"m":1}`)
	items, err := e.s.LoadQueueItems(e.ctx, e.project, q, []string{id("b").String()})
	e.ok(err)
	e.equal("one of b", 1, len(items[0].Annotations))
	e.equal("state of b", queue.Waiting, items[0].State)
}

func queueRelease(e *env) {
	e.putEach(step("s", "a", 1), step("s", "b", 2))
	q := e.createQueue(queue.Update{Annotators: pointer(1)}, "a", "b").ID
	release := func(annotator, event string, skip bool) error {
		_, err := e.s.ReleaseItem(e.ctx, e.project, q, id(event), annotator, skip)
		return err
	}
	e.equal("no claim", fault.NotFound, fault.Of(release("ann", "a", false)))
	e.equal("ann", "a", e.claim(q, "ann", "a", "b"))
	e.equal("bob", "b", e.claim(q, "bob", "a", "b"))
	e.equal("another's claim", fault.NotFound, fault.Of(release("bob", "a", false)))
	e.ok(release("ann", "a", false))
	e.equal("ann again", "a", e.claim(q, "ann", "a", "b"))
	e.ok(release("ann", "a", true))
	e.equal("ann skipped it", "", e.claim(q, "ann", "a", "b"))
	e.equal("skipped twice", fault.NotFound, fault.Of(release("ann", "a", true)))
	e.ok(release("bob", "b", false))
	e.equal("ann goes on", "b", e.claim(q, "ann", "a", "b"))
	e.equal("bob", "a", e.claim(q, "bob", "a", "b"))
	items, err := e.s.LoadQueueItems(e.ctx, e.project, q, []string{id("a").String()})
	e.ok(err)
	e.equal("skipped by", []string{"ann"}, items[0].Skipped)
	e.equal("claimed by", "bob", items[0].Claims[0].Annotator)
}

func queueAnnotations(e *env) {
	x := step("s", "a", 1)
	x.Metrics, x.Inputs = raw(`{"kept":1.0}`), raw(`{"q":1}`)
	e.putEach(x)
	q := e.createQueue(queue.Update{}, "a").ID
	it := e.annotate(q, "a", "ann", `{"m":0.50,"n":"x"}`)
	e.equal("waits", queue.Waiting, it.State)
	e.equal("not yet", `{"kept":1.0}`, string(e.event(id("a")).Metrics))
	it = e.annotate(q, "a", "bob", `{"m":1,"n":"y"}`)
	e.equal("tied", queue.Waiting, it.State)
	e.equal("not yet", `{"kept":1.0}`, string(e.event(id("a")).Metrics))
	it = e.annotate(q, "a", "cid", `{"m":1.50,"n":"y"}`)
	e.equal("done", queue.Done, it.State)
	e.reopen(optionsNone)
	x.Metrics = raw(`{"kept":1.0,"m":1,"m_explanation":"ann: by ann\nbob: by bob\ncid: by cid","n":"y","n_explanation":"bob: by bob\ncid: by cid"}`)
	e.holds(x)
	again := e.annotate(q, "a", "cid", `{"m":1.50,"n":"y"}`)
	it.Annotations, again.Annotations = nil, nil
	e.equal("repeated", it, again)
	e.annotate(q, "a", "cid", `{"n":"y"}`)
	x.Metrics = raw(`{"kept":1.0,"m":0.75,"m_explanation":"ann: by ann\nbob: by bob","n":"y","n_explanation":"bob: by bob\ncid: by cid"}`)
	e.holds(x)
	items, err := e.s.LoadQueueItems(e.ctx, e.project, q, []string{id("a").String(), id("b").String(), "v1"})
	e.ok(err)
	got := ""
	for _, a := range items[0].Annotations {
		got += fmt.Sprintf("%s %s %q %t; ", a.Annotator, a.Scores, a.Comment, a.Updated != 0)
	}
	e.equal("annotations", `ann {"m":0.50,"n":"x"} "by ann" false; bob {"m":1,"n":"y"} "by bob" false; cid {"n":"y"} "by cid" true; `, got)
	loaded, err := e.s.Queue(e.ctx, e.project, q)
	e.ok(err)
	e.equal("counts", queue.Counts{Done: 1}, loaded.Counts)
	_, err = e.s.AnnotateItem(e.ctx, e.project, q, id("b"), queue.Annotation{Annotator: "ann", Scores: raw(`{"m":1}`)})
	e.equal("not in the queue", fault.NotFound, fault.Of(err))
}

// queueTied has counts, lists and differences say the same of items over which annotators are tied, before and after a third came.
func queueTied(e *env) {
	e.putEach(step("s", "a", 1), step("s", "b", 2), step("s", "c", 3), step("s", "d", 4))
	q := e.createQueue(queue.Update{}, "a", "b", "c", "d").ID
	other := e.createQueue(queue.Update{}, "a").ID
	told := func(counts queue.Counts, disputed, waiting string) {
		e.Helper()
		loaded, err := e.s.Queue(e.ctx, e.project, q)
		e.ok(err)
		e.equal("counts", counts, loaded.Counts)
		for state, want := range map[queue.State]string{queue.Disputed: disputed, queue.Waiting: waiting} {
			list, total, err := e.s.FindQueueItems(e.ctx, e.project, q, state, 10, 1)
			e.ok(err)
			got := ""
			for _, text := range list {
				for _, name := range []string{"a", "b", "c", "d"} {
					if id(name).String() == text {
						got += name
					}
				}
			}
			e.equal(string(state), want, got)
			e.equal("how many are "+string(state), len(want), total)
			items, err := e.s.LoadQueueItems(e.ctx, e.project, q, list)
			e.ok(err)
			for i := range items {
				e.equal("shown as", state, items[i].Shown())
			}
		}
		list, _, err := e.s.FindDifferences(e.ctx, e.project, q, queue.Unsettled, 10, 1)
		e.ok(err)
		e.equal("differences", loaded.Counts.Disputed, len(list))
	}
	told(queue.Counts{Waiting: 4}, "", "abcd")
	for _, name := range []string{"a", "b", "d"} {
		e.annotate(q, name, "ann", `{"m":"x"}`)
	}
	told(queue.Counts{Waiting: 4}, "", "abcd")
	e.annotate(q, "a", "bob", `{"m":"y"}`)
	e.annotate(q, "b", "bob", `{"m":"y"}`)
	e.annotate(q, "d", "bob", `{"m":"x"}`)
	told(queue.Counts{Waiting: 1, Disputed: 2, Done: 1}, "ab", "c")
	e.equal("a third is asked", "a", e.claim(q, "cid", "a", "b", "c", "d"))
	told(queue.Counts{Waiting: 1, Disputed: 2, Done: 1, Held: 1}, "ab", "c")
	e.annotate(q, "a", "cid", `{"m":"z"}`)
	told(queue.Counts{Waiting: 1, Disputed: 2, Done: 1}, "ab", "c")
	_, err := e.s.SettleItem(e.ctx, e.project, q, id("b"), queue.Settlement{Annotator: "lead", Scores: raw(`{"m":"y"}`)})
	e.ok(err)
	told(queue.Counts{Waiting: 1, Disputed: 1, Done: 2}, "a", "c")
	loaded, err := e.s.LoadQueues(e.ctx, e.project, []string{q, other})
	e.ok(err)
	e.equal("of both", []queue.Counts{{Waiting: 1, Disputed: 1, Done: 2}, {Waiting: 1}}, []queue.Counts{loaded[0].Counts, loaded[1].Counts})
}

func queueAgreement(e *env) {
	e.putEach(step("s", "a", 1), step("s", "b", 2), step("s", "c", 3))
	q := e.createQueue(queue.Update{}, "a", "b", "c").ID
	list, err := e.s.QueueAgreement(e.ctx, e.project, q)
	e.ok(err)
	e.equal("nothing yet", 0, len(list))
	for i, event := range []string{"a", "b", "c"} {
		e.annotate(q, event, "ann", fmt.Sprintf(`{"good":%t,"stars":%d}`, i > 0, i))
		e.annotate(q, event, "bob", fmt.Sprintf(`{"good":%t,"stars":%d}`, i > 0, i))
	}
	e.claim(q, "cid", "a", "b", "c")
	list, err = e.s.QueueAgreement(e.ctx, e.project, q)
	e.ok(err)
	for _, a := range list {
		if a.Pairs != 3 || *a.Observed != 1 || *a.Kappa != 1 || a.Numbers != (a.Metric == "stars") || a.Of[0].A != "ann" || a.Of[0].B != "bob" {
			e.Errorf("%+v", a)
		}
	}
	e.equal("metrics", 2, len(list))
}

func queueOpen(e *env) {
	c := e.clock()
	e.putEach(step("s", "a", -9), step("s", "b", -8), step("s", "c", -7))
	q := e.createQueue(queue.Update{Lease: pointer(int64(60)), Annotators: pointer(1)}, "a", "b", "c").ID
	open := func(who, event string) (queue.Item, *queue.Annotation, error) {
		return e.s.OpenItem(e.ctx, e.project, q, id(event), who)
	}
	progress := func(who string, want queue.Progress) {
		e.Helper()
		got, err := e.s.QueueProgress(e.ctx, e.project, q, who)
		e.ok(err)
		e.equal("progress of "+who, want, got)
	}
	progress("ann", queue.Progress{Open: 3})
	it, own, err := open("ann", "b")
	e.ok(err)
	if own != nil || len(it.Claims) != 1 || it.Claims[0].Annotator != "ann" {
		e.Errorf("opened: %+v %+v", it, own)
	}
	e.equal("next is the one that was opened", "b", e.claim(q, "ann", "a", "b", "c"))
	_, _, err = open("bob", "b")
	e.equal("opened by another", fault.Conflict, fault.Of(err))
	progress("ann", queue.Progress{Open: 3})
	progress("bob", queue.Progress{Open: 2, Held: 1})
	got, err := e.s.Queue(e.ctx, e.project, q)
	e.ok(err)
	e.equal("counts", queue.Counts{Waiting: 3, Held: 1}, got.Counts)
	c.set(50)
	_, _, err = open("ann", "b") // renewed
	e.ok(err)
	c.set(100)
	_, _, err = open("bob", "b")
	e.equal("opened by another after the first lease", fault.Conflict, fault.Of(err))
	c.set(111)
	_, _, err = open("bob", "b")
	e.ok(err)
	_, _, err = open("ann", "b")
	e.equal("the claim is lost", fault.Conflict, fault.Of(err))
	e.annotate(q, "b", "bob", `{"m":1}`)
	_, own, err = open("bob", "b")
	e.ok(err)
	e.equal("what bob said", `{"m":1}`, string(own.Scores))
	_, _, err = open("bob", "nowhere")
	e.equal("not there", fault.NotFound, fault.Of(err))
	e.equal("bob's next", "a", e.claim(q, "bob", "a", "b", "c"))
	_, err = e.s.ReleaseItem(e.ctx, e.project, q, id("a"), "bob", true)
	e.ok(err)
	progress("bob", queue.Progress{Annotated: 1, Skipped: 1, Open: 1})
	_, _, err = open("bob", "a") // another mind
	e.ok(err)
	progress("bob", queue.Progress{Annotated: 1, Open: 2})
	list, total, err := e.s.FindAnnotators(e.ctx, e.project, q, 10, 1)
	e.ok(err)
	e.equal("annotators in all", 2, total)
	for i := range list {
		if list[i].Annotator == "bob" && list[i].Last == 0 {
			e.Errorf("when bob last annotated: %+v", list[i])
		}
		list[i].Last = 0
	}
	e.equal("annotators", []queue.AnnotatorCounts{{Annotator: "ann"}, {Annotator: "bob", Annotated: 1, Held: 1}}, list)
	list, total, err = e.s.FindAnnotators(e.ctx, e.project, q, 1, 2)
	e.ok(err)
	e.equal("a page of annotators", "bob 1 2", fmt.Sprint(list[0].Annotator, " ", len(list), " ", total))
}

func queueSettled(e *env) {
	e.putEach(step("s", "a", 1), step("s", "b", 2), step("s", "c", 3))
	q := e.createQueue(queue.Update{}, "a", "b", "c").ID
	metrics := func(event, want string) {
		e.Helper()
		e.equal("metrics of "+event, want, members(e.event(id(event)).Metrics, "m"))
	}
	differ := func(d queue.Differences, want ...string) {
		e.Helper()
		list, total, err := e.s.FindDifferences(e.ctx, e.project, q, d, 10, 1)
		e.ok(err)
		var names []string
		for _, text := range list {
			for _, name := range []string{"a", "b", "c"} {
				if id(name).String() == text {
					names = append(names, name)
				}
			}
		}
		e.equal(string(d), want, names)
		e.equal("how many are "+string(d), len(want), total)
	}
	e.annotate(q, "c", "ann", `{"m":true,"n":1}`)
	e.annotate(q, "c", "bob", `{"m":true,"n":3}`)
	e.annotate(q, "a", "ann", `{"m":true}`)
	e.annotate(q, "a", "bob", `{"m":false}`)
	e.annotate(q, "b", "ann", `{"m":1.0}`)
	e.annotate(q, "b", "bob", `{"m":1}`)
	differ(queue.Unsettled, "a", "c")
	differ(queue.Settled)
	page, total, err := e.s.FindDifferences(e.ctx, e.project, q, queue.Unsettled, 1, 2)
	e.ok(err)
	e.equal("second page", []string{id("c").String()}, page)
	e.equal("total of pages", 2, total)
	settle := func(event, scores string) (queue.Item, error) {
		return e.s.SettleItem(e.ctx, e.project, q, id(event), queue.Settlement{Annotator: "lead", Scores: raw(scores), Comment: "so"})
	}
	_, err = settle("a", `{"n":1}`)
	e.equal("over which they are tied", fault.Invalid, fault.Of(err))
	it, err := settle("a", `{"m":false}`)
	e.ok(err)
	e.equal("state", queue.Done, it.State)
	metrics("a", "m=false")
	e.equal("explained", `"so"`, string(rawjson.Get(e.event(id("a")).Metrics, "m_explanation")))
	_, err = e.s.SettleItem(e.ctx, e.project, q, id("a"), queue.Settlement{Annotator: "lead", Scores: raw(`{"m":true}`)})
	e.ok(err)
	e.equal("settled without a comment", `{"m":true,"m_explanation":null}`, string(e.event(id("a")).Metrics))
	_, err = settle("a", `{"m":false}`)
	e.ok(err)
	differ(queue.Unsettled, "c")
	differ(queue.Settled, "a")
	e.reopen(optionsNone)
	items, err := e.s.LoadQueueItems(e.ctx, e.project, q, []string{id("a").String()})
	e.ok(err)
	if s := items[0].Settlement; s == nil || s.Annotator != "lead" || string(s.Scores) != `{"m":false}` || s.Comment != "so" || s.At == 0 {
		e.Errorf("settlement: %+v", s)
	}
	_, err = e.s.WithdrawAnnotation(e.ctx, e.project, q, id("a"), "ann")
	e.equal("withdrawn from a settled item", fault.Conflict, fault.Of(err))
	it, err = e.s.UnsettleItem(e.ctx, e.project, q, id("a"))
	e.ok(err)
	e.equal("state without settlement", queue.Waiting, it.State)
	metrics("a", "m=null")
	e.equal("explained no longer", `null`, string(rawjson.Get(e.event(id("a")).Metrics, "m_explanation")))
	_, err = e.s.UnsettleItem(e.ctx, e.project, q, id("a"))
	e.equal("taken back twice", fault.NotFound, fault.Of(err))

	metrics("b", "m=1.0")
	it, err = e.s.WithdrawAnnotation(e.ctx, e.project, q, id("b"), "bob")
	e.ok(err)
	if it.State != queue.Waiting || len(it.Annotations) != 1 || len(it.Claims) != 1 || it.Claims[0].Annotator != "bob" {
		e.Errorf("withdrawn: %+v", it)
	}
	e.equal("withdrawn from the event", `{"m":null,"m_explanation":null}`, string(e.event(id("b")).Metrics))
	e.equal("bob is asked again", "b", e.claim(q, "bob", "a", "b", "c"))
	_, err = e.s.WithdrawAnnotation(e.ctx, e.project, q, id("b"), "bob")
	e.equal("withdrawn twice", fault.NotFound, fault.Of(err))
	_, err = e.s.UpdateQueue(e.ctx, e.project, q, queue.Update{}, nil, ids("c"))
	e.ok(err)
	differ(queue.Unsettled, "a")
	for what, err := range map[string]error{
		"settle":   second1(settle("c", `{"m":true}`)),
		"unsettle": second1(e.s.UnsettleItem(e.ctx, e.project, q, id("c"))),
		"withdraw": second1(e.s.WithdrawAnnotation(e.ctx, e.project, q, id("c"), "ann")),
		"open":     third(e.s.OpenItem(e.ctx, e.project, q, id("c"), "ann")),
		"differ":   third(e.s.FindDifferences(e.ctx, e.project, "none", queue.Settled, 1, 1)),
		"people":   third(e.s.FindAnnotators(e.ctx, e.project, "none", 1, 1)),
	} {
		e.equal(what+" what is not there", fault.NotFound, fault.Of(err))
	}
}

func queueGone(e *env) {
	e.putEach(step("s", "a", 1), step("s", "b", 2), step("s", "c", 3))
	q := e.createQueue(queue.Update{Annotators: pointer(1)}, "a", "b", "c").ID
	e.equal("ann", "a", e.claim(q, "ann", "a", "b", "c"))
	for _, name := range []string{"a", "b"} {
		e.ok(e.s.DeleteEvent(e.ctx, e.project, id(name)))
	}
	_, err := e.s.AnnotateItem(e.ctx, e.project, q, id("a"), queue.Annotation{Annotator: "ann", Scores: raw(`{"m":1}`)})
	e.equal("annotate", fault.NotFound, fault.Of(err))
	e.equal("ann", "c", e.claim(q, "ann", "a", "b", "c"))
	e.equal("left", "c=waiting", e.inQueue(q, "a", "b", "c"))
	e.equal("turns", 1, e.place.Count(e.T, `SELECT count(*) FROM queue_turn`))
	// More than one transaction clears away.
	var many []event.Incoming
	var added []uuid.UUID
	for i := range 250 {
		x := step("t", fmt.Sprint("many", i), 5)
		many, added = append(many, x), append(added, x.ID)
	}
	e.put(many...)
	_, err = e.s.UpdateQueue(e.ctx, e.project, q, queue.Update{}, added, nil)
	e.ok(err)
	e.ok(e.s.DeleteSession(e.ctx, e.project, id("t")))
	e.equal("bob", "", e.claim(q, "bob"))
	e.equal("left", "c=waiting", e.inQueue(q, "c"))
}

func queueFilters(e *env) {
	c := e.clock()
	e.putEach(step("s", "b", -8), step("s", "a", -9), call("s", "no", -7, 1, 1, 1))
	q := e.createQueue(queue.Update{Filters: raw(onlyTools)}).ID
	e.equal("before anybody asks", "", e.inQueue(q))
	e.fill(q)
	e.equal("by start", "a=waiting b=waiting", e.inQueue(q, "a", "b"))
	_, err := e.s.UpdateQueue(e.ctx, e.project, q, queue.Update{}, nil, ids("a"))
	e.ok(err)
	e.putEach(step("s", "c", -1), step("s", "future", 10))
	e.fill(q)
	e.equal("a new one", "b=waiting c=waiting", e.inQueue(q, "b", "c"))
	c.set(2 * 86400)
	e.fill(q)
	e.equal("the removed one stays out", "b=waiting c=waiting future=waiting", e.inQueue(q, "b", "c", "future"))
	_, err = e.s.UpdateQueue(
		e.ctx,
		e.project,
		q,
		queue.Update{Filters: raw(`{"filterArray":[{"field":"event_type","operator":"is","value":"model"}]}`)},
		nil,
		nil,
	)
	e.ok(err)
	e.fill(q)
	e.equal("other filters look at all again", "b=waiting c=waiting future=waiting no=waiting", e.inQueue(q, "b", "c", "future", "no"))
	loaded, err := e.s.Queue(e.ctx, e.project, q)
	e.ok(err)
	e.fill(q)
	after, err := e.s.Queue(e.ctx, e.project, q)
	e.ok(err)
	e.equal("filling is no change of the queue", loaded, after)

	own := e.createQueue(queue.Update{Filters: raw(`{"filterArray":[
		{"field":"project","operator":"is","value":"default"},
		{"field":"inputs.q","operator":"is","value":"deep"},
		{"field":"event_type","operator":"is not","value":"session"}
	]}`)}).ID
	deep := step("s", "deep", 11)
	deep.Inputs = raw(`{"q":"deep"}`)
	e.putEach(deep)
	e.fill(own)
	e.equal("by the payload and the project", "deep=waiting", e.inQueue(own, "deep"))
	empty := e.createQueue(queue.Update{}).ID
	e.fill(empty)
	e.equal("no filters", "", e.inQueue(empty))
}

func queueLate(e *env) {
	c := e.clock()
	q := e.createQueue(queue.Update{
		Filters: raw(`{"filterArray":[{"field":"metrics.bad","operator":"is","value":true,"type":"boolean"}]}`),
	}).ID
	bad := func(name string, seconds float64) event.Incoming {
		x := step("s", name, seconds)
		x.Metrics = raw(`{"bad":true}`)
		return x
	}
	e.putEach(bad("a", -1), step("s", "turns", -2))
	e.fill(q)
	e.putEach(bad("late", -30))
	e.update(event.Update{EventID: id("turns"), Metrics: raw(`{"bad":true}`)})
	e.fill(q)
	e.equal("at once", "a=waiting", e.inQueue(q, "a"))
	c.set(119)
	e.fill(q)
	e.equal("two minutes after it started", "a=waiting late=waiting turns=waiting", e.inQueue(q, "a", "late", "turns"))
	e.putEach(bad("later", -1000))
	e.fill(q)
	e.equal("too late for the second look", "a=waiting late=waiting turns=waiting", e.inQueue(q, "a", "late", "turns"))
	c.set(3000)
	e.fill(q)
	e.equal("half an hour after it started", "a=waiting late=waiting turns=waiting later=waiting", e.inQueue(q, "a", "late", "turns", "later"))
	e.putEach(bad("latest", -500))
	e.fill(q)
	e.equal("too late for the third", "a=waiting late=waiting turns=waiting later=waiting", e.inQueue(q, "a", "late", "turns", "later"))
	c.set(86400)
	e.fill(q)
	e.equal(
		"a day after it started",
		"a=waiting late=waiting turns=waiting later=waiting latest=waiting",
		e.inQueue(q, "a", "late", "turns", "later", "latest"),
	)
}

func queueOff(e *env) {
	c := e.clock()
	e.putEach(step("s", "a", -1))
	q := e.createQueue(queue.Update{Filters: raw(onlyTools)}).ID
	c.set(10)
	off, err := e.s.UpdateQueue(e.ctx, e.project, q, queue.Update{Enabled: pointer(false)}, nil, nil)
	e.ok(err)
	e.equal("until", int64(noon)+10_000, off.Until)
	c.set(100)
	e.putEach(step("s", "before", 9), step("s", "after", 11))
	e.fill(q)
	e.equal("off", "a=waiting before=waiting", e.inQueue(q, "a", "before"))
	_, err = e.s.UpdateQueue(e.ctx, e.project, q, queue.Update{Enabled: pointer(true)}, nil, nil)
	e.ok(err)
	e.fill(q)
	e.equal("on again", "a=waiting before=waiting after=waiting", e.inQueue(q, "a", "before", "after"))
}

func queueSlices(e *env) {
	c := e.clock()
	c.set(86400 * 3)
	const n = 2500
	for part := range 5 {
		var list []event.Incoming
		for i := range n / 5 {
			list = append(list, step("s", fmt.Sprint("x", part, " ", i), float64(part*n/5+i)/10))
		}
		e.put(list...)
	}
	q := e.createQueue(queue.Update{Filters: raw(onlyTools)})
	p := project.Project{ID: e.project}
	for _, want := range []int{1000 - 1, 2000 - 1, n} { // one of the first is the session event
		_, more, err := e.s.FillQueue(e.ctx, p, q.ID)
		e.ok(err)
		e.equal("more", want < n, more)
		got, err := e.s.Queue(e.ctx, e.project, q.ID)
		e.ok(err)
		e.equal("waiting", want, got.Counts.Waiting)
	}
	list, total, err := e.s.FindQueueItems(e.ctx, e.project, q.ID, "", 1, n)
	e.ok(err)
	e.equal("total", n, total)
	e.equal("the last", []string{id("x4 499").String()}, list)
}

// queueRush is many people who claim and annotate at once: each item has as many annotations as it
// needs in the end, by different people.
func queueRush(e *env) {
	names := []string{"a", "b", "c", "d", "e", "f"}
	for i, name := range names {
		e.putEach(step("s"+name, name, float64(i)))
	}
	q := e.createQueue(queue.Update{}, names...).ID
	var mu sync.Mutex
	slots := map[string]int{}
	var group sync.WaitGroup
	for i := range 5 {
		who := fmt.Sprint("annotator", i)
		group.Go(func() {
			for {
				it, found, err := e.s.ClaimItem(e.ctx, e.project, q, who)
				if err != nil {
					e.Error(err)
					return
				}
				if !found {
					return
				}
				mu.Lock()
				slots[it.EventID.String()]++
				mu.Unlock()
				if _, err := e.s.AnnotateItem(e.ctx, e.project, q, it.EventID, queue.Annotation{Annotator: who, Scores: raw(`{"m":true}`)}); err != nil {
					e.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	for _, name := range names {
		e.equal("claims of "+name, 2, slots[id(name).String()])
		e.equal("score", `{"m":true}`, string(e.event(id(name)).Metrics))
	}
	e.equal("annotations", 2*len(names), e.place.Count(e.T, `SELECT count(*) FROM queue_turn WHERE state = 'annotated'`))
	loaded, err := e.s.Queue(e.ctx, e.project, q)
	e.ok(err)
	e.equal("counts", queue.Counts{Done: len(names)}, loaded.Counts)
}

func queueProjects(e *env) {
	e.project = e.second().ID // the first project of a server cannot be deleted
	e.putEach(step("s", "a", 1))
	q := e.createQueue(queue.Update{}, "a").ID
	e.annotate(q, "a", "ann", `{"m":1}`)
	mine := e.project
	other, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	for what, err := range map[string]error{
		"read":     second1(e.s.Queue(e.ctx, other.ID, q)),
		"update":   second1(e.s.UpdateQueue(e.ctx, other.ID, q, queue.Update{}, nil, nil)),
		"delete":   e.s.DeleteQueue(e.ctx, other.ID, q),
		"fill":     third(e.s.FillQueue(e.ctx, other, q)),
		"annotate": second1(e.s.AnnotateItem(e.ctx, other.ID, q, id("a"), queue.Annotation{Annotator: "x", Scores: raw(`{"m":1}`)})),
		"release":  second1(e.s.ReleaseItem(e.ctx, other.ID, q, id("a"), "ann", false)),
		"agree":    second1(e.s.QueueAgreement(e.ctx, other.ID, q)),
		"events":   second1(e.s.CreateQueue(e.ctx, other.ID, queue.New(&queue.Update{Name: pointer("q")}, 0), ids("a"))),
	} {
		e.equal(what, fault.NotFound, fault.Of(err))
	}
	items, err := e.s.LoadQueueItems(e.ctx, other.ID, q, []string{id("a").String()})
	e.ok(err)
	e.equal("items", 0, len(items))
	list, _, err := e.s.FindQueues(e.ctx, other.ID, nil, 10, 1)
	e.ok(err)
	e.equal("queues", 0, len(list))
	e.deleteProject(other.ID)
	e.project = mine
	e.equal("mine", "a=waiting", e.inQueue(q, "a"))
	e.deleteProject(mine)
	for _, table := range []string{"queue", "queue_item", "queue_turn"} {
		e.equal("rows of "+table, 0, e.place.Count(e.T, `SELECT count(*) FROM `+table))
	}
	if slices.Contains(list, q) {
		e.Error("another project's queue is listed")
	}
}
