package storetest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

var modelTests = []test{
	{"Model/random writes end as the rules say", randomWrites},
}

// storeModel is what a store should hold, kept in memory by the rules of package event.
type storeModel struct {
	events   map[uuid.UUID]*event.Incoming // below their sessions
	sessions map[uuid.UUID]bool            // true: started by its sender
	waiting  map[uuid.UUID][]event.Update
}

func (m *storeModel) put(list []event.Incoming) {
	for _, x := range list {
		old := m.events[x.ID]
		switch {
		case x.IsSession():
			m.sessions[x.ID] = true
		case old != nil:
			old.Repeat(&x)
		default:
			m.events[x.ID] = &x
			if !m.sessions[x.SessionID] {
				m.sessions[x.SessionID] = false
			}
			for _, u := range m.waiting[x.ID] {
				x.Apply(&u)
			}
			delete(m.waiting, x.ID)
		}
	}
}

func (m *storeModel) update(u event.Update) (pending bool) {
	if x := m.events[u.EventID]; x != nil {
		x.Apply(&u)
		return false
	}
	m.waiting[u.EventID] = append(m.waiting[u.EventID], u)
	return true
}

// deleteEvent deletes an event or, where it is not there, the updates that wait for it. An implicit
// session ends with its last event.
func (m *storeModel) deleteEvent(x uuid.UUID) {
	e := m.events[x]
	if e == nil {
		delete(m.waiting, x)
		return
	}
	delete(m.events, x)
	if !m.sessions[e.SessionID] && len(m.of(e.SessionID)) == 0 {
		delete(m.sessions, e.SessionID)
	}
}

func (m *storeModel) deleteSession(s uuid.UUID) {
	delete(m.sessions, s)
	for k, x := range m.events {
		if x.SessionID == s {
			delete(m.events, k)
		}
	}
}

// of lists the events below a session.
func (m *storeModel) of(s uuid.UUID) (list []event.Incoming) {
	for _, x := range m.events {
		if x.SessionID == s {
			list = append(list, *x)
		}
	}
	slices.SortFunc(list, func(a, b event.Incoming) int {
		if a.Start != b.Start {
			return int(a.Start - b.Start)
		}
		return slices.Compare(a.ID[:], b.ID[:])
	})
	return list
}

// rollup counts a session's totals from its events.
func (m *storeModel) rollup(s uuid.UUID) string {
	var n, models, feedback, costs int
	var prompt, completion, cost float64
	for _, x := range m.of(s) {
		n++
		if !rawjson.Empty(x.Feedback) {
			feedback++
		}
		if x.Type != event.TypeModel {
			continue
		}
		models++
		number := func(key string) float64 { f, _ := rawjson.Number(rawjson.Get(x.Metadata, key)); return f }
		prompt += number("prompt_tokens")
		completion += number("completion_tokens")
		if c, ok := rawjson.Number(rawjson.Get(x.Metadata, "cost")); ok {
			cost += c
			costs++
		}
	}
	var b rawjson.Builder
	b.Int("num_events", int64(n))
	b.Int("num_model_events", int64(models))
	b.Bool("has_feedback", feedback > 0)
	if costs > 0 {
		b.Number("cost", cost)
	}
	b.Number("total_tokens", prompt+completion)
	b.Number("prompt_tokens", prompt)
	b.Number("completion_tokens", completion)
	return string(b.Bytes())
}

// object draws a small JSON object; now and then a member is too large for the head.
func object(t *rapid.T, label string) json.RawMessage {
	var b rawjson.Builder
	for _, k := range []string{"a", "b", "attributes"} {
		switch rapid.IntRange(0, 12).Draw(t, label+" "+k) {
		case 0, 1:
			b.Raw(k, []byte(rapid.SampledFrom([]string{"1", "1.50", `"x"`, "null", "{}", `{"n":9007199254740993}`}).Draw(t, "value")))
		case 2:
			b.String(k, prose(9<<10, uint64(rapid.IntRange(1, 9).Draw(t, "seed"))))
		}
	}
	return b.Bytes()
}

func drawEvent(t *rapid.T) event.Incoming {
	session := fmt.Sprint("session ", rapid.IntRange(0, 3).Draw(t, "session"))
	if rapid.IntRange(0, 9).Draw(t, "kind") == 0 {
		x := start(session, "started", float64(rapid.IntRange(-9, 9).Draw(t, "start")), float64(rapid.IntRange(0, 2).Draw(t, "duration")))
		return x
	}
	n := rapid.IntRange(0, 11).Draw(t, "event")
	x := step(
		session,
		fmt.Sprint("event ", n),
		float64(rapid.IntRange(-2, 2).Draw(t, "day"))*86400+float64(rapid.IntRange(0, 9).Draw(t, "second")),
	)
	if n%2 == 0 {
		x.Type = event.TypeModel
		prompt := rapid.IntRange(0, 9).Draw(t, "prompt")
		x.Metadata = text(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"cost":%v}`, prompt, n, prompt+n, float64(n)/4)
	}
	x.Metadata = rawjson.Merge(x.Metadata, object(t, "metadata"))
	x.Inputs, x.Feedback, x.Metrics = object(t, "inputs"), object(t, "feedback"), object(t, "metrics")
	if rapid.Bool().Draw(t, "outputs") {
		x.Outputs = raw(rapid.SampledFrom([]string{`"text"`, `3.10`, `[1]`, `{"o":1}`, `""`}).Draw(t, "output"))
	}
	if rapid.IntRange(0, 4).Draw(t, "unfinished") == 0 {
		x.Unfinished, x.End, x.Duration = true, x.Start, 0
	}
	return x
}

func randomWrites(e *env) {
	runs := 0
	rapid.Check(e.T, func(t *rapid.T) {
		runs++
		p, err := e.s.EnsureProject(e.ctx, fmt.Sprint("run ", runs))
		e.ok(err)
		m := &storeModel{events: map[uuid.UUID]*event.Incoming{}, sessions: map[uuid.UUID]bool{}, waiting: map[uuid.UUID][]event.Update{}}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "action") {
			case 0:
				u := event.Update{EventID: id(fmt.Sprint("event ", rapid.IntRange(0, 11).Draw(t, "event"))), Metadata: object(t, "metadata"),
					Feedback: object(t, "feedback"), Inputs: object(t, "inputs")}
				if rapid.Bool().Draw(t, "end") {
					u.EndTime = pointer(noon + 1000*float64(rapid.IntRange(-300000, 300000).Draw(t, "end time")))
					u.Outputs = text(`"updated"`)
				}
				want := m.update(u)
				if pending, err := e.s.Update(e.ctx, p.ID, u); err != nil || pending != want {
					t.Fatalf("update: pending %v, %v, want %v", pending, err, want)
				}
			case 1:
				x := id(fmt.Sprint("event ", rapid.IntRange(0, 11).Draw(t, "event")))
				err := e.s.DeleteEvent(e.ctx, p.ID, x)
				if known := m.events[x] != nil || len(m.waiting[x]) > 0; known && err != nil || !known && fault.Of(err) != fault.NotFound {
					t.Fatalf("delete event, known %v: %v", known, err)
				}
				m.deleteEvent(x)
			case 2:
				s := id(fmt.Sprint("session ", rapid.IntRange(0, 3).Draw(t, "session")))
				err := e.s.DeleteSession(e.ctx, p.ID, s)
				if _, known := m.sessions[s]; known && err != nil || !known && fault.Of(err) != fault.NotFound {
					t.Fatalf("delete session, known %v: %v", known, err)
				}
				m.deleteSession(s)
			default:
				var list []event.Incoming
				for range rapid.IntRange(1, 4).Draw(t, "events") {
					x := drawEvent(t)
					if !slices.ContainsFunc(list, func(y event.Incoming) bool { return y.ID == x.ID }) {
						list = append(list, x)
					}
				}
				if err := e.s.Put(e.ctx, p.ID, event.Batch{Events: list}); err != nil {
					t.Fatal(err)
				}
				m.put(list)
			}
		}
		sub := *e
		sub.project = p.ID
		sub.check(t, m)
	})
}

// check compares the store with the model.
func (e *env) check(t *rapid.T, m *storeModel) {
	total := 0
	for s, started := range m.sessions {
		set, err := e.s.Session(e.ctx, e.project, s)
		if err != nil {
			t.Fatalf("session: %v", err)
		}
		want, at := m.of(s), 0
		first, last := math.Inf(1), math.Inf(-1)
		for i := range set.Events {
			got, err := set.Load(e.ctx, i)
			if err != nil {
				t.Fatalf("load: %v", err)
			}
			total++
			if got.IsSession() {
				if r := string(got.Metadata); !started && r != m.rollup(s) {
					t.Fatalf("totals:\n got %s\nwant %s", r, m.rollup(s))
				}
				for _, x := range want {
					first, last = min(first, x.Start), max(last, x.End)
				}
				if len(want) > 0 && !started && (got.Start != first || got.End != last) {
					t.Fatalf("made session from %v to %v, its events from %v to %v", got.Start, got.End, first, last)
				}
				continue
			}
			if at >= len(want) || shapeOf(want[at].Event) != shapeOf(got) {
				t.Fatalf("event %d of the session:\n got %+v\nwant %+v", at, shapeOf(got), shapes(eventsOf(want[at:min(at+1, len(want))])))
			}
			at++
		}
		if at != len(want) {
			t.Fatalf("%d events in the session, want %d", at, len(want))
		}
	}
	if n := e.place.Count(e.T, fmt.Sprintf(`SELECT count(*) FROM event WHERE project_id = %d`, e.project)); n != total {
		t.Fatalf("%d rows, %d events in sessions", n, total)
	}
}
