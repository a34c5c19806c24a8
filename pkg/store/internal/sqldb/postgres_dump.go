package sqldb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"
)

// postgresDump reads a schema from one snapshot. The form of rows is that of COPY, binary.
type postgresDump struct {
	conn   *pgx.Conn
	layout Layout

	distributed bool // chunks are
}

// DumpPostgres begins to read a store. The snapshot ends with Close.
func DumpPostgres(ctx context.Context, dsn string) (Dump, error) {
	return dumpPostgres(ctx, dsn, false)
}

var errNoStore = errors.New("there is no store in this database")

// dumpPostgres is DumpPostgres; loading is whether the store may be one that is being made.
func dumpPostgres(ctx context.Context, dsn string, loading bool) (_ Dump, err error) {
	d := &postgresDump{}
	if d.conn, err = ConnectPostgres(ctx, dsn); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = d.Close(ctx)
		}
	}()
	if d.distributed, err = HoldChunks(ctx, d.conn); err != nil {
		return nil, err
	}
	// Reading may take as long as it needs, and rows come in the order in which they lie in the table, so that two dumps are alike where
	// nothing has changed.
	for _, q := range []string{
		`SET statement_timeout = 0`, `SET idle_in_transaction_session_timeout = 0`,
		`SET synchronize_seqscans = off`, `SET max_parallel_workers_per_gather = 0`, `SET enable_parallel_append = off`,
		`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`,
	} {
		if _, err := d.conn.Exec(ctx, q); err != nil {
			return nil, err
		}
	}
	var there, unfinished bool
	if err := d.conn.QueryRow(ctx, `SELECT to_regclass('goose_db_version') IS NOT NULL, to_regclass('`+UnfinishedTable+`') IS NOT NULL`).
		Scan(&there, &unfinished); err != nil {
		return nil, err
	}
	switch {
	case !there:
		return nil, errNoStore
	case unfinished && !loading:
		return nil, ErrUnfinished
	}
	for _, read := range []func(context.Context) error{d.readMigrations, d.readPartitions, d.readTables, d.readSequences} {
		if err := read(ctx); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// ConnectPostgres makes one connection, outside of all pools.
func ConnectPostgres(ctx context.Context, dsn string) (*pgx.Conn, error) {
	conf, err := postgresConfig("dsn", dsn, 1)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, conf.ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	return conn, nil
}

func (d *postgresDump) Layout() Layout { return d.layout }

func (d *postgresDump) Close(ctx context.Context) error {
	return d.conn.Close(context.WithoutCancel(ctx))
}

// Copy implements Dump. The server sends a message for each row, and each becomes a write.
func (d *postgresDump) Copy(ctx context.Context, t Table, w io.Writer) (rows int64, err error) {
	if d.distributed && t.Name == "chunk" {
		return d.copyShards(ctx, t, w)
	}
	tag, err := d.conn.PgConn().CopyTo(ctx, &headerWriter{w: w}, `COPY (SELECT `+QuoteNames(t.Columns)+` FROM `+QuoteName(t.Name)+`) TO STDOUT (FORMAT binary)`)
	return tag.RowsAffected(), err
}

// copyHeader is the length of what stands before the first row of COPY, and comes in one message with it: a signature of 11 bytes, flags of 4,
// and the length of an extension that there is not, of 4.
const copyHeader = 19

// headerWriter writes the header by itself.
type headerWriter struct {
	w     io.Writer
	begun bool
}

func (h *headerWriter) Write(row []byte) (int, error) {
	if !h.begun && len(row) > copyHeader {
		h.begun = true
		if n, err := h.w.Write(row[:copyHeader]); err != nil {
			return n, err
		}
		n, err := h.w.Write(row[copyHeader:])
		return n + copyHeader, err
	}
	h.begun = true
	return h.w.Write(row)
}

// dumpIDs is how many ids of chunks one statement of copyShards covers: as many rows as the coordinator sorts in memory.
const dumpIDs = 4096

// copyTrailer stands after the last row of COPY, in place of the number of columns.
var copyTrailer = []byte{0xff, 0xff}

// copyShards copies chunks in the order of their ids, so that two dumps are alike where nothing has changed: nodes answer in any order.
func (d *postgresDump) copyShards(ctx context.Context, t Table, w io.Writer) (rows int64, err error) {
	var first, last int64
	if err := d.conn.QueryRow(ctx, `SELECT coalesce(min(id), 0), coalesce(max(id), 0) FROM chunk`).Scan(&first, &last); err != nil {
		return 0, err
	}
	to := &rangeWriter{w: w}
	for from := first; from <= last; from += dumpIDs {
		to.begun = false
		tag, err := d.conn.PgConn().CopyTo(ctx, to, fmt.Sprintf(`COPY (SELECT %s FROM chunk WHERE id >= %d AND id < %d ORDER BY id) TO STDOUT (FORMAT binary)`, QuoteNames(t.Columns), from, from+dumpIDs))
		rows += tag.RowsAffected()
		if err != nil {
			return rows, err
		}
	}
	_, err = w.Write(copyTrailer)
	return rows, err
}

// rangeWriter makes one COPY of several: it leaves out each header but the first one, and each trailer.
type rangeWriter struct {
	w     io.Writer
	begun bool // the header of this one has come
	later bool // that of the first one has
}

func (r *rangeWriter) Write(message []byte) (int, error) {
	n := len(message)
	if !r.begun { // the first row comes in one message with the header, or the trailer if there are no rows
		r.begun = true
		header := message[:copyHeader]
		message = message[copyHeader:]
		if !r.later {
			r.later = true
			if _, err := r.w.Write(header); err != nil {
				return n, err
			}
		}
	}
	if bytes.Equal(message, copyTrailer) {
		return n, nil
	}
	_, err := r.w.Write(message)
	return n, err
}

func (d *postgresDump) readMigrations(ctx context.Context) error {
	rows, err := d.conn.Query(ctx, `SELECT version_id FROM goose_db_version WHERE version_id > 0 ORDER BY id`)
	if err != nil {
		return err
	}
	d.layout.Migrations, err = pgx.CollectRows(rows, pgx.RowTo[int64])
	return err
}

// readPartitions lists partitions from the outermost inwards.
func (d *postgresDump) readPartitions(ctx context.Context) error {
	rows, err := d.conn.Query(ctx, `WITH RECURSIVE part(oid, depth) AS (
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
	d.layout.Partitions, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p Partition, err error) {
		err = row.Scan(&p.Name, &p.Parent, &p.Bound, &p.By)
		return p, err
	})
	return err
}

// readTables lists the tables with the columns that are written. pg_partition_tree locks the partitions until the transaction ends (ACCESS SHARE), so that no
// server drops one that is empty by then, and whose rows the snapshot has.
func (d *postgresDump) readTables(ctx context.Context) error {
	rows, err := d.conn.Query(ctx, `SELECT c.relname, CASE c.relkind
			WHEN 'p' THEN (SELECT coalesce(sum(pg_table_size(relid)), 0)::bigint FROM pg_partition_tree(c.oid) WHERE isleaf)
			ELSE pg_table_size(c.oid) END,
			ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum)
		FROM pg_class AS c
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
			AND c.relname NOT IN ('goose_db_version', '`+UnfinishedTable+`', '`+RemovedTable+`') AND NOT starts_with(c.relname, '`+MovePrefix+`')
		ORDER BY NOT EXISTS (SELECT FROM pg_constraint WHERE contype = 'f' AND confrelid = c.oid), c.relname`)
	if err != nil {
		return err
	}
	d.layout.Tables, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (t Table, err error) {
		err = row.Scan(&t.Name, &t.Bytes, &t.Columns)
		return t, err
	})
	return err
}

func (d *postgresDump) readSequences(ctx context.Context) error {
	rows, err := d.conn.Query(ctx, `SELECT relname FROM pg_class
		WHERE relnamespace = current_schema()::regnamespace AND relkind = 'S' AND NOT starts_with(relname, 'goose_db_version') AND NOT starts_with(relname, '`+MovePrefix+`') ORDER BY relname`)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, name := range names {
		s := Sequence{Name: name}
		if err := d.conn.QueryRow(ctx, `SELECT last_value, is_called FROM `+QuoteName(name)).Scan(&s.Last, &s.Called); err != nil {
			return fmt.Errorf("sequence %s: %w", name, err)
		}
		d.layout.Sequences = append(d.layout.Sequences, s)
	}
	return nil
}
