package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"go.uber.org/zap"
)

// UnfinishedTable stands in a schema while a store is copied into it.
const UnfinishedTable = "spangrove_unfinished_copy"

// ErrUnfinished is the error of a store with UnfinishedTable.
var ErrUnfinished = errors.New("a copy or a restored backup in this database is not finished: drop the database or schema, and make it anew")

// postgresLoad fills an empty database or schema.
type postgresLoad struct {
	dsn    string
	conn   *pgx.Conn
	layout Layout
}

// LoadPostgres begins to make a store in a database or schema, which must be empty. Until it is finished OpenPostgres refuses it.
func LoadPostgres(ctx context.Context, dsn string) (_ Load, err error) {
	l := &postgresLoad{dsn: dsn}
	if l.conn, err = ConnectPostgres(ctx, dsn); err != nil {
		return nil, fmt.Errorf("the copy: %w", err)
	}
	defer func() {
		if err != nil {
			_ = l.Close(ctx)
		}
	}()
	if _, err := l.conn.Exec(ctx, `SET statement_timeout = 0`); err != nil {
		return nil, err
	}
	var tables int
	var unfinished bool
	if err := l.conn.QueryRow(ctx, `SELECT count(*), to_regclass('`+UnfinishedTable+`') IS NOT NULL
		FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')`).Scan(&tables, &unfinished); err != nil {
		return nil, fmt.Errorf("the copy: %w", err)
	}
	switch {
	case unfinished:
		return nil, ErrUnfinished
	case tables > 0:
		return nil, fmt.Errorf("the copy must be an empty database or schema; it has %d tables", tables)
	}
	_, err = l.conn.Exec(ctx, `CREATE TABLE `+UnfinishedTable+`()`)
	return l, err
}

// Make implements Load. It runs the migrations that the original has, and replaces the partitions that they make by those of the original: the
// bounds of the former follow from the time at which the migrations run.
func (l *postgresLoad) Make(ctx context.Context, layout Layout) (err error) {
	l.layout = layout
	db := stdlib.OpenDB(*l.conn.Config())
	defer func() { err = errors.Join(err, db.Close()) }()
	p, err := migrationsOf(db, goose.DialectPostgres, "postgres")
	if err != nil {
		return err
	}
	if err := applyMigrations(ctx, p, layout.Migrations); err != nil {
		return err
	}
	rows, err := l.conn.Query(ctx, `SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relispartition AND relkind IN ('r', 'p')`)
	if err != nil {
		return err
	}
	made, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, name := range made {
		if _, err := l.conn.Exec(ctx, `DROP TABLE IF EXISTS `+QuoteName(name)); err != nil { // it may have gone with the one that it was a part of
			return err
		}
	}
	for _, p := range layout.Partitions {
		text := `CREATE TABLE ` + QuoteName(p.Name) + ` PARTITION OF ` + QuoteName(p.Parent) + ` ` + p.Bound
		if p.By != "" {
			text += ` PARTITION BY ` + p.By
		}
		if _, err := l.conn.Exec(ctx, text); err != nil {
			return fmt.Errorf("partition %s: %w", p.Name, err)
		}
	}
	names := make([]string, len(layout.Tables))
	for i, t := range layout.Tables {
		names[i] = t.Name
	}
	if _, err = l.conn.Exec(ctx, `TRUNCATE `+QuoteNames(names)); err != nil {
		return err
	}
	return distribute(ctx, db, zap.NewNop())
}

// Copy implements Load. No trigger runs: what they write is copied as well.
func (l *postgresLoad) Copy(ctx context.Context, t Table, r io.Reader) error {
	name := QuoteName(t.Name)
	var triggers bool // Citus has none, and no statement about them, on tables that are distributed
	if err := l.conn.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_trigger WHERE tgrelid = $1::text::regclass AND NOT tgisinternal)`, name).Scan(&triggers); err != nil {
		return err
	}
	set := func(state string) error {
		if !triggers {
			return nil
		}
		_, err := l.conn.Exec(ctx, `ALTER TABLE `+name+` `+state+` TRIGGER USER`)
		return err
	}
	if err := set("DISABLE"); err != nil {
		return err
	}
	if _, err := l.conn.PgConn().CopyFrom(ctx, r, `COPY `+name+` (`+QuoteNames(t.Columns)+`) FROM STDIN (FORMAT binary)`); err != nil {
		return err
	}
	return set("ENABLE")
}

// Check implements Load.
func (l *postgresLoad) Check(ctx context.Context) (Dump, error) {
	return dumpPostgres(ctx, l.dsn, true)
}

// Finish implements Load. Sequences may be ahead of the rows, as after a rollback.
func (l *postgresLoad) Finish(ctx context.Context) error {
	for _, s := range l.layout.Sequences {
		if _, err := l.conn.Exec(ctx, `SELECT setval($1::regclass, $2, $3)`, QuoteName(s.Name), s.Last, s.Called); err != nil {
			return fmt.Errorf("sequence %s: %w", s.Name, err)
		}
	}
	if _, err := l.conn.Exec(ctx, `ANALYZE`); err != nil {
		return err
	}
	_, err := l.conn.Exec(ctx, `DROP TABLE `+UnfinishedTable)
	return err
}

func (l *postgresLoad) Close(ctx context.Context) error {
	return l.conn.Close(context.WithoutCancel(ctx))
}
