package sqldb

import (
	"context"
	"database/sql"
)

// Snapshot calls f with a connection all of whose reads see the database as it is at the first of them. f must close the rows of one
// read before the next, and must not use the connection from several goroutines at once.
func (d *SQLite) Snapshot(ctx context.Context, f func(Conn) error) error {
	conn, err := d.reads.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	// Also if the begin fails: it may have come through when its time ran out, and nobody else may get a connection that stands in it.
	defer func() { _, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") }()
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	return f(&sqliteSnapshot{d, conn})
}

type sqliteSnapshot struct {
	*SQLite
	conn *sql.Conn
}

func (s *sqliteSnapshot) Query(ctx context.Context, text string, args ...any) (Rows, error) {
	numbered, err := question(text)
	if err != nil {
		return nil, err
	}
	ctx, cancel := readContext(ctx, s.readTimeout)
	finish, err := interruptOnDone(ctx, s.conn)
	if err != nil {
		cancel()
		return nil, err
	}
	rs, err := s.conn.QueryContext(ctx, numbered, args...)
	if err != nil {
		err = ended(ctx, err)
		finish()
		cancel()
		return nil, err
	}
	return timedRows{connRows{rs, ctx, func() { finish(); _ = rs.Close() }}, cancel}, nil
}
