package sqldb

import (
	"context"
	"database/sql"
)

// sqliteTx is the writer's open transaction. It is the only one, so rows that it has read stay as they are until it ends, and
// nothing has to be locked.
type sqliteTx struct {
	sqliteSpelling
	d       *SQLite
	changes changes
	deletes bool // something that shall be erased
}

func (t *sqliteTx) Changes() int { return int(t.changes) }

func (t *sqliteTx) ForUpdate(string) string { return "" } // there is one writer

func (t *sqliteTx) SkipLocked() string { return "" }

func (t *sqliteTx) Lock(context.Context, string) error { return nil } // there is one transaction

// stmt returns a prepared statement of the writer. The ones used last stay prepared, from one transaction to the next. They are
// found by their text as callers write it, so a statement that was met before costs one look-up and no parsing.
func (t *sqliteTx) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	if st, ok := t.d.stmts.Get(text); ok {
		return st, nil
	}
	numbered, err := question(text)
	if err != nil {
		return nil, err
	}
	st, err := t.d.writer.PrepareContext(context.WithoutCancel(ctx), numbered)
	if err != nil {
		return nil, err
	}
	t.d.stmts.Add(text, st)
	return st, nil
}

func (t *sqliteTx) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	t.d.statements.Add(1)
	t.changes.count(text)
	st, err := t.stmt(ctx, text)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (t *sqliteTx) Query(ctx context.Context, text string, args ...any) (Rows, error) {
	t.d.statements.Add(1)
	t.changes.count(text)
	st, err := t.stmt(ctx, text)
	if err != nil {
		return nil, err
	}
	rs, err := st.QueryContext(ctx, args...)
	if err != nil {
		return nil, err
	}
	return sqlRows{rs}, nil
}
