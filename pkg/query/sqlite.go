package query

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// sqlite: ids are BLOBs, an event points to its session by a small number, JSON is text.
//
// Its ->> gives integers, reals and 0 or 1 for JSON's numbers and booleans, and any text is
// greater than any number, so json_type guards every comparison that could be fooled.
//
// It reads a number's first nineteen digits: one of more digits may come out as the double next
// to the nearest, which only "is" and bounds that close to it can tell.
type sqlite struct{}

func (sqlite) Placeholder(n int) string { return "?" + strconv.Itoa(n) }
func (sqlite) UUID(id uuid.UUID) any    { return id[:] }
func (sqlite) From() string {
	return "event AS e JOIN session AS s ON s.session_rowid = e.session_rowid"
}

// FromBySeq keeps SQLite from any index: seq is the key of the table itself.
func (sqlite) FromBySeq() string {
	return "event AS e NOT INDEXED CROSS JOIN session AS s ON s.session_rowid = e.session_rowid"
}

func (d sqlite) FromSessions() string { return d.From() }
func (sqlite) SessionID() string      { return "s.session_id" }
func (sqlite) sessionKey() string     { return "e.session_rowid" }

func (sqlite) NoIndex(column string) string { return "+" + column }

func (sqlite) OfSession() string {
	return "session_rowid = (SELECT session_rowid FROM session WHERE project_id = $1 AND session_id = $2)"
}

func (sqlite) SessionIs(b *Builder, projectID int64, id uuid.UUID) string {
	return "e.session_rowid = (SELECT session_rowid FROM session" +
		" WHERE project_id = " + b.Arg(projectID) + " AND session_id = " + b.UUID(id) + ")"
}

// SessionIn hands all ids over as one JSON text, since there is a bound on arguments.
func (sqlite) SessionIn(b *Builder, projectID int64, ids []uuid.UUID) string {
	list := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(hex.AppendEncode(append(list, '"'), id[:]), '"')
	}
	return "e.session_rowid IN (SELECT session_rowid FROM session WHERE project_id = " + b.Arg(projectID) +
		" AND session_id IN (SELECT unhex(value) FROM json_each(" + b.Arg(string(append(list, ']'))) + ")))"
}

func (sqlite) sessionOf() string {
	return "(SELECT session_id FROM session WHERE session_rowid = e.session_rowid)"
}

func (sqlite) ofSession(expr string) string {
	return "(SELECT " + expr + " FROM session s WHERE s.session_rowid = e.session_rowid)"
}

func (sqlite) sessionInRun(project, run string) string {
	return "e.session_rowid IN (SELECT session_rowid FROM session WHERE project_id = " + project + " AND run_id = " + run + ")"
}

// uuidText takes the hex digits apart; NULL stays NULL, since its hex is the empty text.
func (sqlite) uuidText(expr string) string {
	return "(SELECT lower(substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-' || substr(h, 13, 4)" +
		" || '-' || substr(h, 17, 4) || '-' || substr(h, 21))" +
		" FROM (SELECT hex(" + expr + ") AS h) WHERE h <> '')"
}

func (sqlite) Contains(text, needle string) string { return "instr(" + text + ", " + needle + ") > 0" }
func (sqlite) byCodePoint(text string) string      { return text } // BINARY is the order of every column

// jsonPaths writes keys in quotes. A segment that is an array index may also be a key, which
// here is another path.
func (sqlite) jsonPaths(b *Builder, path []string) []string {
	texts := []string{"$"}
	for _, s := range path {
		key := `."` + s + `"`
		_, index := rawjson.Index(s)
		n := len(texts)
		for i := range n {
			if index {
				texts = append(texts, texts[i]+"["+s+"]")
			}
			texts[i] += key
		}
	}
	for i := range texts {
		texts[i] = b.Arg(texts[i])
	}
	return texts
}

func (sqlite) jsonFilled(column string) string {
	return "EXISTS (SELECT 1 FROM json_each(" + column + "))"
}

// jsonEmpty compares the JSON of the value, which SQLite writes without spaces.
func (d sqlite) jsonEmpty(column, path string) string {
	return "coalesce(" + d.jsonRaw(column, path) + `, 'null') IN ('null', '""', '{}', '[]')`
}

// jsonText has an object or array as its JSON text, so a text that could be one is compared by type (textArg.open).
func (sqlite) jsonText(column, path string) string {
	return "(" + column + " ->> " + path + ")"
}

func (sqlite) jsonNumberValue(column, path string) string {
	return "CASE WHEN json_type(" + column + ", " + path + ") IN ('integer', 'real', 'true', 'false')" +
		" THEN CAST(" + column + " ->> " + path + " AS REAL) END"
}

func (sqlite) jsonRaw(column, path string) string { return "(" + column + " -> " + path + ")" }

func (sqlite) floorDiv(expr string, size float64) string {
	return "CAST(floor((" + expr + ") / " + strconv.FormatFloat(size, 'f', 1, 64) + ") AS INTEGER)"
}

func (sqlite) inAnyRun(project string) string {
	return "(e.run_id IS NOT NULL OR e.session_rowid IN" +
		" (SELECT session_rowid FROM session WHERE project_id = " + project + " AND run_id IS NOT NULL))"
}

// jsonIs compares the text alone if only a string can be equal. Otherwise json_type decides how to compare.
func (d sqlite) jsonIs(column, path string, v textArg) string {
	at := d.jsonText(column, path)
	if v.plain() {
		return at + " " + isOneOf(v.texts)
	}
	var s strings.Builder
	s.WriteString("CASE json_type(" + column + ", " + path + ") WHEN 'text' THEN " + at + " " + isOneOf(v.texts))
	if len(v.nums) > 0 {
		s.WriteString(" WHEN 'integer' THEN CAST(" + column + " ->> " + path + " AS REAL) " + isOneOf(v.nums) +
			" WHEN 'real' THEN " + at + " " + isOneOf(v.nums))
	}
	for _, word := range v.words {
		s.WriteString(" WHEN '" + word + "' THEN TRUE")
	}
	s.WriteString(" ELSE FALSE END")
	return s.String()
}

func (sqlite) jsonIsUUID(column, path, is string) string {
	return "lower(" + column + " ->> " + path + ") " + is
}

func (sqlite) jsonContains(column, path, text string) string {
	kind := "json_type(" + column + ", " + path + ")"
	return "CASE WHEN " + kind + " = 'text' THEN instr(" + column + " ->> " + path + ", " + text + ") > 0" +
		" WHEN " + kind + " IN ('object', 'array') THEN EXISTS (SELECT 1 FROM json_tree(" + column + ", " + path + ") AS j" +
		" WHERE j.type = 'text' AND instr(j.atom, " + text + ") > 0) ELSE FALSE END"
}

func (sqlite) jsonString(column, path string) string {
	return "CASE json_type(" + column + ", " + path + ") WHEN 'text' THEN " + column + " ->> " + path + " END"
}

func (sqlite) jsonNumber(column, path, is string) string {
	return "json_type(" + column + ", " + path + ") IN ('integer', 'real')" +
		" AND CAST(" + column + " ->> " + path + " AS REAL) " + is
}

func (sqlite) jsonBoolean(column, path string, truth bool) string {
	return "json_type(" + column + ", " + path + ") = '" + strconv.FormatBool(truth) + "'"
}

func (sqlite) rounded(expr string) string {
	return "round(" + expr + ", " + strconv.Itoa(costDecimals) + ")"
}
