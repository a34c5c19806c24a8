package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/pressly/goose/v3"
)

// OpenSQLiteBeside opens the database of a data directory for reading and writing, by one connection, while a server may use it: only
// for tables and triggers of which the server remembers nothing.
func OpenSQLiteBeside(ctx context.Context, dir string) (*sql.DB, error) {
	path, err := filepath.Abs(filepath.Join(dir, sqliteFile))
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("there is no store in %s: %w", dir, err)
	}
	return openSQLiteFile(ctx, path, "synchronous(FULL)", fmt.Sprintf("busy_timeout(%d)", 2*busyMillis), "cache_size(-32768)")
}

func openSQLiteFile(ctx context.Context, path string, pragmas ...string) (*sql.DB, error) {
	q := url.Values{"_pragma": append(pragmas, "temp_store(MEMORY)", "foreign_keys(OFF)", "secure_delete(ON)")}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Busy reports whether somebody else had the lock that a statement needs.
func Busy(err error) bool { return isBusy(err) }

// UnfinishedSQLite is a database that is being made for a data directory, which is locked meanwhile. What is committed stays.
type UnfinishedSQLite struct {
	DB     *sql.DB
	dir    string
	path   string
	unlock func()
}

// NearDays is how many days before today have filters of ids when they begin to hold events. Events of other days are listed by id.
const NearDays = 31

// movingDirectory is where a database is made. It is not that of a restore, which begins anew each time.
const movingDirectory = "unfinished-move"

// MakeSQLite begins to make a database for a data directory, which must have none, or goes on with it. Its schema is that of this program.
func MakeSQLite(ctx context.Context, dir string) (_ *UnfinishedSQLite, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	u := &UnfinishedSQLite{dir: dir, path: filepath.Join(dir, movingDirectory, sqliteFile)}
	if err := os.MkdirAll(filepath.Dir(u.path), 0o700); err != nil {
		return nil, err
	}
	if u.unlock, err = LockDirectory(ctx, dir); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	defer func() {
		if err != nil {
			_ = u.Close()
		}
	}()
	if err := refuseDatabase(dir); err != nil {
		return nil, err
	}
	if f, err := os.OpenFile(u.path, os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return nil, err
	} else if err := f.Close(); err != nil {
		return nil, err
	}
	if u.DB, err = openSQLiteFile(ctx, u.path, "auto_vacuum(INCREMENTAL)", "journal_mode(WAL)", "synchronous(NORMAL)", "cache_size(-65536)"); err != nil {
		return nil, err
	}
	p, err := migrationsOf(u.DB, goose.DialectSQLite3, "sqlite")
	if err != nil {
		return nil, err
	}
	_, err = p.Up(ctx)
	return u, err
}

// Finish gives the database its place. Closing it would leave in its log what cannot be copied back, and say nothing.
func (u *UnfinishedSQLite) Finish(ctx context.Context) error {
	var busy, logged, copied int
	if err := u.DB.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &logged, &copied); err != nil {
		return fmt.Errorf("copy the log into the database: %w", err)
	}
	if busy != 0 {
		return errors.New("the new database is in use by another process")
	}
	if err := u.DB.Close(); err != nil {
		return err
	}
	u.DB = nil
	return putInPlace(u.path, u.dir)
}

// Close ends the work. What is not finished stays where it is, to go on with.
func (u *UnfinishedSQLite) Close() (err error) {
	if u.DB != nil {
		err = u.DB.Close()
	}
	u.unlock()
	return err
}
