package live

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/event"
)

// Relay carries changes between servers that share a database, as notifications of PostgreSQL.
//
// Notifications are sent after the commit, by another connection than the writers', at most ten times a second, and only while a
// server with subscribers has said so lately. A notification within the writer's transaction would have all writers commit one
// after the other: PostgreSQL holds one lock for the whole server from before such a commit until it is on disk. Measured with four
// writers and a disk that takes 5 ms to sync: 600 commits a second without it, 170 with it.
//
// What this gives away is made up for: when a server begins, and whenever its connection was lost, it tells the others that they
// may have missed changes.
type Relay struct {
	hub    *Hub
	db     Notifier
	log    *zap.Logger
	server string // how its notifications are told from those of others

	kick   chan struct{} // holds one: something is to be sent
	wantTo atomic.Int64  // until when another server wants to know of changes, in Unix nanoseconds

	mu      sync.Mutex
	changes Changes // to be sent
	at      int64   // commit of the latest of them, in Unix milliseconds
	lost    bool    // the others may have missed changes
	hello   bool    // the others are to be told that somebody listens here
	first   bool    // and may not know it yet
}

// Notifier is a database that carries texts between the servers that share it.
type Notifier interface {
	// Notify sends texts of at most 8,000 bytes each to all servers that listen, the sender's own among them.
	Notify(ctx context.Context, payloads []string) error
	// Listen calls heard with each text, in order, until ctx ends or the connection is lost. It calls ready once nothing that is
	// sent from then on is missed.
	Listen(ctx context.Context, ready func(), heard func(payload string)) error
}

const (
	// sendEvery bounds how often changes are sent.
	sendEvery = 100 * time.Millisecond
	// sendTimeout bounds one sending.
	sendTimeout = 5 * time.Second
	// helloEvery is how often a server with subscribers says so, and helloFor how long the others believe it.
	helloEvery = 20 * time.Second
	helloFor   = time.Minute
	// helloTime is how long the others may take to hear of the first subscriber. Changes of that time may be missed.
	helloTime = time.Second
	// reconnectMin and reconnectMax bound the pause before a lost connection is made again; it doubles from one to the other.
	reconnectMin = time.Second
	reconnectMax = 30 * time.Second
	// maxPayload is how many bytes a notification may have; PostgreSQL's bound is 8,000.
	maxPayload = 7900
)

// NewRelay joins a hub to those of the other servers. Run must be called.
func NewRelay(h *Hub, db Notifier, log *zap.Logger) *Relay {
	r := &Relay{hub: h, db: db, log: log, server: uuid.NewString()[:8], kick: make(chan struct{}, 1), lost: true}
	h.relay = r
	return r
}

// wanted reports whether another server has subscribers.
func (r *Relay) wanted() bool { return r != nil && time.Now().UnixNano() < r.wantTo.Load() }

// wantUntil records that another server has subscribers.
func (r *Relay) wantUntil(t time.Time) { r.wantTo.Store(max(r.wantTo.Load(), t.UnixNano())) }

// add records changes for the other servers.
func (r *Relay) add(c *Changes, at int64) {
	if !r.wanted() {
		return
	}
	r.mu.Lock()
	r.changes.merge(c)
	r.at = at
	r.mu.Unlock()
	r.send()
}

// reset records that the other servers may have missed changes.
func (r *Relay) reset() {
	if !r.wanted() {
		return
	}
	r.mu.Lock()
	r.lost = true
	r.mu.Unlock()
	r.send()
}

// listening tells the other servers that this one has its first subscriber.
func (r *Relay) listening() {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.hello, r.first = true, true
	r.mu.Unlock()
	r.send()
}

func (r *Relay) send() {
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// Run hears of the changes of other servers until ctx ends, and sends this one's.
func (r *Relay) Run(ctx context.Context) {
	var work sync.WaitGroup
	work.Go(func() { r.sending(ctx) })
	defer work.Wait()
	pause, failing := reconnectMin, false
	for again := false; ; again = true {
		err := r.db.Listen(ctx, func() {
			if failing {
				r.log.Info("changes that other servers commit are received again")
			}
			pause, failing = reconnectMin, false
			r.connected(again)
		}, r.heard)
		if ctx.Err() != nil {
			return
		}
		if !failing {
			r.log.Warn("changes that other servers commit are not received; trying to connect again", zap.Error(err))
		}
		failing = true
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause + rand.N(pause/4)):
		}
		pause = min(2*pause, reconnectMax)
	}
}

// connected runs when notifications are heard, for the first time or again. Servers with subscribers answer to the reset that is
// sent; until they have had time to, they are taken to be there.
func (r *Relay) connected(again bool) {
	r.wantUntil(time.Now().Add(2 * helloTime))
	r.mu.Lock()
	r.hello, r.first, r.lost = true, true, true
	r.mu.Unlock()
	if again {
		r.hub.Reset()
	}
	r.send()
}

// sending sends what is to be sent until ctx ends.
func (r *Relay) sending(ctx context.Context) {
	tick := time.NewTicker(helloEvery)
	defer tick.Stop()
	var late <-chan time.Time // when the others have heard of the first subscriber
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.mu.Lock()
			r.hello = true
			r.mu.Unlock()
		case <-late:
			late = nil
			r.hub.Reset()
			continue
		case <-r.kick:
		}
		payloads, first := r.take()
		if first {
			late = time.After(helloTime)
		}
		if len(payloads) > 0 {
			within, cancel := context.WithTimeout(ctx, sendTimeout)
			err := r.db.Notify(within, payloads)
			cancel()
			if err != nil && ctx.Err() == nil {
				r.log.Debug("tell other servers of changes", zap.Error(err))
				r.mu.Lock()
				r.lost, r.hello, r.first = true, true, r.first || first
				r.mu.Unlock()
				r.retry(ctx)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(sendEvery):
		}
	}
}

// retry has what was not sent sent later.
func (r *Relay) retry(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(reconnectMin):
		r.send()
	}
}

// take returns what is to be sent. first reports whether it tells the others for the first time that somebody listens here.
func (r *Relay) take() (payloads []string, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hello && r.hub.local.Load() > 0 {
		payloads, first = append(payloads, r.server+" hello"), r.first
	}
	if r.lost {
		payloads = append(payloads, r.server+" reset")
	} else if r.changes.n > 0 {
		payloads = append(payloads, r.encode()...)
	}
	r.changes, r.hello, r.first, r.lost = Changes{}, false, false, false
	return payloads, first
}

// encode returns the changes as notifications: the server, "change", the time of the commit, then project, session and kind of
// each, the session empty if any of the project's may have changed. r.mu is held.
func (r *Relay) encode() (payloads []string) {
	head := r.server + " change " + strconv.FormatInt(r.at, 10)
	var b strings.Builder
	for project, sessions := range r.changes.projects {
		for session, kind := range sessions {
			id := ""
			if session != uuid.Nil {
				id = session.String()
			}
			one := fmt.Sprintf(" %d:%s:%.1s", project, id, kind)
			if b.Len()+len(one) > maxPayload {
				payloads = append(payloads, b.String())
				b.Reset()
			}
			if b.Len() == 0 {
				b.WriteString(head)
			}
			b.WriteString(one)
		}
	}
	if b.Len() > 0 {
		payloads = append(payloads, b.String())
	}
	return payloads
}

// heard takes a notification of any server. Texts that make no sense, as those of a later version may be, may stand for changes.
func (r *Relay) heard(payload string) {
	words := strings.Split(payload, " ")
	if words[0] == r.server {
		return
	}
	switch {
	case len(words) == 2 && words[1] == "hello":
		r.wantUntil(time.Now().Add(helloFor))
	case len(words) == 2 && words[1] == "reset":
		r.hub.Reset()
		r.mu.Lock()
		r.hello = true
		r.mu.Unlock()
		r.send()
	case len(words) > 3 && words[1] == "change":
		if c, at, ok := decode(words[2:]); ok {
			r.hub.deliver(c, at)
			return
		}
		r.hub.Reset()
	default:
		r.hub.Reset()
	}
}

// decode reads what encode wrote.
func decode(words []string) (c *Changes, at int64, ok bool) {
	at, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		return nil, 0, false
	}
	c = &Changes{}
	for _, word := range words[1:] {
		f := strings.Split(word, ":")
		if len(f) != 3 {
			return nil, 0, false
		}
		project, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil {
			return nil, 0, false
		}
		var session uuid.UUID
		if f[1] != "" {
			if session, err = uuid.Parse(f[1]); err != nil {
				return nil, 0, false
			}
		}
		kind := event.ChangeEvent
		if f[2] == string(event.ChangeSession[:1]) {
			kind = event.ChangeSession
		}
		c.Add(project, session, kind)
	}
	return c, at, true
}
