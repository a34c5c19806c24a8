// Package live tells subscribers which sessions have changed.
//
// A Hub belongs to one open store. Transactions collect the sessions that they change (Changes) while anybody listens, and
// publish them after the commit. Where several servers share a database, a relay carries them to the hubs of the others.
//
// Nothing here waits for a subscriber, and each of them takes the same memory whatever happens: what it has not taken yet is
// one change. When changes may have been missed, subscribers are told to read everything again (event.Change.Reset).
package live

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
)

// Bounds of the subscribers of one server.
const (
	MaxWatches        = 512
	MaxProjectWatches = 64
)

// Hub delivers changes to subscribers. It is safe for concurrent use.
type Hub struct {
	now   func() time.Time
	local atomic.Int64 // subscribers
	relay *Relay       // nil: no other server writes to the database

	mu       sync.Mutex
	projects map[int64]*topic
	closed   bool
}

// topic is the subscribers of one project, by the session that they watch; the zero id stands for all sessions.
type topic struct {
	watches map[uuid.UUID]map[*Watch]bool
	n       int
}

// NewHub returns a hub without subscribers.
func NewHub(now func() time.Time) *Hub {
	return &Hub{now: now, projects: map[int64]*topic{}}
}

// Listening reports whether anybody may want to know of changes, here or on another server.
func (h *Hub) Listening() bool { return h.local.Load() > 0 || h.relay.wanted() }

// Collect returns what a transaction that begins records its changes in, nil while nobody listens.
func (h *Hub) Collect() *Changes {
	if !h.Listening() {
		return nil
	}
	return &Changes{}
}

// Publish delivers what a transaction has changed, after its commit. Nil changes are those of a transaction that began while
// nobody listened: if somebody does now, what it changed is not known.
func (h *Hub) Publish(c *Changes) {
	switch {
	case !h.Listening():
	case c == nil:
		h.Reset()
		h.relay.reset()
	case c.n > 0:
		at := h.now().UnixMilli()
		h.deliver(c, at)
		h.relay.add(c, at)
	}
}

// deliver tells the subscribers of this server.
func (h *Hub) deliver(c *Changes, at int64) {
	if h.local.Load() == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for project, sessions := range c.projects {
		t := h.projects[project]
		if t == nil {
			continue
		}
		all := event.Change{Touched: at}
		for session, kind := range sessions {
			all.Kind = stronger(all.Kind, kind)
			all.SessionID = session // of the only one
			if session == uuid.Nil {
				continue
			}
			for w := range t.watches[session] {
				w.add(event.Change{SessionID: session, Touched: at, Kind: kind})
			}
		}
		if len(sessions) > 1 {
			all.SessionID = uuid.Nil
		}
		for w := range t.watches[uuid.Nil] {
			w.add(all)
		}
		if kind, any := sessions[uuid.Nil]; any {
			for session, watches := range t.watches {
				for w := range watches {
					w.add(event.Change{SessionID: session, Touched: at, Kind: kind})
				}
			}
		}
	}
}

// Reset tells all subscribers of this server that they may have missed changes.
func (h *Hub) Reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.projects {
		for _, watches := range t.watches {
			for w := range watches {
				w.add(event.Change{Reset: true})
			}
		}
	}
}

// Close ends all subscriptions.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, t := range h.projects {
		for _, watches := range t.watches {
			for w := range watches {
				w.wake()
			}
		}
	}
}

// Watch is one subscriber.
type Watch struct {
	h       *Hub
	project int64
	changed chan struct{} // holds one

	// Under h.mu.
	session uuid.UUID // zero: all sessions
	waiting bool      // there is something to take
	change  event.Change
	gone    bool
}

// Watch subscribes to the changes of a session, or of all sessions of a project if session is zero. From when it returns, no
// commit that ends is missed.
func (h *Hub) Watch(project int64, session uuid.UUID) (*Watch, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.projects[project]
	switch {
	case h.closed:
		return nil, errClosed
	case h.local.Load() >= MaxWatches:
		return nil, &fault.Error{Kind: fault.Unavailable, Msg: "too many live streams are open on this server", RetryAfter: retryFull}
	case t != nil && t.n >= MaxProjectWatches:
		return nil, &fault.Error{Kind: fault.Limited, RetryAfter: retryFull,
			Msg: "the project has too many live streams open on this server: at most 64"}
	case t == nil:
		t = &topic{watches: map[uuid.UUID]map[*Watch]bool{}}
		h.projects[project] = t
	}
	w := &Watch{h: h, project: project, session: session, changed: make(chan struct{}, 1)}
	t.add(w)
	t.n++
	if h.local.Add(1) == 1 {
		h.relay.listening()
	}
	return w, nil
}

// retryFull is when a subscriber that found no room should try again.
const retryFull = 30 * time.Second

var errClosed = &fault.Error{Kind: fault.Unavailable, Msg: "the store is shutting down"}

func (t *topic) add(w *Watch) {
	watches := t.watches[w.session]
	if watches == nil {
		watches = map[*Watch]bool{}
		t.watches[w.session] = watches
	}
	watches[w] = true
}

func (t *topic) remove(w *Watch) {
	delete(t.watches[w.session], w)
	if len(t.watches[w.session]) == 0 {
		delete(t.watches, w.session)
	}
}

// add adds a change to what w has to take. h.mu is held.
func (w *Watch) add(c event.Change) {
	switch {
	case !w.waiting:
		w.change = c
	case w.change.Reset || c.Reset:
		w.change = event.Change{Reset: true}
	default:
		if w.change.SessionID != c.SessionID {
			w.change.SessionID = uuid.Nil
		}
		w.change.Kind = stronger(w.change.Kind, c.Kind)
		w.change.Touched = max(w.change.Touched, c.Touched)
	}
	w.waiting = true
	w.wake()
}

func (w *Watch) wake() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// Changed returns a channel that is sent to when there is something to take.
func (w *Watch) Changed() <-chan struct{} { return w.changed }

// Take returns what has changed since it was called last; ok is false if nothing has.
func (w *Watch) Take() (c event.Change, ok bool, err error) {
	w.h.mu.Lock()
	defer w.h.mu.Unlock()
	if w.h.closed || w.gone {
		return c, false, errClosed
	}
	c, ok = w.change, w.waiting
	w.change, w.waiting = event.Change{}, false
	return c, ok, nil
}

// Session returns the session that is watched; zero for all.
func (w *Watch) Session() uuid.UUID {
	w.h.mu.Lock()
	defer w.h.mu.Unlock()
	return w.session
}

// Follow makes w watch another session.
func (w *Watch) Follow(session uuid.UUID) {
	w.h.mu.Lock()
	defer w.h.mu.Unlock()
	if w.gone {
		return
	}
	t := w.h.projects[w.project]
	t.remove(w)
	w.session = session
	t.add(w)
}

// Close ends the subscription. It may be called again.
func (w *Watch) Close() {
	w.h.mu.Lock()
	defer w.h.mu.Unlock()
	if w.gone {
		return
	}
	w.gone = true
	t := w.h.projects[w.project]
	t.remove(w)
	if t.n--; t.n == 0 {
		delete(w.h.projects, w.project)
	}
	w.h.local.Add(-1)
}
