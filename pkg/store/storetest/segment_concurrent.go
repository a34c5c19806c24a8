package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store"
)

// Days on which sessions start while others ask, after noon of the day of the suite. Those of the first randomDays are quiet: nobody
// changes them while a question about them is asked, so that segments and rows must give one answer, whatever becomes of the segments that
// they share with others. The others are busy.
const (
	busyBefore = -8
	busyAfter  = 6
	busyNow    = 10 // the clock
	// Of events on the one the payload expires, those on the other expire altogether.
	busyPayload, busyOld   = -18, -45
	payloadDays, eventDays = 25, 40
)

const (
	busyWriters  = 3
	busySessions = 10 // of a writer at once
	// busyRest is how long writers and those who seal rest between two steps, so that most of the time is left to questions.
	busyRest = 2 * time.Millisecond
)

// segmentsAnswerWhileOthersWrite compares answers about quiet sessions while others store, change, move and delete busy ones, seal, pack,
// build the index anew and remove what has expired, and while segments are damaged. Questions about all sessions are asked beside them, and their
// answers held to what is certain (watch).
func segmentsAnswerWhileOthersWrite(e *env) {
	c := NewClock(arrival.Add(busyNow * 24 * time.Hour))
	meter := sdkmetric.NewManualReader()
	o := store.Options{
		Now: c.Now, PackAfter: -1, Meter: sdkmetric.NewMeterProvider(sdkmetric.WithReader(meter)).Meter("test"),
		ReadWait: time.Minute, // questions are asked at once, on machines of any speed
	}
	e.reopen(o)
	e.keepDays(payloadDays, eventDays)
	b := &busyEvents{env: e, seed: e.seed()}
	watcher, quiet, damage := b.random(1), b.random(2), b.random(3)
	ctx, stop := context.WithCancel(e.ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	b.begin(ctx, &work, o)
	b.watch(ctx, &work, watcher)
	quiet.within = true
	for want := comparisons() / 4; quiet.compared < want && !e.Failed(); {
		quiet.deleteOld()
		quiet.change()
		for range 3 {
			quiet.ask(20)
			if damage.rand.IntN(4) == 0 {
				b.damage(damage.rand)
			}
		}
	}
	stop()
	work.Wait()
	reads := e.readsBy(meter)
	e.Logf("%d answers compared, %d checked; %d changes, %d passes; read by %v", quiet.compared, watcher.compared, b.changes, b.passes, reads)
	if reads["segments"] == 0 {
		e.Error("no answer is from segments")
	}
	e.ok(e.s.Retain(e.ctx)) // or the background does so between two answers, ten minutes after the store was opened
	quiet.within = false
	quiet.ask(20)
	e.ok(e.s.Seal(e.ctx))
	quiet.ask(20)
	e.noOrphans()
}

// readsBy counts what answered, and for which reason rows did.
func (e *env) readsBy(meter sdkmetric.Reader) map[string]int64 {
	e.Helper()
	var all metricdata.ResourceMetrics
	e.ok(meter.Collect(e.ctx, &all))
	reads := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			data, ok := m.Data.(metricdata.Sum[int64])
			if !ok || m.Name != "spangrove_store_segment_reads" {
				continue
			}
			for _, p := range data.DataPoints {
				by, _ := p.Attributes.Value("by")
				reason, _ := p.Attributes.Value("reason")
				reads[strings.TrimSpace(by.AsString()+" "+reason.AsString())] += p.Value
			}
		}
	}
	return reads
}

// keepDays sets the project's rule.
func (e *env) keepDays(payload, events int64) {
	e.Helper()
	_, err := e.s.ChangeRetention(e.ctx, e.project, func(r *project.Retention) error {
		*r = project.Retention{PayloadDays: &payload, EventDays: &events}
		return nil
	})
	e.ok(err)
}

// busyEvents is what writers know of the busy sessions.
type busyEvents struct {
	*env
	seed   uint64
	gate   sync.RWMutex // held by writers, for itself by who changes the database past the store
	passes int

	mu       sync.Mutex
	sessions []*busySession
	gone     []uuid.UUID // events that were deleted, the last of them
	changes  int
}

// busySession is a session of one writer.
type busySession struct {
	name        string            // of which it has its id
	owner       string            // what its events call it, wherever they are
	turns       map[uuid.UUID]int // of each event without the session's own: the writer's turn that changed it last
	events      []uuid.UUID       // without the session's own
	pair        []uuid.UUID       // two that add up to nothing (pairOf)
	rest        []event.Incoming  // what is still to come of it, as one request
	moves       string            // the name of the session that its trace moves to with the rest
	begun, done int               // changes
}

// random returns random events that are the same for one seed and number.
func (b *busyEvents) random(number uint64) *randomEvents {
	return &randomEvents{env: b.env, rand: rand.New(rand.NewPCG(b.seed, 20+number))}
}

// begin begins to write, and to change what is stored of the events otherwise: by another server with the same options where there may be
// one, whose segments this one finds then.
func (b *busyEvents) begin(ctx context.Context, work *sync.WaitGroup, o store.Options) {
	b.Helper()
	other := b.s
	if b.place.Shared() {
		other = b.place.Open(b.T, o)
	}
	r := b.random(4).rand
	work.Go(func() {
		b.untilDone(ctx, func(ctx context.Context) error { return b.build(ctx, other, r) })
	})
	work.Go(func() { b.untilDone(ctx, other.Pack) })
	for i := range busyWriters {
		w := &busyWriter{randomEvents: b.random(uint64(5 + i)), all: b}
		work.Go(func() { b.untilDone(ctx, w.step) })
	}
}

// untilDone takes a step after the other until ctx ends or one fails.
func (b *busyEvents) untilDone(ctx context.Context, step func(context.Context) error) {
	for ctx.Err() == nil && !b.Failed() {
		if err := step(ctx); err != nil {
			if ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
				b.Error(err)
			}
			return
		}
		time.Sleep(busyRest)
	}
}

// change changes a session. From before it begins until its answer is noted, nothing is certain of the session.
func (b *busyEvents) change(s *busySession, f func() error, note func()) error {
	b.mu.Lock()
	s.begun++
	b.mu.Unlock()
	b.gate.RLock()
	err := f()
	b.gate.RUnlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changes++
	if err != nil {
		return fmt.Errorf("session %+v: %w", s, err)
	}
	s.done++
	note()
	return nil
}

// gonePart is how many of the events that were deleted are remembered.
const gonePart = 500

// forget notes that events are gone.
func (b *busyEvents) forget(events ...uuid.UUID) {
	b.gone = append(b.gone, events...)
	b.gone = b.gone[max(0, len(b.gone)-gonePart):]
}

// build seals, removes what has expired, and has the index built anew, as it comes.
func (b *busyEvents) build(ctx context.Context, s *store.Store, r *rand.Rand) error {
	b.passes++
	switch r.IntN(8) {
	case 0:
		return s.RebuildIndex(ctx, b.project)
	case 1:
		return s.Retain(ctx)
	}
	return s.Seal(ctx)
}

// damage damages what is stored of the newest segment. What is in memory of it stays as it is.
func (b *busyEvents) damage(r *rand.Rand) {
	b.Helper()
	b.gate.Lock() // the writers would hardly let it through
	defer b.gate.Unlock()
	const newest = ` = (SELECT max(id) FROM segment WHERE header IS NOT NULL)`
	b.place.Exec(b.T, []string{
		`UPDATE segment_column SET data = ` + b.place.Bytes("0102030405060708") + ` WHERE segment_id` + newest,
		`UPDATE segment_column SET data = ` + b.place.Bytes("0102030405060708") + ` WHERE number > 100000 AND segment_id` + newest,
		`DELETE FROM segment_column WHERE segment_id` + newest,
		`UPDATE segment SET header = ` + b.place.Bytes("01") + ` WHERE id` + newest,
	}[r.IntN(4)])
}

// busyWriter stores, changes and deletes sessions of its own.
type busyWriter struct {
	*randomEvents
	all  *busyEvents
	own  []*busySession
	turn int
}

// step changes a session at random. It is not broken off, so that nothing is left that may have happened or not.
func (w *busyWriter) step(context.Context) error {
	w.turn++
	kind := w.rand.IntN(12)
	if len(w.own) == 0 || (kind < 3 && len(w.own) < busySessions) {
		return w.begin()
	}
	s := pick(w.randomEvents, w.own...)
	switch {
	case kind == 3:
		return w.putExpired()
	case kind < 6 && s.rest != nil:
		return w.end(s)
	case kind < 6:
		return w.more(s)
	case kind == 6 && len(s.events) > 1:
		return w.deleteEvent(s)
	case kind == 7 && len(w.own) > busySessions/2:
		return w.deleteSession(s)
	}
	return w.update(s)
}

// put stores events of a session as one request, and then calls note.
func (w *busyWriter) put(s *busySession, list []event.Incoming, note func()) error {
	for i := range list {
		if x := &list[i]; !x.IsSession() {
			x.Metadata = rawjson.Merge(x.Metadata, text(`{"owner":%q,"turn":%d}`, s.owner, w.turn))
		}
	}
	return w.all.change(s, func() error { return w.s.Put(w.ctx, w.project, event.Batch{Events: list}) }, func() {
		for i := range list {
			if !list[i].IsSession() {
				s.turns[list[i].ID] = w.turn
			}
		}
		note()
	})
}

// some returns events of a session.
func (w *busyWriter) some(session string) (list []event.Incoming) {
	for range 1 + w.rand.IntN(5) {
		list = append(list, w.incoming(session))
	}
	return list
}

// begin stores a session: one with a pair of which the rest is to come, one of a trace whose root is to come, or a plain one.
func (w *busyWriter) begin() error {
	w.from = pick[float64](w.randomEvents, busyBefore, busyAfter) * day
	name := fmt.Sprint("busy", w.rand.Uint64())
	s, list := &busySession{name: name, owner: name, turns: map[uuid.UUID]int{}}, w.some(name)
	if w.rand.IntN(2) == 0 {
		list = append(list, w.sessionStart(name))
	}
	for i := range list {
		if !list[i].IsSession() {
			s.events = append(s.events, list[i].ID)
		}
	}
	switch w.rand.IntN(3) {
	case 0:
		at, balance := w.randomStart(), 1+w.rand.IntN(1000)
		open := pairOf(name, at, "open", balance)
		list, s.rest = append(list, open...), pairOf(name, at, "done", balance+w.rand.IntN(1000))
		s.pair = []uuid.UUID{open[0].ID, open[1].ID}
	case 1:
		list = w.some(name)
		s.events = nil
		for i := range list {
			list[i] = traced(name, "", list[i])
			s.events = append(s.events, list[i].ID)
		}
		to := name + " root"
		s.rest, s.moves = []event.Incoming{traced(name, to, step(to, to+" event", w.randomStart()))}, to
	}
	return w.put(s, list, func() {
		w.own = append(w.own, s)
		w.all.sessions = append(w.all.sessions, s)
	})
}

// pairOf returns two events that cancel each other out. They are stored, completed and deleted as one, so that in no snapshot there is one without the
// other.
func pairOf(session string, at float64, state string, balance int) (list []event.Incoming) {
	for _, side := range []string{"left", "right"} {
		x := step(session, session+" "+side, at)
		x.Name, x.Metadata = "pair", text(`{"side":%q,"state":%q,"balance":%d}`, side, state, balance)
		if state == "open" {
			x.Unfinished, x.End, x.Duration = true, x.Start, 0
		}
		list, balance = append(list, x), -balance
	}
	return list
}

// putExpired stores a session that is to be removed soon, or its payload. Nobody knows when.
func (w *busyWriter) putExpired() error {
	w.from = pick[float64](w.randomEvents, busyPayload, busyOld) * day
	w.all.gate.RLock()
	defer w.all.gate.RUnlock()
	return w.s.Put(w.ctx, w.project, event.Batch{Events: w.some(fmt.Sprint("expired", w.rand.Uint64()))})
}

// end stores what is still to come of a session: the pair becomes another at once, or the trace moves.
func (w *busyWriter) end(s *busySession) error {
	return w.put(s, s.rest, func() {
		if s.moves != "" {
			s.name, s.moves = s.moves, ""
			s.events = append(s.events, s.rest[0].ID)
		}
		s.rest = nil
	})
}

// more stores further events of a session.
func (w *busyWriter) more(s *busySession) error {
	w.from = pick[float64](w.randomEvents, busyBefore, busyAfter) * day
	list := w.some(s.name)
	return w.put(s, list, func() {
		for i := range list {
			s.events = append(s.events, list[i].ID)
		}
	})
}

// update changes an event of a session. What a pair adds up to stays.
func (w *busyWriter) update(s *busySession) error {
	u := event.Update{Feedback: text(`{"rating":%d}`, w.rand.IntN(6))}
	if len(s.pair) > 0 && w.rand.IntN(2) == 0 {
		u.EventID = pick(w.randomEvents, s.pair...)
	} else {
		u = w.updateOf(pick(w.randomEvents, s.events...))
	}
	u.Metadata = rawjson.Merge(u.Metadata, text(`{"turn":%d}`, w.turn))
	return w.all.change(s, func() error {
		waits, err := w.s.Update(w.ctx, w.project, u)
		if err == nil && waits {
			err = fmt.Errorf("update of %s waits, want it applied", u.EventID)
		}
		return err
	}, func() { s.turns[u.EventID] = w.turn })
}

func (w *busyWriter) deleteEvent(s *busySession) error {
	at := w.rand.IntN(len(s.events))
	return w.all.change(s, func() error { return w.s.DeleteEvent(w.ctx, w.project, s.events[at]) }, func() {
		w.all.forget(s.events[at])
		delete(s.turns, s.events[at])
		s.events = slices.Delete(s.events, at, at+1)
	})
}

func (w *busyWriter) deleteSession(s *busySession) error {
	return w.all.change(s, func() error { return w.s.DeleteSession(w.ctx, w.project, id(s.name)) }, func() {
		same := func(x *busySession) bool { return x == s }
		w.own, w.all.sessions = slices.DeleteFunc(w.own, same), slices.DeleteFunc(w.all.sessions, same)
		w.all.forget(id(s.name))
		w.all.forget(s.events...)
		w.all.forget(s.pair...)
	})
}

// certainEvent is an event that was there at a moment when nobody changed its session.
type certainEvent struct {
	session *busySession
	version int
	id      uuid.UUID
}

// certain returns some events of sessions that nobody changes now, and those that are gone by now.
func (b *busyEvents) certain(r *rand.Rand, n int) (list []certainEvent, gone []uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, i := range r.Perm(len(b.sessions)) {
		s := b.sessions[i]
		if s.begun != s.done || len(list) >= n {
			continue
		}
		for _, x := range slices.Concat(s.events, s.pair) {
			list = append(list, certainEvent{s, s.done, x})
		}
	}
	return list, slices.Clone(b.gone)
}

// isUnchanged reports whether nobody has begun to change a session since a version of it.
func (b *busyEvents) isUnchanged(s *busySession, version int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return s.begun == version
}

// watch begins to ask about all sessions, busy ones among them.
func (b *busyEvents) watch(ctx context.Context, work *sync.WaitGroup, r *randomEvents) {
	work.Go(func() {
		b.untilDone(ctx, func(context.Context) error {
			if err := b.watchSearch(r); err != nil {
				return err
			}
			return b.watchPairs(r)
		})
	})
	work.Go(func() { b.untilDone(ctx, func(context.Context) error { return b.watchTurns() }) })
}

// watchSearch searches for all events that match random filters, and holds the answer to what is certain: no event twice, in the order that was
// asked for; none that was deleted before; and of those that nobody changes meanwhile, the ones that match, as they are read by their id.
func (b *busyEvents) watchSearch(r *randomEvents) error {
	q := query.Search{Filters: r.filters(), Limit: 100_000, Page: 1, Sort: pick(r, query.EventSorts()...), Ascending: r.rand.IntN(2) == 0}
	certain, gone := b.certain(r.rand, 30)
	set, err := b.s.Search(b.ctx, b.project, q)
	if err != nil {
		return fmt.Errorf("%s: %w", describe(&q), err)
	}
	r.compared++
	found := map[uuid.UUID]bool{}
	for i := range set.Events {
		x := &set.Events[i]
		if found[x.ID] {
			return fmt.Errorf("%s: event %s twice", describe(&q), x.ID)
		}
		found[x.ID] = true
	}
	if err := inOrder(set.Events, &q); err != nil {
		return err
	}
	for _, x := range gone {
		if found[x] {
			return fmt.Errorf("%s: event %s was deleted before", describe(&q), x)
		}
	}
	for _, x := range certain {
		if !b.isUnchanged(x.session, x.version) {
			continue
		}
		now, err := b.s.Event(b.ctx, b.project, x.id)
		if !b.isUnchanged(x.session, x.version) {
			continue // it may be gone by now
		}
		if err != nil {
			return fmt.Errorf("event %s that nobody changed: %w", x.id, err)
		}
		now.Metadata, now.ColdMetadata = rawjson.Concat(now.Metadata, now.ColdMetadata), nil
		if want := query.Match(&now, q.Filters); want != found[x.id] {
			return fmt.Errorf("%s: found %v, want %v: %+v", describe(&q), found[x.id], want, shapeOf(now))
		}
	}
	return nil
}

// inOrder checks an order by start, of events that keep theirs: the event of an implicit session may begin earlier by now.
func inOrder(list []event.Event, q *query.Search) error {
	if q.Sort.Column() != "e.start_ms" {
		return nil
	}
	list = slices.DeleteFunc(slices.Clone(list), func(x event.Event) bool { return x.IsSession() })
	if !slices.IsSortedFunc(list, func(a, b event.Event) int {
		if q.Ascending {
			return cmp.Compare(a.Start, b.Start)
		}
		return cmp.Compare(b.Start, a.Start)
	}) {
		return fmt.Errorf("%s: not in order", describe(q))
	}
	return nil
}

// certainTurns is what is certain of a session that nobody changes: how many events it has, and what their turns add up to.
type certainTurns struct {
	session *busySession
	version int
	count   int64
	sum     float64
}

func (b *busyEvents) certainTurns() (list []certainTurns) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.sessions {
		if s.begun != s.done {
			continue
		}
		x := certainTurns{session: s, version: s.done, count: int64(len(s.turns))}
		for _, n := range s.turns {
			x.sum += float64(n)
		}
		list = append(list, x)
	}
	return list
}

// watchTurns adds up the turns of all busy events by session: of a session that nobody changes meanwhile the answer has each event
// as it was changed last.
func (b *busyEvents) watchTurns() error {
	turn, err := query.NewFieldReader("metadata.turn")
	if err != nil {
		return err
	}
	owner, err := query.NewFieldReader("metadata.owner")
	if err != nil {
		return err
	}
	certain := b.certainTurns()
	answer, err := b.s.Chart(b.ctx, b.project, &query.Chart{Metric: turn, Group: &owner, Bucket: query.Month, Zone: time.UTC, Aggregation: query.Sum})
	if err != nil {
		return err
	}
	count, sum := map[string]int64{}, map[string]float64{}
	for _, p := range answer.Points {
		if p.Group != nil && p.Value != nil {
			count[*p.Group] += p.Count
			sum[*p.Group] += *p.Value
		}
	}
	for _, x := range certain {
		name := x.session.owner
		if b.isUnchanged(x.session, x.version) && (count[name] != x.count || sum[name] != x.sum) {
			return fmt.Errorf("session %s: %d events with turns of %v, want %d with %v", name, count[name], sum[name], x.count, x.sum)
		}
	}
	return nil
}

// watchPairs holds what is one answer to one moment: of each pair both events are in it, as they are then, or neither.
func (b *busyEvents) watchPairs(r *randomEvents) error {
	r.compared++
	filters := pick(r, nil,
		[]query.Filter{b.filter("event_name", "is", "string", `"pair"`)},
		[]query.Filter{b.filter("metadata.state", "is", "string", `"open"`)},
		[]query.Filter{b.filter("metadata.state", "is not", "string", `"open"`)},
		[]query.Filter{b.filter("metadata.state", "is", "string", `"done"`)})
	switch r.rand.IntN(3) {
	case 0:
		return b.watchBalance(r, filters)
	case 1:
		return b.watchSides(filters)
	}
	q := query.Search{Filters: append(filters, b.filter("metadata.balance", "exists", "", "")), Limit: 1, Page: 1}
	set, err := b.s.Search(b.ctx, b.project, q)
	if err == nil && set.Total%2 != 0 {
		err = fmt.Errorf("%s: %d, want pairs", describe(&q), set.Total)
	}
	return err
}

// watchBalance adds up what pairs hold.
func (b *busyEvents) watchBalance(r *randomEvents, filters []query.Filter) error {
	balance, err := query.NewFieldReader("metadata.balance")
	if err != nil {
		return err
	}
	c := &query.Chart{Metric: balance, Bucket: query.Day, Zone: time.UTC, Search: query.Search{Filters: filters}, Aggregation: query.Sum}
	if r.rand.IntN(2) == 0 {
		state, err := query.NewFieldReader("metadata.state")
		if err != nil {
			return err
		}
		c.Group = &state
	}
	answer, err := b.s.Chart(b.ctx, b.project, c)
	if err != nil {
		return err
	}
	for _, p := range answer.Points {
		if p.Value != nil && *p.Value != 0 {
			return fmt.Errorf("pairs of %v add up to %v: %s", p.Start, *p.Value, describe(&c.Search))
		}
	}
	return nil
}

// watchSides counts the events of each side of the pairs.
func (b *busyEvents) watchSides(filters []query.Filter) error {
	q := b.values("metadata.side", "", 10, filters...)
	answer, err := b.s.Values(b.ctx, b.project, q)
	if err != nil {
		return err
	}
	if v := answer.Values; len(v) == 1 || len(v) > 2 || (len(v) == 2 && v[0].Count != v[1].Count) {
		return fmt.Errorf("sides %+v, want pairs: %s", v, describe(&q.Search))
	}
	return nil
}
