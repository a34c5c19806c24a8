package ingress

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// Connections bounds the open connections of one listener. At the bound the one that has waited
// longest without a request under way makes room for a new one, so that idle and half-open
// connections, which need no key, keep nobody out. If all are at work, the new one is closed.
type Connections struct {
	max int

	mu   sync.Mutex
	open int
	idle list.List // of *connection, in the order since when; those at work are not in it
}

// NewConnections returns a bound of max connections.
func NewConnections(max int) *Connections { return &Connections{max: max} }

// Listen returns a listener whose connections are counted. A TLS listener must be around it, not in it.
func (c *Connections) Listen(l net.Listener) net.Listener { return &listener{l, c} }

// Attach lets the requests of s find their connection.
func (c *Connections) Attach(s *http.Server) {
	before := s.ConnContext
	s.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		if before != nil {
			ctx = before(ctx, conn)
		}
		if encrypted, ok := conn.(*tls.Conn); ok {
			conn = encrypted.NetConn()
		}
		if counted, ok := conn.(*connection); ok {
			ctx = context.WithValue(ctx, connectionKey{}, counted)
		}
		return ctx
	}
}

type connectionKey struct{}

// Working marks that a request whose caller may be here is under way, until done is called.
func Working(ctx context.Context) (done func()) {
	conn, ok := ctx.Value(connectionKey{}).(*connection)
	if !ok {
		return func() {}
	}
	conn.work(1)
	return func() { conn.work(-1) }
}

// Age returns how long the connection of a request has been open; 0 if that is not known.
func Age(ctx context.Context) time.Duration {
	conn, ok := ctx.Value(connectionKey{}).(*connection)
	if !ok {
		return 0
	}
	return time.Since(conn.began)
}

type listener struct {
	net.Listener
	all *Connections
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if counted := l.all.admit(conn); counted != nil {
			return counted, nil
		}
		conn.Close()
	}
}

// admit counts a connection, nil if there is no room.
func (c *Connections) admit(conn net.Conn) *connection {
	c.mu.Lock()
	var oldest *connection
	if c.open >= c.max {
		front := c.idle.Front()
		if front == nil {
			c.mu.Unlock()
			return nil
		}
		oldest = front.Value.(*connection)
		c.forget(oldest)
	}
	counted := &connection{Conn: conn, all: c, began: time.Now()}
	counted.place = c.idle.PushBack(counted)
	c.open++
	c.mu.Unlock()
	if oldest != nil {
		oldest.Conn.Close()
	}
	return counted
}

// forget takes a connection out of the count, once. c.mu is held.
func (c *Connections) forget(conn *connection) {
	if conn.gone {
		return
	}
	conn.gone = true
	c.open--
	if conn.place != nil {
		c.idle.Remove(conn.place)
		conn.place = nil
	}
}

// connection is a connection that is counted until it is closed.
type connection struct {
	net.Conn
	all   *Connections
	began time.Time

	// Under all.mu.
	working int
	place   *list.Element // in all.idle; nil while at work
	gone    bool
}

func (c *connection) work(by int) {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.working += by
	switch {
	case c.gone:
	case c.working > 0 && c.place != nil:
		c.all.idle.Remove(c.place)
		c.place = nil
	case c.working == 0 && c.place == nil:
		c.place = c.all.idle.PushBack(c)
	}
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.all.mu.Lock()
	c.all.forget(c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}
