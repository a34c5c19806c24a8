package sqldb

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/spangrove/spangrove/pkg/durable"
)

// unfinishedDirectory is where a database is made, inside of the data directory that it is for.
const unfinishedDirectory = "unfinished-copy"

// sqliteLoad makes a database in a directory of its own, and moves it to where servers look for one when it is finished.
type sqliteLoad struct {
	dir, work, path string
	unlock          func()
	db              *sql.DB // of one connection
	conn            *sql.Conn
	layout          Layout
	later           []string // statements that make what is faster to make after all rows, or must not see them
}

// LoadSQLite begins to make a database in a data directory, which is made if there is none and must have no database. The directory is this
// process's until Close. What another process left unfinished is removed.
func LoadSQLite(ctx context.Context, dir string) (_ Load, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	l := &sqliteLoad{dir: dir, work: filepath.Join(dir, unfinishedDirectory)}
	l.path = filepath.Join(l.work, sqliteFile)
	if l.unlock, err = LockDirectory(ctx, dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = l.Close(ctx)
		}
	}()
	if err := refuseDatabase(dir); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(l.work); err != nil {
		return nil, err
	}
	if err := os.Mkdir(l.work, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(l.path, nil, 0o600); err != nil {
		return nil, err
	}
	// There is nothing to roll back to: what is not finished is removed.
	q := url.Values{"_pragma": {"auto_vacuum(INCREMENTAL)", "journal_mode(OFF)", "synchronous(OFF)", "foreign_keys(OFF)", "cache_size(-65536)"}}
	if l.db, err = sql.Open("sqlite", "file:"+(&url.URL{Path: l.path}).EscapedPath()+"?"+q.Encode()); err != nil {
		return nil, err
	}
	l.db.SetMaxOpenConns(1)
	return l, nil
}

// Make implements Load. Indexes and triggers are made by Check, after all rows.
func (l *sqliteLoad) Make(ctx context.Context, layout Layout) error {
	l.layout = layout
	p, err := migrationsOf(l.db, goose.DialectSQLite3, "sqlite")
	if err != nil {
		return err
	}
	if err := applyMigrations(ctx, p, layout.Migrations); err != nil {
		return err
	}
	if l.conn, err = l.db.Conn(ctx); err != nil {
		return err
	}
	rows, err := l.conn.QueryContext(ctx, `SELECT type, name, sql FROM sqlite_schema
		WHERE type IN ('index', 'trigger') AND sql IS NOT NULL AND tbl_name <> 'goose_db_version' ORDER BY type, rowid`)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var drop []string
	for rows.Next() {
		var kind, name, text string
		if err := rows.Scan(&kind, &name, &text); err != nil {
			return err
		}
		drop = append(drop, `DROP `+kind+` `+QuoteName(name))
		l.later = append(l.later, text)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, t := range layout.Tables { // migrations may have stored rows
		drop = append(drop, `DELETE FROM `+QuoteName(t.Name))
	}
	return l.exec(ctx, drop...)
}

func (l *sqliteLoad) exec(ctx context.Context, statements ...string) error {
	for _, text := range statements {
		if _, err := l.conn.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%.60s: %w", text, err)
		}
	}
	return nil
}

// Copy implements Load.
func (l *sqliteLoad) Copy(ctx context.Context, t Table, r io.Reader) (err error) {
	if len(t.Columns) == 0 {
		return errors.New("a table without columns")
	}
	tx, err := l.conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback()
		}
	}()
	st, err := tx.PrepareContext(ctx, `INSERT INTO `+QuoteName(t.Name)+`(`+QuoteNames(t.Columns)+`) VALUES (?`+strings.Repeat(", ?", len(t.Columns)-1)+`)`)
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }()
	in := bufio.NewReaderSize(r, 1<<16)
	values := make([]any, len(t.Columns))
	for {
		if _, err := in.Peek(1); errors.Is(err, io.EOF) {
			return tx.Commit()
		}
		for i := range values {
			if values[i], err = readValue(in); err != nil {
				return fmt.Errorf("column %s: %w", t.Columns[i], err)
			}
		}
		if _, err := st.ExecContext(ctx, values...); err != nil {
			return err
		}
	}
}

// maxValue is the most that SQLite takes as one value.
const maxValue = 1_000_000_000

// readValue reads a value of a row as sqliteDump writes it. The end of what is read is io.ErrUnexpectedEOF.
func readValue(in *bufio.Reader) (any, error) {
	kind, err := in.ReadByte()
	if err != nil {
		return nil, noEOF(err)
	}
	switch kind {
	case sqliteNull:
		return nil, nil
	case sqliteInteger:
		v, err := binary.ReadVarint(in)
		return v, noEOF(err)
	case sqliteReal:
		var b [8]byte
		_, err := io.ReadFull(in, b[:])
		return math.Float64frombits(binary.BigEndian.Uint64(b[:])), noEOF(err)
	case sqliteText, sqliteBlob:
		n, err := binary.ReadUvarint(in)
		if err != nil {
			return nil, noEOF(err)
		}
		if n > maxValue {
			return nil, fmt.Errorf("a value of %d bytes", n)
		}
		b := make([]byte, n)
		if _, err := io.ReadFull(in, b); err != nil {
			return nil, noEOF(err)
		}
		if kind == sqliteText {
			return string(b), nil
		}
		return b, nil
	}
	return nil, fmt.Errorf("a value of the unknown type %d", kind)
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Check implements Load.
func (l *sqliteLoad) Check(ctx context.Context) (Dump, error) {
	if err := l.exec(ctx, l.later...); err != nil {
		return nil, err
	}
	l.later = nil
	if err := l.exec(ctx, `DELETE FROM sqlite_sequence WHERE name <> 'goose_db_version'`); err != nil {
		return nil, err
	}
	for _, s := range l.layout.Sequences {
		if _, err := l.conn.ExecContext(ctx, `INSERT INTO sqlite_sequence(name, seq) VALUES (?, ?)`, s.Name, s.Last); err != nil {
			return nil, err
		}
	}
	return DumpSQLite(ctx, l.work)
}

// Finish implements Load.
func (l *sqliteLoad) Finish(context.Context) error {
	if err := l.closeDB(); err != nil {
		return err
	}
	return putInPlace(l.path, l.dir)
}

// refuseDatabase returns an error for a data directory that has a database, or the log of one that was taken away: SQLite would copy the pages of that log
// into whatever database it finds beside it.
func refuseDatabase(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, sqliteFile)); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("%s has a database already", dir), err)
	}
	for _, name := range []string{sqliteFile + "-wal", sqliteFile + "-journal"} {
		info, err := os.Lstat(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
			continue
		}
		return errors.Join(fmt.Errorf("%s has %s, the log of a database that is not there: move it to where that database is", dir, name), err)
	}
	return nil
}

// putInPlace gives a database that is closed its place in a data directory, and removes the directory in which it was made.
func putInPlace(path, dir string) error {
	if err := durable.SyncFile(path); err != nil {
		return err
	}
	if err := os.Rename(path, filepath.Join(dir, sqliteFile)); err != nil {
		return err
	}
	if err := durable.SyncDirectory(dir); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Dir(path))
}

func (l *sqliteLoad) closeDB() error {
	var errs []error
	if l.conn != nil {
		errs = append(errs, l.conn.Close())
		l.conn = nil
	}
	if l.db != nil {
		errs = append(errs, l.db.Close())
		l.db = nil
	}
	return errors.Join(errs...)
}

// Close implements Load.
func (l *sqliteLoad) Close(context.Context) error {
	err := errors.Join(l.closeDB(), os.RemoveAll(l.work))
	l.unlock()
	return err
}
