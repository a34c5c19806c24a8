package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// conn runs statements, inside a transaction or outside. Statements are written with $1, $2 …
// on both databases.
type conn interface {
	exec(ctx context.Context, sql string, args ...any) (affected int64, err error)
	query(ctx context.Context, sql string, args ...any) (rows, error)
	// forUpdate ends a read that holds its rows for this transaction, where there are other
	// writers; it is empty outside of a transaction.
	forUpdate() string
	// id returns the argument form of an id.
	id(u uuid.UUID) any
	// ids is a condition that column is one of list, and its argument.
	anyID(column string, placeholder int, list []uuid.UUID) (cond string, args []any)
	// anyText is the same for texts.
	anyText(column string, placeholder int, list []string) (cond string, args []any)
	// anyNumber is the same for integers.
	anyNumber(column string, placeholder int, list []int64) (cond string, args []any)
}

type rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close()
}

// writeTx is one write transaction. The bulk operations are spelled differently by the databases.
type writeTx interface {
	conn
	// skipLocked is like forUpdate, and leaves out rows that another writer holds.
	skipLocked() string
	// deleted records that this transaction deletes something that is to be erased from the files, too.
	deleted(ctx context.Context) error
	// counts returns what this transaction changes in the number of events.
	counts() eventCounts
	// begin sets what treeFixer, fieldIndex and outbox return.
	begin(*treeFixer, *fieldIndexUpdate, *outbox)
	treeFixer() *treeFixer
	fieldIndex() *fieldIndexUpdate
	outbox() *outbox
	// upsertTraces records which session each trace belongs to: the stored one, or that of a
	// smaller rank. It sets the rows to what is stored afterwards, and former to the session
	// that gave way to another one.
	upsertTraces(ctx context.Context, traces []*traceRow) error
	// upsertSessions adds each delta to its session's row, making the row if there is none,
	// and sets state to the row as it is afterwards.
	upsertSessions(ctx context.Context, deltas []*sessionDelta) error
	// nextChunkID hands out an unused chunk id.
	nextChunkID(ctx context.Context) (int64, error)
	insertChunks(ctx context.Context, chunks []chunkRow) error
	// insertHeads inserts rows. errConflict if another writer of the same database inserted
	// one of the keys meanwhile.
	insertHeads(ctx context.Context, heads []*head) error
	// addIDs keeps, for findEvents and the filters, where events are found that this transaction
	// stores on a day; removeIDs undoes it for rows that it took from a day.
	addIDs(ctx context.Context, project int64, day int32, ids ...uuid.UUID) error
	removeIDs(ctx context.Context, project int64, day int32, ids ...uuid.UUID) error
	// findEvents looks for ids of one project in the given places, and returns the day of each id
	// that is there. It takes a bounded number of statements for each id, whatever is stored.
	findEvents(ctx context.Context, projectID int64, ids []idDays) (map[uuid.UUID]int32, error)
	// moveEvents puts all events of a session but its session event under another session; if
	// trace is not 0, those of that trace whose session is not their own.
	moveEvents(ctx context.Context, projectID int64, from, to uuid.UUID, trace int64) error
}

// idDays is an id and the days on which it may stand.
type idDays struct {
	id   uuid.UUID
	days []int32 // nil, and far is not set: any day
	far  bool    // also where ids are not found by day
}

// database is one open database.
type database interface {
	conn // reads outside a transaction
	// write runs f in a transaction of the writer's connection and commits durably if f returns nil.
	// Callers run the same closures again in a new transaction if this one fails: see request.apply.
	write(ctx context.Context, writer int, f func(writeTx) error) error
	// writers returns how many transactions write at once: 1 where this process is the only writer, and
	// else 2 or more, whether there are other processes or not.
	writers() int
	// ready makes room for events of these days. It runs outside any transaction. anew is set if
	// a transaction failed since it was called.
	ready(ctx context.Context, days []int32, anew bool) error
	// tidy frees the room of what is not stored any more.
	tidy(ctx context.Context) error
	// retryable reports whether the same transaction may succeed if it is run again.
	retryable(err error) bool
	// interrupted reports whether a statement ran out of its time.
	interrupted(err error) bool
	// unavailable reports whether the database cannot be reached or is out of space.
	unavailable(err error) bool
	// track hands the database the filters of ids, before anything is written.
	track(ids *idFilter, today func() int32)
	// days lists the days that filters are to be built for, newest first, farDay among them.
	days(ctx context.Context) ([]projectDay, error)
	// idsOf calls f with each id that the filter of a day must have.
	idsOf(ctx context.Context, day projectDay, f func(uuid.UUID) error) error
	// farDays returns the days on which an id may stand that is not found by day. Where a statement
	// finds ids on all days, it returns none.
	farDays(ctx context.Context, c conn, project int64, id uuid.UUID) ([]int32, error)
	// quick reads outside a transaction by connections that no search takes: keys, and what
	// ingestion must know.
	quick() conn
	// readers returns how many connections read at once, in addition to the quick ones.
	readers() int
	// bound limits the time of one reading statement; 0 is no limit.
	bound(read time.Duration)
	frag() fragments
	// eraseDue returns a channel that signals a deletion, and erase removes from the database's files, as far
	// as they are the store's own, what was deleted until it was called.
	eraseDue() <-chan struct{}
	erase(ctx context.Context, change changer) error
	close(ctx context.Context) error
}

// fragments are the pieces of SQL that the databases spell differently.
type fragments struct {
	from        string // events as e, with what is needed to name their session
	sessionID   string // the session id of row e
	bySession   string // condition on event alone: of session $2 of project $1
	contains    string // format: column, placeholder: the column contains the text, with regard to case
	chunkDay    string // condition on chunk: on day $2, where chunks are kept by day
	jsonPairs   string // format: placeholder: a table of the pairs of an array [[text, integer]]: n from 1, name, number
	apart       string // ends a subquery whose columns are computed once for each row, not once for each use
	linkedEvent string // of datapoint: the event of which it was made, as text; NULL: none
	lock        string // ends a read of e that holds the row for this transaction, where there are other writers
}

// scanID reads an id from either database; NULL reads as the zero id.
type scanID struct{ to *uuid.UUID }

// Scan implements sql.Scanner.
func (s scanID) Scan(src any) error {
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
