package query

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// sql returns the condition's text, and the spill bits of the fields it looks at. It is called only for a condition
// whose verdict is bySQL. The text can stand between ANDs.
func (c *cond) sql(b *Builder, projectID int64) (text string, reads uint32) {
	switch c.root.kind {
	case kindUUID:
		text = c.uuidSQL(b, projectID)
	case kindType:
		return typeSQL(c.typeCodes()), 0 // negation included
	case kindState:
		return c.stateSQL(), 0 // here, too
	case kindTotal:
		t := totals[c.name]
		text = t.sql(b.dialect) + " " + c.compareSQL(b)
	case kindNumber:
		text = c.root.column + " " + c.compareSQL(b)
	case kindText:
		text, reads = c.textSQL(b)
	default:
		text, reads = c.jsonSQL(b)
	}
	if c.negate {
		// Also where the condition is NULL: an absent field differs from every value.
		text = "(" + text + ") IS NOT TRUE"
	} else if strings.Contains(text, " OR ") || strings.Contains(text, " AND ") {
		text = "(" + text + ")"
	}
	return text, reads
}

// sign returns the operator of SQL for a comparison with one value.
func (c *cond) sign() string {
	switch c.op {
	case opGreater:
		return ">"
	case opLess:
		return "<"
	default:
		return "="
	}
}

// compareSQL adds the condition's numbers as arguments and returns what stands behind an expression that is compared with
// them, such as "> ?1" or "IN (?1, ?2)".
func (c *cond) compareSQL(b *Builder) string {
	if c.op != opIs {
		return c.sign() + " " + b.Arg(c.only().num)
	}
	return isOneOf(args(b, c.numbers()))
}

// args adds values as arguments.
func args[T any](b *Builder, values []T) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = b.Arg(v)
	}
	return list
}

// isOneOf returns what stands behind an expression that must equal one of the placeholders.
func isOneOf(placeholders []string) string {
	if len(placeholders) == 1 {
		return "= " + placeholders[0]
	}
	return "IN (" + strings.Join(placeholders, ", ") + ")"
}

// typeCodes returns the types for which the condition holds.
func (c *cond) typeCodes() []int {
	var codes []int
	for code := 1; code <= len(typeCodes); code++ {
		if c.holds(textValue(string(TypeOf(code)))) {
			codes = append(codes, code)
		}
	}
	return codes
}

// typeSQL returns the condition that an event is of one of the types.
func typeSQL(codes []int) string {
	if len(codes) == 1 {
		return fmt.Sprintf("e.type = %d", codes[0])
	}
	list := make([]string, len(codes))
	for i, code := range codes {
		list[i] = fmt.Sprint(code)
	}
	return "e.type IN (" + strings.Join(list, ", ") + ")"
}

// uuidSQL returns the condition on an id column. A parent that is the session is not stored: the
// session event has no parent, and all others without one have the session. "is" is written so that an index on the
// column can be used; the other operators compute the id.
func (c *cond) uuidSQL(b *Builder, projectID int64) string {
	d := b.dialect
	column := c.root.column
	switch c.name {
	case "session_id":
		switch ids := c.ids(); {
		case c.op == opIs && len(ids) == 1:
			return d.SessionIs(b, projectID, ids[0])
		case c.op == opIs:
			return d.SessionIn(b, projectID, ids)
		}
		column = d.sessionOf()
	case "parent_id":
		switch ids := c.ids(); {
		case c.op == opIs && len(ids) == 1:
			id := b.UUID(ids[0])
			return "e.parent_id = " + id + " OR (e.parent_id IS NULL AND e.event_id <> " + id + " AND " + d.SessionIs(b, projectID, ids[0]) + ")"
		case c.op == opIs:
			return "e.parent_id " + isOneOf(uuidArgs(b, ids)) +
				" OR (e.parent_id IS NULL AND e.event_id <> " + d.sessionOf() + " AND " + d.SessionIn(b, projectID, ids) + ")"
		}
		column = "coalesce(e.parent_id, nullif(" + d.sessionOf() + ", e.event_id))"
	}
	switch c.op {
	case opExists:
		return column + " IS NOT NULL"
	case opIs:
		return column + " " + isOneOf(uuidArgs(b, c.ids()))
	case opContains:
		return d.Contains(d.uuidText(column), b.Arg(c.only().text))
	default:
		return d.byCodePoint(d.uuidText(column)) + " " + c.sign() + " " + b.Arg(c.only().text)
	}
}

// uuidArgs adds ids as arguments, in the form that the database stores.
func uuidArgs(b *Builder, ids []uuid.UUID) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = b.UUID(id)
	}
	return list
}

// textSQL returns the condition on a text column, and the spill bits of the rows it does not hold for. Whether the field
// exists is known of those, too: a text that spilled is there.
func (c *cond) textSQL(b *Builder) (string, uint32) {
	column := c.root.column
	switch {
	case c.op == opExists:
		return fmt.Sprintf("%s IS NOT NULL OR (e.spill & %d) <> 0", column, c.root.spill), 0
	case c.op == opContains:
		return b.dialect.Contains(column, b.Arg(c.only().text)), c.root.spill
	case c.op == opIs:
		ids, others := c.split()
		var either []string
		if len(ids) > 0 {
			either = append(either, "lower("+column+") "+isOneOf(args(b, ids)))
		}
		if len(others) > 0 {
			either = append(either, column+" "+isOneOf(args(b, texts(others))))
		}
		return strings.Join(either, " OR "), c.root.spill
	default:
		return b.dialect.byCodePoint(column) + " " + c.sign() + " " + b.Arg(c.only().text), c.root.spill
	}
}

// split returns the UUIDs of an id filter in lower case, as they are compared, and all other values. Filters of other
// types have no UUIDs.
func (c *cond) split() (ids []string, others []value) {
	for _, v := range c.values {
		if c.typ == typeID && v.isUUID {
			ids = append(ids, v.id.String())
		} else {
			others = append(others, v)
		}
	}
	return ids, others
}

// newTextArg adds the readings of a string filter's values as arguments.
func newTextArg(b *Builder, values []value) textArg {
	a := textArg{texts: args(b, texts(values))}
	for i := range values {
		switch v := &values[i]; {
		case v.isNum:
			a.nums = append(a.nums, b.Arg(v.num))
		case !v.plainText():
			a.words = append(a.words, v.text)
		case strings.HasPrefix(v.text, "{") || strings.HasPrefix(v.text, "["):
			a.open = true
		}
	}
	return a
}

// reads returns the spill bits of the rows whose head may hold something else than what the
// condition's field reads as.
func (c *cond) reads() uint32 {
	if c.name == "metadata" && len(c.path) == 1 && rollupKeys[c.path[0]] && c.sessionTotal() == nil {
		return c.root.spill | SpillRollup
	}
	return c.root.spill
}

// MaxIndexed is the longest text, in bytes, that a promoted column holds; it has nothing of longer ones. PostgreSQL refuses the row of a text of
// more than 2,700 bytes that has an index, and with it all that is stored at once.
const MaxIndexed = 1024

// promoted are the paths whose strings have an indexed column of their own, but for the empty one and those beyond MaxIndexed,
// which are NULL there. It is written before a field can spill. UUIDs of runs stand there in lower case.
var promoted = map[string]string{"metadata.run_id": runColumn, "user_properties.user_id": userColumn}

const (
	runColumn  = "e.run_id"
	userColumn = "e.user_id"
)

// promoted returns the column in which all strings that the condition can hold for stand; "" if there is none.
func (c *cond) promoted() string {
	if len(c.path) != 1 || c.op != opIs || (c.typ != typeString && c.typ != typeID) {
		return ""
	}
	for i := range c.values {
		if v := &c.values[i]; v.text == "" || len(v.text) > MaxIndexed || !v.plainText() {
			return ""
		}
	}
	return promoted[c.name+"."+c.path[0]]
}

// narrowSQL returns a condition on an indexed column that holds wherever a UUID's condition does; "" if there is none.
func (c *cond) narrowSQL(b *Builder) string {
	own := c.promoted()
	switch {
	case own == "" || len(c.ids()) == 0 || c.negate:
		return ""
	case own == runColumn:
		folded := texts(c.values)
		for i, v := range c.values {
			if v.isUUID {
				folded[i] = v.id.String()
			}
		}
		return own + " " + isOneOf(args(b, folded))
	case c.typ == typeString:
		return own + " " + isOneOf(args(b, texts(c.values)))
	}
	return ""
}

// jsonSQL returns the condition on a JSON column of the head. In order of cost:
//
//  1. whether the column has anything at all needs no path
//  2. strings of promoted paths have a column with an index
//  3. any other path is followed in each of its readings, and the first that leads to a value is compared
func (c *cond) jsonSQL(b *Builder) (string, uint32) {
	column := c.root.column
	if c.path == nil && c.op == opExists {
		spill := c.root.spill
		if c.name == "metadata" {
			spill |= SpillCold | SpillRollup
		}
		return fmt.Sprintf("%s OR (e.spill & %d) <> 0", b.dialect.jsonFilled(column), spill), 0
	}
	if own := c.promoted(); own != "" && len(c.ids()) == 0 {
		return own + " " + isOneOf(args(b, texts(c.values))), 0
	}
	at := c.jsonTest(b)
	paths := readings(b, c.path)
	text := firstReading(b.dialect, column, paths, at)
	if c.op == opExists {
		text = strings.Join(each(paths, at), " OR ")
	}
	if total := c.sessionTotal(); total != nil {
		// A session event without a value of its own, or with an empty one, shows its session's.
		text += fmt.Sprintf(" OR ((e.spill & %d) <> 0 AND %s AND %s %s)", SpillRollup, b.dialect.jsonEmpty(column, paths[0]),
			b.dialect.ofSession(total(b.dialect)), c.compareSQL(b))
	}
	return text, c.reads()
}

// readings adds all readings of a path (rawjson.Readings) as arguments, in order.
func readings(b *Builder, path []string) []string {
	var paths []string
	for _, keys := range rawjson.Readings(path) {
		paths = append(paths, b.dialect.jsonPaths(b, keys)...)
	}
	return paths
}

// firstReading returns the expression at of the first path that leads to a value, and of the last if none does: for
// a.b.c that is CASE WHEN a.b.c is there THEN at(a.b.c) WHEN a."b.c" is there THEN … ELSE at(the last) END.
func firstReading(d Dialect, column string, paths []string, at func(path string) string) string {
	last := len(paths) - 1
	if last == 0 {
		return at(paths[0])
	}
	var s strings.Builder
	s.WriteString("CASE")
	for _, p := range paths[:last] {
		s.WriteString(" WHEN " + d.jsonText(column, p) + " IS NOT NULL THEN " + at(p))
	}
	s.WriteString(" ELSE " + at(paths[last]) + " END")
	return s.String()
}

// each returns the expression at of every path.
func each(paths []string, at func(path string) string) []string {
	list := make([]string, len(paths))
	for i, p := range paths {
		list[i] = at(p)
	}
	return list
}

// sessionTotals are the numbers of a session's row that its session event shows in metadata, as doubles.
var sessionTotals = map[string]func(Dialect) string{
	"num_events":        func(Dialect) string { return asDouble("s.num_events") },
	"num_model_events":  func(Dialect) string { return asDouble("s.num_model_events") },
	"total_tokens":      func(Dialect) string { return "s.total_tokens" },
	"prompt_tokens":     func(Dialect) string { return "s.prompt_tokens" },
	"completion_tokens": func(Dialect) string { return "s.completion_tokens" },
	"cost":              func(d Dialect) string { return "CASE WHEN s.num_costs > 0 THEN " + d.rounded("s.cost") + " END" },
}

// costDecimals is to how many decimals the cost of a session counts. A sum of binary fractions
// depends on the order in which they were added; its digits up to here do not.
const costDecimals = 12

// RoundCost returns the cost of a session as filters see it.
func RoundCost(usd float64) float64 {
	if rounded, err := strconv.ParseFloat(strconv.FormatFloat(usd, 'f', costDecimals, 64), 64); err == nil {
		return rounded
	}
	return usd
}

// sessionTotal returns the session's number that the condition also looks at, if SQL can decide it; nil for none. Other
// comparisons with such a member are decided in Go, on rows with SpillRollup (see reads).
func (c *cond) sessionTotal() func(Dialect) string {
	if c.name != "metadata" || len(c.path) != 1 || c.typ != typeNumber || c.op == opExists {
		return nil
	}
	return sessionTotals[c.path[0]]
}

// jsonTest adds the condition's value as an argument and returns its text for a path. The argument is added once and
// stands in the text of each reading.
func (c *cond) jsonTest(b *Builder) func(path string) string {
	d, column := b.dialect, c.root.column
	switch {
	case c.op == opExists:
		return func(path string) string { return d.jsonText(column, path) + " IS NOT NULL" }
	case c.typ == typeNumber:
		compare := c.compareSQL(b)
		return func(path string) string { return d.jsonNumber(column, path, compare) }
	case c.typ == typeBoolean:
		return func(path string) string { return d.jsonBoolean(column, path, c.only().truth) }
	case c.op == opIs:
		ids, others := c.split()
		var isID string
		if len(ids) > 0 {
			isID = isOneOf(args(b, ids))
		}
		v := newTextArg(b, others)
		return func(path string) string {
			var either []string
			if isID != "" {
				either = append(either, d.jsonIsUUID(column, path, isID))
			}
			if len(others) > 0 {
				either = append(either, d.jsonIs(column, path, v))
			}
			return strings.Join(either, " OR ")
		}
	case c.op == opContains:
		text := b.Arg(c.only().text)
		return func(path string) string { return d.jsonContains(column, path, text) }
	default:
		text := b.Arg(c.only().text)
		ofText := func(path string) string { return d.jsonString(column, path) + " " + c.sign() + " " + text }
		if !c.only().isNum {
			return ofText
		}
		compare := c.compareSQL(b)
		return func(path string) string { return ofText(path) + " OR " + d.jsonNumber(column, path, compare) }
	}
}
