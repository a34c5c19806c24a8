package query

import (
	"github.com/google/uuid"
)

// Dialect is what the two databases spell differently. The head table is event, alias e; the
// session table is session, alias s.
//
// In the JSON methods, column is a JSON column and path a placeholder that jsonPath gave; the
// conditions are false or NULL where the path is absent or null, and never an error.
type Dialect interface {
	// Placeholder returns the place of argument n, from 1.
	Placeholder(n int) string
	// UUID returns an id as an argument.
	UUID(id uuid.UUID) any
	// From reads events with their sessions: a FROM clause's text, in which SessionID holds.
	From() string
	// FromBySeq is From for events of a range of seq, which are read in that order.
	FromBySeq() string
	// FromSessions reads session events with their sessions, alias s, in which SessionID holds.
	FromSessions() string
	// SessionID returns the id of the event's session, in a statement that reads From.
	SessionID() string
	// OfSession is the condition that an event is of session $2 of project $1. It needs only event.
	OfSession() string
	// Contains looks for a text in another, with regard to case. Unlike LIKE it has no wildcards to escape.
	Contains(text, needle string) string
	// SessionIs returns the condition that an event is of a session. It needs only event.
	SessionIs(b *Builder, projectID int64, id uuid.UUID) string

	// NoIndex returns a column as one whose index SQLite does not use. It would take that of a project, which leads to all that the project
	// has stored, before that of a list of sessions.
	NoIndex(column string) string
	// SessionIn returns the condition that an event is of one of the sessions. It needs only event.
	SessionIn(b *Builder, projectID int64, ids []uuid.UUID) string

	// sessionOf is SessionID in a statement that reads only event.
	sessionOf() string
	// sessionKey is the column of event by which an event names its session.
	sessionKey() string
	// ofSession reads an expression over the row s of the event's session.
	ofSession(expr string) string
	// rounded is a double to costDecimals decimals.
	rounded(expr string) string
	// sessionInRun is the condition that the event's session belongs to a run.
	sessionInRun(project, run string) string
	// uuidText is an id's usual text, in lower case.
	uuidText(expr string) string
	// byCodePoint marks a text so that it is ordered by code point.
	byCodePoint(text string) string

	// jsonPaths adds a path of keys and indexes as an argument, or more than one where a segment
	// may be both. At most one of them leads to a value.
	jsonPaths(b *Builder, path []string) []string
	// jsonNumberValue is a number as a double and a boolean as 1 or 0, NULL if the value is neither.
	jsonNumberValue(column, path string) string
	// jsonRaw is the JSON of a value, NULL if absent.
	jsonRaw(column, path string) string
	// floorDiv is the whole number of units, size long, that fit under a double.
	floorDiv(expr string, size float64) string
	// inAnyRun is the condition that the event or its session belongs to a run.
	inAnyRun(project string) string
	// jsonFilled is the condition that a column holds an object or array that is not empty.
	jsonFilled(column string) string
	// jsonEmpty is the condition that a value is absent, null, or an empty text, object or array.
	jsonEmpty(column, path string) string
	// jsonText is the text of a value, NULL if absent or null.
	jsonText(column, path string) string
	// jsonIs compares with strings, also as the numbers and the booleans that their texts read as.
	jsonIs(column, path string, v textArg) string
	// jsonIsUUID compares in lower case; is is the rest of the condition, such as "= ?1", with UUIDs in lower case.
	jsonIsUUID(column, path, is string) string
	// jsonContains looks for a text in a string, or in any string inside an object or array; keys do not count.
	jsonContains(column, path, text string) string
	// jsonString is the text of a string, ordered by code point; NULL if the value is none. An operator on
	// texts that both databases have needs no more of them.
	jsonString(column, path string) string
	// jsonNumber compares a number as a double; is is the rest of the condition, such as "> ?1" or "IN (?1, ?2)".
	jsonNumber(column, path, is string) string
	// jsonBoolean compares with true or false; any other value is neither.
	jsonBoolean(column, path string, truth bool) string
}

// textArg has the values of a string filter in SQL.
type textArg struct {
	texts []string // placeholders of all values
	nums  []string // placeholders of the numbers that some of the texts read as
	words []string // "true" and "false", if one of the texts is that
	open  bool     // a text could also be the text of an object or array
}

// plain reports whether only a string can be one of the values.
func (v *textArg) plain() bool { return len(v.nums) == 0 && len(v.words) == 0 && !v.open }

// The two databases.
var (
	SQLite   Dialect = sqlite{}
	Postgres Dialect = postgres{}
)
