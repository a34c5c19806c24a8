package sqldb

import "testing"

// The operator may allow more connections, but not so few that writers and readers wait for one another.
func TestPostgresConnections(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]int32{
		"postgres://grove@db.example.com/events":                   5 + postgresQuickReaders + postgresReaders,
		"postgres://grove@db.example.com/events?pool_max_conns=20": 20,
		"host=db.example.com pool_max_conns=2":                     5 + postgresQuickReaders + postgresReaders,
	} {
		conf, err := postgresConfig(dsn, 5)
		if err != nil {
			t.Fatal(err)
		}
		if conf.MaxConns != want {
			t.Errorf("%s: %d connections, want %d", dsn, conf.MaxConns, want)
		}
	}
}
