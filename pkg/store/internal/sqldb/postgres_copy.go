package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// postgresCopy copies the tables of one schema into another one.
type postgresCopy struct {
	from, to *pgx.Conn // from reads one snapshot
	tables   []copyTable
}

// copyTable is a table that is no partition of another one.
type copyTable struct {
	name  string
	bytes int64 // on disk, indexes not counted
}

// CopyPostgres copies a store as of one moment into another database or schema, which must be empty. Servers may use the first one
// meanwhile: it is only read. The copy gets the migrations that the original has, and its partitions; progress is told how many bytes of how many are
// copied, by what the tables take on disk.
func CopyPostgres(ctx context.Context, from, to string, progress func(done, total int64)) (err error) {
	c := postgresCopy{}
	for _, x := range []struct {
		dsn  string
		conn **pgx.Conn
	}{{from, &c.from}, {to, &c.to}} {
		conf, err := postgresConfig(x.dsn, 1)
		if err != nil {
			return err
		}
		if *x.conn, err = pgx.ConnectConfig(ctx, conf.ConnConfig); err != nil {
			return fmt.Errorf("connect to PostgreSQL: %w", err)
		}
		defer func() { err = errors.Join(err, (*x.conn).Close(context.WithoutCancel(ctx))) }()
	}
	// A copy may take as long as it needs; what the original reads is one snapshot, which ends with the connection.
	for _, q := range []string{`SET statement_timeout = 0`, `SET idle_in_transaction_session_timeout = 0`, `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`} {
		if _, err := c.from.Exec(ctx, q); err != nil {
			return err
		}
	}
	if _, err := c.to.Exec(ctx, `SET statement_timeout = 0`); err != nil {
		return err
	}
	if err := c.makeSchema(ctx); err != nil {
		return err
	}
	if err := c.makePartitions(ctx); err != nil {
		return fmt.Errorf("partitions: %w", err)
	}
	if err := c.list(ctx); err != nil {
		return err
	}
	return c.copyAll(ctx, progress)
}

// makeSchema applies the migrations to the copy that the original has.
func (c *postgresCopy) makeSchema(ctx context.Context) (err error) {
	var n int
	if err := c.to.QueryRow(ctx, `SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')`).Scan(&n); err != nil {
		return fmt.Errorf("the copy: %w", err)
	}
	if n > 0 {
		return fmt.Errorf("the copy must be an empty database or schema; it has %d tables", n)
	}
	there := false
	if err := c.from.QueryRow(ctx, `SELECT to_regclass('goose_db_version') IS NOT NULL`).Scan(&there); err != nil {
		return err
	}
	if !there {
		return errors.New("there is no store in this database")
	}
	rows, err := c.from.Query(ctx, `SELECT version_id FROM goose_db_version WHERE version_id > 0 ORDER BY id`)
	if err != nil {
		return err
	}
	versions, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	db := stdlib.OpenDB(*c.to.Config())
	defer func() { err = errors.Join(err, db.Close()) }()
	p, err := migrationsOf(db, goose.DialectPostgres, "postgres")
	if err != nil {
		return err
	}
	for _, v := range versions {
		if _, err := p.ApplyVersion(ctx, v, true); errors.Is(err, goose.ErrVersionNotFound) {
			return fmt.Errorf("the store has migration %d, of which this program knows nothing: it was written by a newer one", v)
		} else if err != nil {
			return fmt.Errorf("migration %d: %w", v, err)
		}
	}
	return nil
}

// makePartitions makes the partitions that the original has and the migrations do not make, from the outermost inwards.
func (c *postgresCopy) makePartitions(ctx context.Context) error {
	type partition struct {
		name, parent, bound, by string
	}
	rows, err := c.from.Query(ctx, `WITH RECURSIVE part(oid, depth) AS (
			SELECT oid, 0 FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'p' AND NOT relispartition
			UNION ALL
			SELECT i.inhrelid, depth + 1 FROM part JOIN pg_inherits AS i ON i.inhparent = part.oid)
		SELECT c.relname, parent.relname, pg_get_expr(c.relpartbound, c.oid), coalesce(pg_get_partkeydef(c.oid), '')
		FROM part
		JOIN pg_class AS c ON c.oid = part.oid
		JOIN pg_inherits AS i ON i.inhrelid = c.oid
		JOIN pg_class AS parent ON parent.oid = i.inhparent
		WHERE depth > 0
		ORDER BY depth, c.relname`)
	if err != nil {
		return err
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p partition, err error) {
		err = row.Scan(&p.name, &p.parent, &p.bound, &p.by)
		return p, err
	})
	for _, p := range list {
		if err != nil {
			return err
		}
		text := `CREATE TABLE IF NOT EXISTS ` + quoteName(p.name) + ` PARTITION OF ` + quoteName(p.parent) + ` ` + p.bound
		if p.by != "" {
			text += ` PARTITION BY ` + p.by
		}
		_, err = c.to.Exec(ctx, text)
	}
	return err
}

// list lists the tables, those that others refer to first.
func (c *postgresCopy) list(ctx context.Context) error {
	rows, err := c.from.Query(ctx, `SELECT c.relname, CASE c.relkind
			WHEN 'p' THEN (SELECT coalesce(sum(pg_table_size(relid)), 0)::bigint FROM pg_partition_tree(c.oid) WHERE isleaf)
			ELSE pg_table_size(c.oid) END
		FROM pg_class AS c
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> 'goose_db_version'
		ORDER BY NOT EXISTS (SELECT FROM pg_constraint WHERE contype = 'f' AND confrelid = c.oid), c.relname`)
	if err != nil {
		return err
	}
	c.tables, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (t copyTable, err error) {
		err = row.Scan(&t.name, &t.bytes)
		return t, err
	})
	return err
}

// copyAll copies the rows of all tables, then where sequences stand. No trigger of the copy runs: what they write is copied as well.
func (c *postgresCopy) copyAll(ctx context.Context, progress func(done, total int64)) error {
	names := make([]string, len(c.tables))
	var total, done int64
	for i, t := range c.tables {
		names[i] = quoteName(t.name)
		total += t.bytes
	}
	if _, err := c.to.Exec(ctx, `TRUNCATE `+strings.Join(names, ", ")); err != nil {
		return err
	}
	for i, t := range c.tables {
		if err := c.copyTable(ctx, t.name, names[i], func(n int64) {
			if progress != nil {
				progress(done+min(n, t.bytes), total)
			}
		}); err != nil {
			return fmt.Errorf("copy table %s: %w", t.name, err)
		}
		done += t.bytes
	}
	return c.copySequences(ctx)
}

func (c *postgresCopy) copyTable(ctx context.Context, name, quoted string, progress func(bytes int64)) (err error) {
	rows, err := c.from.Query(ctx, `SELECT attname FROM pg_attribute
		WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`, quoted)
	if err != nil {
		return err
	}
	columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for i := range columns {
		columns[i] = quoteName(columns[i])
	}
	of := strings.Join(columns, ", ")
	for _, turn := range []string{"DISABLE", "ENABLE"} {
		if _, err := c.to.Exec(ctx, `ALTER TABLE `+quoted+` `+turn+` TRIGGER USER`); err != nil {
			return err
		}
		if turn == "ENABLE" {
			break
		}
		r, w := io.Pipe()
		read := make(chan error, 1)
		go func() {
			_, err := c.from.PgConn().CopyTo(ctx, &countingWriter{w: w, tell: progress}, `COPY (SELECT `+of+` FROM `+quoted+`) TO STDOUT (FORMAT binary)`)
			_ = w.CloseWithError(err) // nil: the end
			read <- err
		}()
		_, err := c.to.PgConn().CopyFrom(ctx, r, `COPY `+quoted+` (`+of+`) FROM STDIN (FORMAT binary)`)
		_ = r.CloseWithError(errors.New("the copy does not take more"))
		if readErr := <-read; err == nil {
			err = readErr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copySequences sets those of the copy, which comes last: they may be ahead of the rows, as after a rollback.
func (c *postgresCopy) copySequences(ctx context.Context) error {
	rows, err := c.from.Query(ctx, `SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'S' ORDER BY relname`)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "goose_db_version") })
	for _, name := range names {
		var last int64
		var called bool
		if err := c.from.QueryRow(ctx, `SELECT last_value, is_called FROM `+quoteName(name)).Scan(&last, &called); err != nil {
			return fmt.Errorf("sequence %s: %w", name, err)
		}
		if _, err := c.to.Exec(ctx, `SELECT setval($1::regclass, $2, $3)`, quoteName(name), last, called); err != nil {
			return fmt.Errorf("sequence %s: %w", name, err)
		}
	}
	_, err = c.to.Exec(ctx, `ANALYZE`)
	return err
}

func quoteName(name string) string { return pgx.Identifier{name}.Sanitize() }

// countingWriter tells how many bytes went through.
type countingWriter struct {
	w    io.Writer
	n    int64
	tell func(bytes int64)
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	c.tell(c.n)
	return n, err
}
