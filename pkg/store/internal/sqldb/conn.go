// Package sqldb reads and writes a database by SQL: SQLite, embedded in this process, or PostgreSQL.
//
// A DB reads outside of transactions and runs write transactions. Statements are written once, with
// $1, $2 … for arguments; what the databases spell differently is asked of Spelling. The package knows the
// schema only by its migrations, one folder for each database, and knows nothing of what the rows mean.
//
// SQLite has one connection that writes, and others that read; it checkpoints in the background, and
// erases deleted text from its files (sqlite_erase.go). PostgreSQL has pools of connections for
// writers, quick reads and all others. Reads are bounded in time (read_timeout.go).
package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Conn reads, inside a transaction or outside. Statements are written with $1, $2 … on both
// databases.
type Conn interface {
	Spelling
	Query(ctx context.Context, sql string, args ...any) (Rows, error)
	// ForUpdate ends a read that holds the rows of a table for this transaction, where there are other
	// writers; it is empty outside of a transaction. table is needed if the statement reads several.
	ForUpdate(table string) string
}

// Rows are the rows of a query. Close must be called: until then they have a connection outside of a transaction, and in
// one they keep PostgreSQL's connection busy, so that the next statement fails.
type Rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close()
}

// Spelling is SQL that the databases write differently and that knows no table of ours; what they
// write differently about events is query.Dialect.
type Spelling interface {
	// ID returns the argument form of an id.
	ID(u uuid.UUID) any
	// AnyID returns the condition that column is one of list, and its arguments, numbered from placeholder. PostgreSQL takes the
	// list as one argument; SQLite takes an argument for each id, so the text of the statement depends on the length. Of an
	// empty list no row is one.
	AnyID(column string, placeholder int, list []uuid.UUID) (cond string, args []any)
	// AnyText is the same for texts.
	AnyText(column string, placeholder int, list []string) (cond string, args []any)
	// AnyNumber is the same for integers.
	AnyNumber(column string, placeholder int, list []int64) (cond string, args []any)
	// JSONPairs returns a table of the pairs of an array [[text, integer]]: n from 1, name, number.
	JSONPairs(placeholder string) string
	// Fence ends a subquery whose columns are computed once for each row, not once for each use.
	Fence() string
}

// Tx is one write transaction.
type Tx interface {
	Conn
	Exec(ctx context.Context, sql string, args ...any) (affected int64, err error)
	// SkipLocked is like ForUpdate, and leaves out rows that another writer holds.
	SkipLocked() string
	// Lock makes every other transaction, of any server, that locks the same name wait until this one ends. What is read
	// after it includes what they committed. It is for rules over rows of which none stands for all, such as how many there may
	// be: where one does, ForUpdate is enough.
	Lock(ctx context.Context, name string) error
	// Changes returns how many statements have run in it so far that may have written.
	Changes() int
	// Deleted records that this transaction deletes something that is to be erased from the files, too.
	Deleted(ctx context.Context) error
}

// changes counts statements that may have written: all that do not begin with SELECT.
type changes int

func (c *changes) count(statement string) {
	if !strings.HasPrefix(strings.TrimLeft(statement, " \t\n"), "SELECT") {
		*c++
	}
}

// DB is one open database.
type DB interface {
	Conn // reads outside a transaction
	// Write runs f in a transaction and commits durably if f returns nil. Callers run the same
	// closures again in a new transaction if this one fails: see writer.Request. At most Writers transactions are begun
	// at once; SQLite's does not check that, so only the pool of writers calls it.
	Write(ctx context.Context, f func(Tx) error) error
	// Writers returns how many transactions write at once.
	Writers() int
	// Exclusive reports whether this process is the only one that writes, with one transaction at a
	// time: what it remembers of the database is then true.
	Exclusive() bool
	// Retryable reports whether the same transaction may succeed if it is run again.
	Retryable(err error) bool
	// Interrupted reports whether a statement ran out of its time.
	Interrupted(err error) bool
	// Unavailable reports whether the database cannot be reached or is out of space.
	Unavailable(err error) bool
	// Full reports whether the database had no space to write. Such an error is Unavailable, too.
	Full(err error) bool
	// Snapshot calls f with a connection all of whose reads see the database as it is at the first of them. f must close the rows of one
	// read before the next, and must not use the connection from several goroutines at once. If a replica fails meanwhile, f is called once
	// more, to begin anew.
	Snapshot(ctx context.Context, f func(Conn) error) error
	// Quick reads outside a transaction by connections that no search takes: keys, and what
	// ingestion must know.
	Quick() Conn
	// Readers returns how many connections read at once, in addition to the quick ones.
	Readers() int
	// ReplicaReads returns how many reads that a replica may answer (FromReplica) it has answered, and how many the database itself.
	ReplicaReads() (replica, itself int64)
	// DiskBytes returns what the database takes on disk.
	DiskBytes(ctx context.Context) (int64, error)
	// Describe returns which database it is.
	Describe(ctx context.Context) (Description, error)
	// Disk returns what is free and what there is, in bytes, of the file system of the database's files; ok is false if the files are
	// not the store's own.
	Disk(ctx context.Context) (free, total int64, ok bool, err error)
	// TableBytes lists what the tables take on disk. What it costs may grow with the files.
	TableBytes(ctx context.Context) ([]TableBytes, error)
	// Bound limits the time of one reading statement; 0 is no limit.
	Bound(read time.Duration)
	// Statements returns how many statements transactions have run.
	Statements() int64
	// EraseDue returns a channel that signals a deletion, and erase removes from the database's files, as far
	// as they are the store's own, what was deleted until it was called. It calls first when it has something to do: what that deletes is
	// removed as well.
	EraseDue() <-chan struct{}
	Erase(ctx context.Context, first func(context.Context) error, change Changer) error
	// GiveBack gives room that is free now back to the file system, if it is much and the files are the store's own.
	GiveBack(ctx context.Context, change Changer) error
	Close(ctx context.Context) error
}

// Description says which database it is.
type Description struct {
	Kind        string
	Version     string
	Directory   string // of its files; empty if they are not the store's own
	Synchronous string // how it syncs, where that can be chosen
}

// TableBytes is what a table takes. What belongs to no table has the name "".
type TableBytes struct {
	Name    string
	Table   int64 // its rows, long values among them
	Indexes int64
}

// Changer runs f in a transaction of a writer.
type Changer func(ctx context.Context, f func(context.Context, Tx) error) error

// ScanID returns a destination that reads an id from either database; NULL reads as the zero id.
func ScanID(to *uuid.UUID) sql.Scanner { return idScanner{to} }

type idScanner struct{ to *uuid.UUID }

// Scan implements sql.Scanner.
func (s idScanner) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*s.to = uuid.Nil
		return nil
	case []byte:
		if len(v) == 16 {
			copy(s.to[:], v)
			return nil
		}
		return fmt.Errorf("id of %d bytes", len(v))
	case string:
		u, err := uuid.Parse(v)
		*s.to = u
		return err
	case [16]byte:
		*s.to = v
		return nil
	default:
		return fmt.Errorf("id of type %T", src)
	}
}

// One runs a query for at most one row and reports whether there was one.
func One(ctx context.Context, c Conn, sql string, args []any, dest ...any) (bool, error) {
	rs, err := c.Query(ctx, sql, args...)
	if err != nil {
		return false, err
	}
	defer rs.Close()
	if !rs.Next() {
		return false, rs.Err()
	}
	if err := rs.Scan(dest...); err != nil {
		return false, err
	}
	return true, rs.Err()
}

// Each runs a query and calls f for every row, until f returns an error, which is then that of Each. f must not read by the same
// transaction, and had better not read outside of one: it would hold one connection while it waits for another.
func Each(ctx context.Context, c Conn, sql string, args []any, f func(scan func(...any) error) error) error {
	rs, err := c.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer rs.Close()
	for rs.Next() {
		if err := f(rs.Scan); err != nil {
			return err
		}
	}
	return rs.Err()
}

// Blob is bytes as an argument, nil as NULL.
func Blob(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

// Text returns a JSON field as an argument.
func Text(b []byte) any {
	if b == nil {
		return nil
	}
	return string(b)
}

// NullText returns a text as an argument, an empty one as NULL.
func NullText(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// OneOf returns a condition that column is one of n texts, the first of which is argument first.
func OneOf(column string, first, n int) string {
	var b strings.Builder
	b.WriteString(column + " IN (")
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("$" + strconv.Itoa(first+i))
	}
	b.WriteByte(')')
	return b.String()
}

// IDsPerQuery bounds the ids that one statement asks for: SQLite has a placeholder for each. Callers with longer lists read in
// groups.
const IDsPerQuery = 500

// BoolInt returns a boolean as an integer column stores it.
func BoolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Bool64 returns a boolean as a bigint column stores it.
func Bool64(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
