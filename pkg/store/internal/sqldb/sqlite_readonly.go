package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"go.uber.org/zap"
)

// ErrReadOnly is returned by writes to a database that was opened for reading.
var ErrReadOnly = errors.New("the database was opened for reading only")

// OpenSQLiteReadOnly opens the database of a data directory to look at it: beside a server that uses the directory, or without one. It
// takes no lock, brings no schema up to date and writes nothing. Snapshot and Query are what it is for; Write fails.
//
// Where the directory may not be written and no server has the log's index in memory, SQLite cannot read a database with a log. If there is
// no log, or an empty one, the file is read as one that nobody changes.
func OpenSQLiteReadOnly(ctx context.Context, dir string) (*SQLite, error) {
	path, err := filepath.Abs(filepath.Join(dir, sqliteFile))
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s holds no database: there is no file %s", dir, sqliteFile)
		}
		return nil, err
	}
	d, err := openReadOnly(ctx, path, false)
	if err != nil && d.Unavailable(err) && emptyLog(path) {
		_ = d.Close(ctx)
		d, err = openReadOnly(ctx, path, true)
		d.asIs = info
	}
	if err != nil {
		_ = d.Close(ctx)
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return d, nil
}

// unchanged returns an error if the file has changed of a database that is read as one that nobody changes: a server has begun to use it, and what was
// read may be of two moments.
func (d *SQLite) unchanged() error {
	if d.asIs == nil {
		return nil
	}
	info, err := os.Stat(filepath.Join(d.dir, sqliteFile))
	if err == nil && (info.Size() != d.asIs.Size() || !info.ModTime().Equal(d.asIs.ModTime())) {
		err = fmt.Errorf("%s has changed while it was read, since a server has started: run it again beside that server", filepath.Join(d.dir, sqliteFile))
	}
	return err
}

// emptyLog reports whether nothing waits in the database's log.
func emptyLog(path string) bool {
	info, err := os.Stat(path + "-wal")
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
}

// openReadOnly opens the connections and reads the schema by one. What it returns is to be closed also if there is an error.
func openReadOnly(ctx context.Context, path string, immutable bool) (*SQLite, error) {
	q := url.Values{"mode": {"ro"}, "_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busyMillis), "temp_store(MEMORY)", "query_only(ON)", fmt.Sprintf("cache_size(-%d)", sqliteReadCacheKB),
	}}
	if immutable {
		q.Set("immutable", "1")
	}
	d := &SQLite{wal: path + "-wal", dir: filepath.Dir(path), log: zap.NewNop(), stmts: newStatements(),
		stop: make(chan struct{}), deletedKick: make(chan struct{}, 1)}
	var err error
	if d.reads, err = sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode()); err != nil {
		return d, err
	}
	d.reads.SetMaxOpenConns(sqliteReaders)
	d.reads.SetMaxIdleConns(sqliteReaders)
	d.quickReads = d.reads
	var n int
	return d, d.reads.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&n)
}
