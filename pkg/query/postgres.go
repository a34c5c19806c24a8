package query

import (
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// postgres: ids are uuid, JSON columns are json (not jsonb), so that numbers keep their digits.
//
// A cast of a text that is not a number is an error, so it stands inside a CASE on json_typeof.
type postgres struct{}

func (postgres) Placeholder(n int) string { return "$" + strconv.Itoa(n) }
func (postgres) UUID(id uuid.UUID) any    { return [16]byte(id) }
func (postgres) From() string             { return "event AS e" }
func (d postgres) FromBySeq() string      { return d.From() }
func (postgres) SessionID() string        { return "e.session_id" }
func (postgres) sessionKey() string       { return "e.session_id" }

// NoIndex has nothing to do: the planner knows how many rows a project has.
func (postgres) NoIndex(column string) string { return column }

func (postgres) FromSessions() string {
	return "event AS e JOIN session AS s ON s.project_id = e.project_id AND s.session_id = e.session_id"
}

func (postgres) OfSession() string { return "session_id = $2 AND project_id = $1" }

func (postgres) SessionIs(b *Builder, _ int64, id uuid.UUID) string {
	return "e.session_id = " + b.UUID(id)
}

func (postgres) SessionIn(b *Builder, _ int64, ids []uuid.UUID) string {
	list := make([][16]byte, len(ids))
	for i, id := range ids {
		list[i] = id
	}
	return "e.session_id = ANY(" + b.Arg(list) + "::uuid[])"
}

func (postgres) sessionOf() string { return "e.session_id" }

func (postgres) ofSession(expr string) string {
	return "(SELECT " + expr + " FROM session s WHERE s.project_id = e.project_id AND s.session_id = e.session_id)"
}

func (postgres) sessionInRun(project, run string) string {
	return "e.session_id IN (SELECT session_id FROM session WHERE project_id = " + project + " AND run_id = " + run + ")"
}

func (postgres) uuidText(expr string) string { return "(" + expr + ")::text" }

func (postgres) Contains(text, needle string) string {
	return "strpos(" + text + ", " + needle + ") > 0"
}

func (postgres) byCodePoint(text string) string { return text + ` COLLATE "C"` }

// jsonPaths: a segment of digits is an index on an array and a key on an object, as for us.
func (postgres) jsonPaths(b *Builder, path []string) []string {
	return []string{b.Arg(append([]string{}, path...))}
}

// jsonFilled looks at the text: json, unlike jsonb, cannot be compared with {}.
func (postgres) jsonFilled(column string) string {
	return "(" + column + `::text ~ '^\s*(\{\s*\}|\[\s*\])\s*$') = FALSE`
}

// jsonEmpty looks at the text, as jsonFilled does.
func (d postgres) jsonEmpty(column, path string) string {
	return "coalesce(" + d.jsonRaw(column, path) + `, 'null') ~ '^\s*(null|""|\{\s*\}|\[\s*\])\s*$'`
}

func (postgres) jsonText(column, path string) string {
	return "(" + column + " #>> " + path + ")"
}

// jsonNumberValue reads the path once, which is what costs: no other JSON text begins as a
// number does, and no number holds a word.
func (postgres) jsonNumberValue(column, path string) string {
	return "substring(replace(replace((" + column + " #> " + path + ")::text, 'true', '1'), 'false', '0') FROM '^[-0-9].*')::float8"
}

func (postgres) jsonRaw(column, path string) string { return "(" + column + " #> " + path + ")::text" }

func (postgres) floorDiv(expr string, size float64) string {
	return "floor((" + expr + ") / " + strconv.FormatFloat(size, 'f', 1, 64) + ")::bigint"
}

func (postgres) inAnyRun(project string) string {
	return "(e.run_id IS NOT NULL OR e.session_id IN" +
		" (SELECT session_id FROM session WHERE project_id = " + project + " AND run_id IS NOT NULL))"
}

// jsonIs compares the text alone if only a string can be equal. Otherwise the type decides how to compare: #>> returns
// "5" for the number and for the string.
func (d postgres) jsonIs(column, path string, v textArg) string {
	at := d.jsonText(column, path)
	if v.plain() {
		return at + " " + isOneOf(v.texts)
	}
	var s strings.Builder
	s.WriteString("CASE json_typeof(" + column + " #> " + path + ") WHEN 'string' THEN " + at + " " + isOneOf(v.texts))
	if len(v.nums) > 0 {
		s.WriteString(" WHEN 'number' THEN " + at + "::float8 " + isOneOf(v.nums))
	}
	if len(v.words) > 0 {
		s.WriteString(" WHEN 'boolean' THEN " + at + " " + isOneOf(quoted(v.words)))
	}
	s.WriteString(" ELSE FALSE END")
	return s.String()
}

// quoted returns our own words as texts of SQL.
func quoted(words []string) []string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = "'" + word + "'"
	}
	return list
}

func (postgres) jsonIsUUID(column, path, is string) string {
	return "lower((" + column + " #>> " + path + `) COLLATE "C") ` + is
}

// jsonContains walks objects and arrays as jsonb. Its numbers have at most 16383 decimals, which
// a field of the head is too short for.
func (postgres) jsonContains(column, path, text string) string {
	return "CASE json_typeof(" + column + " #> " + path + ") WHEN 'string' THEN strpos(" + column + " #>> " + path + ", " + text + ") > 0" +
		" WHEN 'number' THEN FALSE WHEN 'boolean' THEN FALSE WHEN 'null' THEN FALSE" +
		" ELSE EXISTS (SELECT 1 FROM jsonb_path_query((" + column + " #> " + path + `)::jsonb, 'strict $.** ? (@.type() == "string")') AS j` +
		" WHERE strpos(j #>> '{}', " + text + ") > 0) END"
}

func (postgres) jsonString(column, path string) string {
	return "CASE json_typeof(" + column + " #> " + path + ") WHEN 'string' THEN (" + column + " #>> " + path + `) COLLATE "C" END`
}

func (postgres) jsonNumber(column, path, is string) string {
	return "CASE json_typeof(" + column + " #> " + path + ")" +
		" WHEN 'number' THEN (" + column + " #>> " + path + ")::float8 " + is +
		" ELSE FALSE END"
}

func (postgres) jsonBoolean(column, path string, truth bool) string {
	return "CASE json_typeof(" + column + " #> " + path + ")" +
		" WHEN 'boolean' THEN (" + column + " #>> " + path + ") = '" + strconv.FormatBool(truth) + "'" +
		" ELSE FALSE END"
}

func (postgres) rounded(expr string) string {
	// By its text: as numeric, PostgreSQL keeps 15 digits of a double.
	return "round((" + expr + ")::text::numeric, " + strconv.Itoa(costDecimals) + ")::float8"
}
