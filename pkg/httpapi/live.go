package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Live tells of sessions that change.
type Live interface {
	// Watch subscribes to the changes of a session, or of all sessions of a project if session is zero. The session need not be
	// there yet; one that has moved is followed. No commit that ends after Watch has returned is missed without a Change that
	// says so (Reset). fault.Limited if the project has too many subscriptions.
	Watch(ctx context.Context, projectID int64, session uuid.UUID) (event.Watch, error)
}

var liveOperations = []apiOperation{
	{"watchSessions", http.MethodGet, []string{"/live"}, project.ScopeRead, (*Server).watchSessions},
}

const (
	// liveGap is the least time between two messages to one caller.
	liveGap = 250 * time.Millisecond
	// livePing is the longest time between two writes to a stream: proxies see that it is in use, and the server notices
	// callers that are gone. The caller's key is checked again then.
	livePing = 15 * time.Second
	// liveRefusals is how often it is looked whether requests were refused.
	liveRefusals = time.Second
	// liveWrite is how long a caller may take to take a message.
	liveWrite = 10 * time.Second
)

// allSessions is what the parameter session is for all sessions of the project.
const allSessions = "*"

// watchSessions sends a message whenever a session of the caller's project changes, until the caller leaves, its key is no longer
// good, or the server stops.
func (s *Server) watchSessions(c *call) error {
	session, err := c.watched()
	if err != nil {
		return err
	}
	refused, err := s.refusalsOf(c, session)
	if err != nil {
		return err
	}
	w, err := s.Store.Watch(c.ctx(), c.project.ID, session)
	if err != nil {
		return err
	}
	defer w.Close()
	out, err := c.beginLive()
	if err != nil || c.r.Method == http.MethodHead {
		return nil // nobody is there to be told
	}
	ping, look := time.NewTicker(livePing), time.NewTicker(liveRefusals)
	defer ping.Stop()
	defer look.Stop()
	for {
		change, ok := event.Change{}, false
		select {
		case <-c.ctx().Done():
			return nil
		case <-s.ended:
			return nil
		case <-ping.C:
			if !s.stillAllowed(c, project.ScopeRead) || out.send(": ping\n\n") != nil {
				return nil
			}
			continue
		case <-look.C:
			if ok = refused(); ok {
				change = event.Change{Touched: s.Now().UnixMilli(), Kind: event.ChangeRefusal}
			}
		case <-w.Changed():
			if change, ok, err = w.Take(c.ctx()); err != nil {
				return nil // a caller that connects again is told why
			}
		}
		if !ok {
			continue
		}
		if out.send(wire.LiveMessage(change)) != nil {
			return nil
		}
		select {
		case <-c.ctx().Done():
			return nil
		case <-s.ended:
			return nil
		case <-time.After(liveGap):
		}
	}
}

// refusalsOf returns a function that reports whether requests that the caller may see were refused since it was called last. They
// are told of to those who watch all sessions.
func (s *Server) refusalsOf(c *call, session uuid.UUID) (func() bool, error) {
	if session != uuid.Nil {
		return func() bool { return false }, nil
	}
	unknown, err := s.seesUnknown(c)
	last := s.Refusals.Added(c.project.PublicID, unknown)
	return func() bool {
		before := last
		last = s.Refusals.Added(c.project.PublicID, unknown)
		return last != before
	}, err
}

// watched reads which session is asked for; the zero id stands for all.
func (c *call) watched() (uuid.UUID, error) {
	var params struct {
		Session string `query:"session"`
	}
	if err := c.query(&params); err != nil {
		return uuid.Nil, err
	}
	switch params.Session {
	case "":
		return uuid.Nil, fault.InvalidField("session", `is required: the id of a session, or %q for all`, allSessions)
	case allSessions:
		return uuid.Nil, nil
	}
	id, err := wire.ParseID(params.Session)
	if err != nil {
		return uuid.Nil, fault.In("session", err)
	}
	return id, nil
}

// stillAllowed reports whether the caller could begin the stream now. A store that cannot tell is no reason to end it.
func (s *Server) stillAllowed(c *call, scope project.Scope) bool {
	if s.Recheck == nil {
		return true
	}
	ctx, err := s.Recheck(c.r)
	if err != nil {
		kind := fault.Of(err)
		return kind != fault.Unauthorized && kind != fault.Forbidden
	}
	p, _, err := s.admit(ctx, scope)
	return err != nil && fault.Of(err) != fault.Forbidden || p.ID == c.project.ID
}

// liveStream writes server-sent events.
type liveStream struct {
	w  http.ResponseWriter
	to *http.ResponseController
}

// beginLive begins an answer that goes on for as long as the caller stays.
func (c *call) beginLive() (*liveStream, error) {
	out := c.unhurried()
	out.begin(c)
	return out, out.send("retry: 2000\n\n")
}

// unhurried returns a stream that has not begun, for which the time limits of requests do not hold; each message has one of
// its own.
func (c *call) unhurried() *liveStream {
	out := &liveStream{w: c.w, to: http.NewResponseController(c.w)}
	_ = out.to.SetReadDeadline(time.Time{}) // not all writers can; then there is none
	_ = out.to.SetWriteDeadline(time.Time{})
	return out
}

// begin sets the headers of a stream.
func (l *liveStream) begin(c *call) {
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies must not wait for more
	if c.r.ProtoMajor == 1 {
		h.Set("Connection", "close") // another request on it would have this one's limits of time
	}
}

// send writes a text and has it leave at once.
func (l *liveStream) send(text string) error {
	_ = l.to.SetWriteDeadline(time.Now().Add(liveWrite))
	if _, err := l.w.Write([]byte(text)); err != nil {
		return err
	}
	return l.to.Flush()
}

// EndStreams ends the answers that go on until the caller leaves; new ones end at once. It may be called again.
func (s *Server) EndStreams() { s.endOnce.Do(func() { close(s.ended) }) }
