package sqldb

import (
	"context"
	"database/sql"
	"strings"
)

// sqliteTx is the writer's open transaction.
type sqliteTx struct {
	sqliteSpelling
	d       *SQLite
	deletes bool // something that shall be erased

}

func (t *sqliteTx) ForUpdate(string) string { return "" } // there is one writer

func (t *sqliteTx) SkipLocked() string { return "" }

// stmt prepares a statement once for the life of the writer.
func (t *sqliteTx) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	if st := t.d.stmts[text]; st != nil {
		return st, nil
	}
	st, err := t.d.writer.PrepareContext(context.WithoutCancel(ctx), question(text))
	if err != nil {
		return nil, err
	}
	t.d.stmts[text] = st
	return st, nil
}

func (t *sqliteTx) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	t.d.statements.Add(1)
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

// Query prepares statements without lists of ids; those vary in length.
func (t *sqliteTx) Query(ctx context.Context, text string, args ...any) (Rows, error) {
	t.d.statements.Add(1)
	if strings.Contains(text, " IN ($") {
		rs, err := t.d.writer.QueryContext(ctx, question(text), args...)
		if err != nil {
			return nil, err
		}
		return sqlRows{rs}, nil
	}
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
