package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Forget drops what the store keeps in memory of the trees of sessions, as a restart does.
func (s *Store) Forget() {
	s.events.trees.mu.Lock()
	defer s.events.trees.mu.Unlock()
	s.events.trees.lru.Purge()
}

// Statements counts what the store's transactions have asked of the database.
func (s *Store) Statements() int64 {
	switch d := s.db.(type) {
	case *sqldb.SQLite:
		return d.statements.Load()
	case *sqldb.Postgres:
		return d.statements.Load()
	}
	return 0
}

// Filters counts the filters of ids.
func (s *Store) Filters() int {
	n, _ := s.events.idFilter.size()
	return n
}

// Tidy does what is done every few minutes.
func (s *Store) Tidy(ctx context.Context) error {
	return errors.Join(s.events.bulk.tidy(ctx), s.events.moveDays(ctx))
}

// LimitFilters bounds the bytes of all filters of ids.
func (s *Store) LimitFilters(bytes int) {
	s.events.idFilter.mu.Lock()
	defer s.events.idFilter.mu.Unlock()
	s.events.idFilter.limit = bytes
}

// ReadUnwatched runs a statement by a reading connection to PostgreSQL, and nothing in this process
// ends it.
func (s *Store) ReadUnwatched(quick bool, sql string) error {
	d := s.db.(*sqldb.Postgres)
	pool := d.reads
	if quick {
		pool = d.quickReads
	}
	_, err := pool.Exec(context.Background(), sql)
	return sqldb.WrapError(s.db, err, "read")
}

// ReadText runs a statement for one text, patiently or not.
func (s *Store) ReadText(ctx context.Context, patient bool, sql string) (text string, err error) {
	if patient {
		ctx = sqldb.Patiently(ctx)
	}
	_, err = sqldb.One(ctx, s.db, sql, nil, &text)
	return text, sqldb.WrapError(s.db, err, "read")
}

// LeaveRead begins a statement by a reading connection to PostgreSQL and closes the connection, so that
// no request to cancel the statement reaches the server. begun waits until the statement runs.
func (s *Store) LeaveRead(ctx context.Context, sql string, begun func()) error {
	held, err := s.db.(*sqldb.Postgres).reads.Acquire(ctx)
	if err != nil {
		return err
	}
	conn := held.Hijack().PgConn()
	conn.Frontend().SendQuery(&pgproto3.Query{String: sql})
	err = conn.Frontend().Flush()
	if err == nil {
		begun()
	}
	return errors.Join(err, conn.Conn().Close())
}
