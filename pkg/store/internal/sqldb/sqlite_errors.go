package sqldb

import (
	"context"
	"errors"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// sqliteCode returns SQLite's primary code of an error, SQLITE_OK for an error that is not SQLite's.
func sqliteCode(err error) int {
	var se *sqlite.Error
	if errors.As(err, &se) {
		return se.Code() & 0xff // without the extension
	}
	return sqlite3.SQLITE_OK
}

// Retryable reports whether somebody else had the lock for longer than busyMillis, such as a program that copies the database.
func (d *SQLite) Retryable(err error) bool { return isBusy(err) }

func isBusy(err error) bool {
	code := sqliteCode(err)
	return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_PROTOCOL // the latter: too many tries to begin a read
}

func (d *SQLite) Interrupted(err error) bool { return sqliteCode(err) == sqlite3.SQLITE_INTERRUPT }

// Unavailable reports whether the disk is full or fails, the file cannot be opened or written, or the store is closed: what an
// operator can mend, and clients may wait for.
func (d *SQLite) Unavailable(err error) bool {
	switch sqliteCode(err) {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PERM,
		sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_NOTADB:
		return true
	}
	return isMoved(err) || strings.HasPrefix(err.Error(), "sql: database is closed") // database/sql has no value for it
}

// Full reports whether the file system had no space. SQLite says so itself of most writes. Of others, such as those to the index of
// the log, it knows only that they failed: then the file system is asked.
func (d *SQLite) Full(err error) bool {
	switch sqliteCode(err) {
	case sqlite3.SQLITE_FULL:
		return true
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN:
		free, _, known, _ := d.Disk(context.Background())
		return known && free < fullBytes
	}
	return false
}

// fullBytes is how much must be free for a failed write not to be taken for one that found no space.
const fullBytes = 256 << 10
