package sqldb

import (
	"crypto/tls"
	"net"
	"testing"
)

// The operator may allow more connections, but not so few that writers and readers wait for one another.
func TestPostgresConnections(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]int32{
		"postgres://grove@db.example.com/events":                   5 + postgresQuickReaders + postgresReaders,
		"postgres://grove@db.example.com/events?pool_max_conns=20": 20,
		"host=db.example.com pool_max_conns=2":                     5 + postgresQuickReaders + postgresReaders,
	} {
		conf, err := postgresConfig("dsn", dsn, 5)
		if err != nil {
			t.Fatal(err)
		}
		if conf.MaxConns != want {
			t.Errorf("%s: %d connections, want %d", dsn, conf.MaxConns, want)
		}
	}
}

// TestFellBack tells connections in clear text that nobody asked for from others.
func TestFellBack(t *testing.T) {
	t.Parallel()
	far, near := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 5432}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 5432}
	tried := &tls.Config{}
	for _, tt := range []struct {
		what  string
		conn  net.Conn
		tried *tls.Config
		want  bool
	}{
		{"prefer, to another machine", connTo{at: far}, tried, true},
		{"prefer, to this machine", connTo{at: near}, tried, false},
		{"prefer, by a socket", connTo{at: &net.UnixAddr{Name: "/run/postgresql/.s.PGSQL.5432"}}, tried, false},
		{"disable", connTo{at: far}, nil, false},
		{"encrypted", tls.Client(connTo{at: far}, tried), tried, false},
	} {
		if got := fellBack(tt.conn, tt.tried); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.what, got, tt.want)
		}
	}
}

// connTo is a connection to somewhere.
type connTo struct {
	net.Conn
	at net.Addr
}

func (c connTo) RemoteAddr() net.Addr { return c.at }
