package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Forget drops what the store keeps in memory of the trees of sessions, as a restart does.
func (s *Store) Forget() {
	s.trees.mu.Lock()
	defer s.trees.mu.Unlock()
	s.trees.lru.Purge()
}

// Statements counts what the store's transactions have asked of the database.
func (s *Store) Statements() int64 {
	switch d := s.db.(type) {
	case *sqliteDB:
		return d.statements.Load()
	case *postgresDB:
		return d.statements.Load()
	}
	return 0
}

// Filters counts the filters of ids.
func (s *Store) Filters() int {
	n, _ := s.idFilter.size()
	return n
}

// Tidy does what is done every few minutes.
func (s *Store) Tidy(ctx context.Context) error {
	return errors.Join(s.bulk.tidy(ctx), s.moveDays(ctx))
}

// LimitFilters bounds the bytes of all filters of ids.
func (s *Store) LimitFilters(bytes int) {
	s.idFilter.mu.Lock()
	defer s.idFilter.mu.Unlock()
	s.idFilter.limit = bytes
}

// ReadUnwatched runs a statement by a reading connection to PostgreSQL, and nothing in this process
// ends it.
func (s *Store) ReadUnwatched(quick bool, sql string) error {
	d := s.db.(*postgresDB)
	pool := d.reads
	if quick {
		pool = d.quickReads
	}
	_, err := pool.Exec(context.Background(), sql)
	return wrapDBError(s.db, err, "read")
}

// ReadText runs a statement for one text, patiently or not.
func (s *Store) ReadText(ctx context.Context, patient bool, sql string) (text string, err error) {
	if patient {
		ctx = patiently(ctx)
	}
	_, err = one(ctx, s.db, sql, nil, &text)
	return text, wrapDBError(s.db, err, "read")
}

// LeaveRead begins a statement by a reading connection to PostgreSQL and closes the connection, so that
// no request to cancel the statement reaches the server. begun waits until the statement runs.
func (s *Store) LeaveRead(ctx context.Context, sql string, begun func()) error {
	held, err := s.db.(*postgresDB).reads.Acquire(ctx)
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
