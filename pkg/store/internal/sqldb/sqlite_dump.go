package sqldb

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// sqliteDump reads the database of a data directory in one transaction.
//
// A row is its values one after the other, each a byte that says of which type it is, and then:
//
//	0 NULL     nothing
//	1 integer  a signed varint, as encoding/binary writes it
//	2 real     8 bytes, IEEE 754, the highest first
//	3 text     its length as a varint, and its bytes
//	4 blob     the same
type sqliteDump struct {
	db     *SQLite
	conn   *sqliteSnapshot // in a transaction
	layout Layout
	order  map[string]string // what a table's rows are ordered by
}

const (
	sqliteNull = iota
	sqliteInteger
	sqliteReal
	sqliteText
	sqliteBlob
)

// DumpSQLite begins to read the database of a data directory. A server may use the directory; the log of the database cannot begin anew until Close.
func DumpSQLite(ctx context.Context, dir string) (_ Dump, err error) {
	d := &sqliteDump{order: map[string]string{}}
	if d.db, err = OpenSQLiteReadOnly(ctx, dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = d.Close(ctx)
		}
	}()
	conn, err := d.db.reads.Conn(ctx)
	if err != nil {
		return nil, err
	}
	d.conn = &sqliteSnapshot{d.db, conn}
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return nil, err
	}
	var there bool
	if _, err := One(ctx, d.conn, `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'goose_db_version')`, nil, &there); err != nil {
		return nil, err
	}
	if !there {
		return nil, fmt.Errorf("there is no store in %s", dir)
	}
	for _, read := range []func(context.Context) error{d.readMigrations, d.readTables, d.readSequences} {
		if err := read(ctx); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d *sqliteDump) Layout() Layout { return d.layout }

func (d *sqliteDump) Close(ctx context.Context) (err error) {
	if d.conn != nil {
		_, _ = d.conn.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		err = d.conn.conn.Close()
	}
	return errors.Join(err, d.db.Close(ctx))
}

func (d *sqliteDump) readMigrations(ctx context.Context) error {
	return Each(ctx, d.conn, `SELECT version_id FROM goose_db_version WHERE version_id > 0 ORDER BY id`, nil, func(scan func(...any) error) error {
		var v int64
		err := scan(&v)
		d.layout.Migrations = append(d.layout.Migrations, v)
		return err
	})
}

// readTables lists the tables. The number of a row belongs to it, also where it is no column of the table.
func (d *sqliteDump) readTables(ctx context.Context) error {
	type column struct {
		table, name, kind string
		key               int
		noNumber          bool
	}
	var columns []column
	err := Each(ctx, d.conn, `SELECT t.name, t.wr, c.name, c.type, c.pk FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
		WHERE t.schema = 'main' AND t.type = 'table' AND NOT t.name GLOB 'sqlite_*' AND t.name <> 'goose_db_version' AND NOT t.name GLOB '`+MovePrefix+`*'
		ORDER BY t.name, c.cid`, nil, func(scan func(...any) error) error {
		var c column
		err := scan(&c.table, &c.noNumber, &c.name, &c.kind, &c.key)
		columns = append(columns, c)
		return err
	})
	if err != nil {
		return err
	}
	for len(columns) > 0 {
		t := Table{Name: columns[0].table}
		n := slices.IndexFunc(columns, func(c column) bool { return c.table != t.Name })
		if n < 0 {
			n = len(columns)
		}
		of := columns[:n]
		columns = columns[n:]
		var keys []column
		for _, c := range of {
			t.Columns = append(t.Columns, c.name)
			if c.key > 0 {
				keys = append(keys, c)
			}
		}
		slices.SortFunc(keys, func(a, b column) int { return a.key - b.key })
		by := make([]string, len(keys))
		for i, k := range keys {
			by[i] = k.name
		}
		if isNumber := len(keys) == 1 && keys[0].kind == "INTEGER"; !of[0].noNumber && !isNumber {
			by = []string{"rowid"}
			t.Columns = append(by, t.Columns...)
		}
		d.order[t.Name] = QuoteNames(by)
		d.layout.Tables = append(d.layout.Tables, t)
	}
	return nil
}

func (d *sqliteDump) readSequences(ctx context.Context) error {
	return Each(ctx, d.conn, `SELECT name, seq FROM sqlite_sequence WHERE name <> 'goose_db_version' AND NOT name GLOB '`+MovePrefix+`*' ORDER BY name`, nil, func(scan func(...any) error) error {
		s := Sequence{Called: true}
		err := scan(&s.Name, &s.Last)
		d.layout.Sequences = append(d.layout.Sequences, s)
		return err
	})
}

// Copy implements Dump.
func (d *sqliteDump) Copy(ctx context.Context, t Table, w io.Writer) (rows int64, err error) {
	values := make([]any, len(t.Columns))
	into := make([]any, len(values))
	for i := range values {
		into[i] = &values[i]
	}
	var row []byte
	err = Each(ctx, d.conn, `SELECT `+QuoteNames(t.Columns)+` FROM `+QuoteName(t.Name)+` ORDER BY `+d.order[t.Name], nil, func(scan func(...any) error) error {
		if err := scan(into...); err != nil {
			return err
		}
		row = row[:0]
		for i, v := range values {
			switch v := v.(type) {
			case nil:
				row = append(row, sqliteNull)
			case int64:
				row = binary.AppendVarint(append(row, sqliteInteger), v)
			case float64:
				row = binary.BigEndian.AppendUint64(append(row, sqliteReal), math.Float64bits(v))
			case string:
				row = append(binary.AppendUvarint(append(row, sqliteText), uint64(len(v))), v...)
			case []byte:
				row = append(binary.AppendUvarint(append(row, sqliteBlob), uint64(len(v))), v...)
			default:
				return fmt.Errorf("column %s has a value of type %T", t.Columns[i], v)
			}
		}
		rows++
		_, err := w.Write(row)
		return err
	})
	if err == nil {
		err = d.db.unchanged()
	}
	return rows, err
}
