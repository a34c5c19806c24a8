package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// conn reads, inside a transaction or outside. Statements are written with $1, $2 … on both
// databases.
type conn interface {
	spelling
	query(ctx context.Context, sql string, args ...any) (rows, error)
	// forUpdate ends a read that holds the rows of a table for this transaction, where there are other
	// writers; it is empty outside of a transaction. table is needed if the statement reads several.
	forUpdate(table string) string
}

type rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close()
}

// spelling is SQL that the databases write differently and that knows no table of ours; what they
// write differently about events is query.Dialect.
type spelling interface {
	// id returns the argument form of an id.
	id(u uuid.UUID) any
	// anyID returns the condition that column is one of list, and its arguments.
	anyID(column string, placeholder int, list []uuid.UUID) (cond string, args []any)
	// anyText is the same for texts.
	anyText(column string, placeholder int, list []string) (cond string, args []any)
	// anyNumber is the same for integers.
	anyNumber(column string, placeholder int, list []int64) (cond string, args []any)
	// jsonPairs returns a table of the pairs of an array [[text, integer]]: n from 1, name, number.
	jsonPairs(placeholder string) string
	// fence ends a subquery whose columns are computed once for each row, not once for each use.
	fence() string
}

// writeTx is one write transaction.
type writeTx interface {
	conn
	exec(ctx context.Context, sql string, args ...any) (affected int64, err error)
	// skipLocked is like forUpdate, and leaves out rows that another writer holds.
	skipLocked() string
	// deleted records that this transaction deletes something that is to be erased from the files, too.
	deleted(ctx context.Context) error
}

// database is one open database.
type database interface {
	conn // reads outside a transaction
	// write runs f in a transaction and commits durably if f returns nil. Callers run the same
	// closures again in a new transaction if this one fails: see writeRequest.apply.
	write(ctx context.Context, f func(writeTx) error) error
	// writers returns how many transactions write at once.
	writers() int
	// exclusive reports whether this process is the only one that writes, with one transaction at a
	// time: what it remembers of the database is then true.
	exclusive() bool
	// retryable reports whether the same transaction may succeed if it is run again.
	retryable(err error) bool
	// interrupted reports whether a statement ran out of its time.
	interrupted(err error) bool
	// unavailable reports whether the database cannot be reached or is out of space.
	unavailable(err error) bool
	// quick reads outside a transaction by connections that no search takes: keys, and what
	// ingestion must know.
	quick() conn
	// readers returns how many connections read at once, in addition to the quick ones.
	readers() int
	// bound limits the time of one reading statement; 0 is no limit.
	bound(read time.Duration)
	// eraseDue returns a channel that signals a deletion, and erase removes from the database's files, as far
	// as they are the store's own, what was deleted until it was called.
	eraseDue() <-chan struct{}
	erase(ctx context.Context, change changer) error
	close(ctx context.Context) error
}

// changer runs f in a transaction of a writer.
type changer func(ctx context.Context, f func(context.Context, writeTx) error) error

// scanID returns a destination that reads an id from either database; NULL reads as the zero id.
func scanID(to *uuid.UUID) sql.Scanner { return idScanner{to} }

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

// one runs a query for at most one row and reports whether there was one.
func one(ctx context.Context, c conn, sql string, args []any, dest ...any) (bool, error) {
	rs, err := c.query(ctx, sql, args...)
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

// each runs a query and calls f for every row.
func each(ctx context.Context, c conn, sql string, args []any, f func(scan func(...any) error) error) error {
	rs, err := c.query(ctx, sql, args...)
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

// blob is bytes as an argument, nil as NULL.
func blob(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

// text returns a JSON field as an argument.
func text(b []byte) any {
	if b == nil {
		return nil
	}
	return string(b)
}

func nullText(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// oneOf returns a condition that column is one of n texts, the first of which is argument first.
func oneOf(column string, first, n int) string {
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

// idsPerQuery bounds the ids that one statement asks for.
const idsPerQuery = 500

// number returns a boolean as an integer column stores it.
func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// flag returns a boolean as a bigint column stores it.
func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
