package query

import (
	"fmt"
	"strings"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Plan is how a store answers filters: a condition in SQL, and what is left to Go.
//
// Where is exact for the filters that SQL decides, on rows that have none of the bits of Reads
// in their spill column. On the others SQL lacks a field that it needs: they must be read whole
// and decided by Match with all filters. Candidates is Where widened by those rows, narrowed by
// what even they must fulfil. Both use the same arguments and are "TRUE" where nothing is asked.
//
// Residual are the filters that Where leaves out; Match decides them on each row it lets
// through, on the whole event if NeedPayload(Residual).
type Plan struct {
	Where      string
	Candidates string
	Residual   []Filter
	Reads      uint32
}

// Compile turns filters of ParseFilters into a plan for rows of ev, alias e, of one project.
// A filter that breaks the rules of ParseFilters matches nothing, and so does one on the
// project that InProject has not decided.
func Compile(b *Builder, projectID int64, fs []Filter) Plan {
	return compile(b, projectID, nil, fs)
}

// CompileSearch is Compile for a whole search: project, bounds of start time, run and filters.
func CompileSearch(b *Builder, projectID int64, s *Search) Plan {
	project := b.Arg(projectID)
	base := []string{"e.project_id = " + project}
	if s.From != nil {
		base = append(base, "e.start_ms >= "+b.Arg(*s.From))
	}
	if s.To != nil {
		base = append(base, "e.start_ms <= "+b.Arg(*s.To))
	}
	if s.RunID != "" {
		id, _ := rawjson.ValidText(s.RunID)
		run := b.Arg(id)
		base = append(base, "(e.run_id = "+run+" OR "+b.dialect.sessionInRun(project, run)+")")
	}
	return compile(b, projectID, base, s.Filters)
}

// compile puts base before the conditions of the filters.
func compile(b *Builder, projectID int64, base []string, fs []Filter) Plan {
	var plan Plan
	var conds []cond
	for _, f := range fs {
		c, err := newCond(f)
		if err != nil {
			return never(base)
		}
		switch c.verdict() {
		case isNever:
			// Before any argument is added: PostgreSQL wants each of them used.
			return never(base)
		case isAlways:
		case byGo:
			plan.Residual = append(plan.Residual, f)
			plan.Reads |= c.root.spill
		case bySQL:
			conds = append(conds, c)
		}
	}
	columns, fields := base, []string(nil)
	for i := range conds {
		text, reads := conds[i].sql(b, projectID)
		plan.Reads |= reads
		if reads == 0 {
			columns = append(columns, text)
		} else {
			fields = append(fields, text)
		}
	}
	plan.Where = all(append(columns[:len(columns):len(columns)], fields...))
	plan.Candidates = plan.Where
	if plan.Reads != 0 && len(fields) > 0 {
		spilled := fmt.Sprintf("(e.spill & %d) <> 0", plan.Reads)
		plan.Candidates = all(append(columns[:len(columns):len(columns)], "("+all(fields)+" OR "+spilled+")"))
	}
	return plan
}

func never(base []string) Plan {
	where := all(append(base[:len(base):len(base)], "FALSE"))
	return Plan{Where: where, Candidates: where}
}

func all(conds []string) string {
	if len(conds) == 0 {
		return "TRUE"
	}
	return strings.Join(conds, " AND ")
}

type verdict uint8

const (
	bySQL verdict = iota
	byGo
	isAlways
	isNever
)

func constant(truth bool) verdict {
	if truth {
		return isAlways
	}
	return isNever
}

// verdict says who decides the condition, before any argument is added for it.
func (c *cond) verdict() verdict {
	switch c.root.kind {
	case kindProject:
		return constant(c.negate)
	case kindPayload:
		return byGo
	case kindUUID:
		switch {
		case c.op == opExists && c.name != "parent_id":
			return constant(!c.negate)
		case c.op == opExists:
			return bySQL
		case c.typ != typeString && c.typ != typeID, c.op == opIs && !c.isUUID:
			return constant(c.negate)
		}
		return bySQL
	case kindType:
		switch n := len(c.typeCodes()); n {
		case 0, len(typeCodes):
			return constant(n > 0)
		}
		return bySQL
	case kindNumber:
		switch {
		case c.op == opExists:
			return constant(!c.negate)
		case c.typ == typeNumber, c.typ == typeDatetime, (c.typ == typeString || c.typ == typeID) && c.op == opIs && c.isNum:
			return bySQL
		}
		return constant(c.negate)
	case kindText:
		switch {
		case c.op == opExists && c.root.spill == 0:
			return constant(!c.negate)
		case c.op == opExists:
			return bySQL
		case c.typ == typeDatetime:
			return byGo
		case c.typ != typeString && c.typ != typeID:
			return constant(c.negate)
		}
		return bySQL
	default:
		return c.jsonVerdict()
	}
}

// jsonVerdict is verdict for the JSON columns of the head.
func (c *cond) jsonVerdict() verdict {
	switch {
	case c.op == opExists && c.path == nil:
		return bySQL
	case c.path == nil && c.op != opContains:
		return constant(c.negate) // an object is no string, number, boolean or time
	case cold(c.name, c.path), c.typ == typeDatetime, !plainPath(c.path):
		return byGo
	}
	return bySQL
}

// sql gives the condition's text, and the spill bits of the fields it looks at.
func (c *cond) sql(b *Builder, projectID int64) (text string, reads uint32) {
	switch c.root.kind {
	case kindUUID:
		text = c.uuidSQL(b, projectID)
	case kindType:
		return typeSQL(c.typeCodes()), 0 // negation included
	case kindNumber:
		text = c.root.column + " " + c.sign() + " " + b.Arg(c.num)
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

// typeCodes are the types for which the condition holds.
func (c *cond) typeCodes() []int {
	var codes []int
	for code := 1; code <= len(typeCodes); code++ {
		if c.holds(textValue(string(TypeOf(code)))) {
			codes = append(codes, code)
		}
	}
	return codes
}

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

// uuidSQL is the condition on an id column. A parent that is the session is not stored: the
// session event has no parent, and all others without one have the session.
func (c *cond) uuidSQL(b *Builder, projectID int64) string {
	d := b.dialect
	column := c.root.column
	switch c.name {
	case "session_id":
		if c.op == opIs {
			return d.SessionIs(b, projectID, c.id)
		}
		column = d.sessionOf()
	case "parent_id":
		if c.op == opIs {
			id := b.UUID(c.id)
			return "e.parent_id = " + id + " OR (e.parent_id IS NULL AND e.event_id <> " + id + " AND " + d.SessionIs(b, projectID, c.id) + ")"
		}
		column = "coalesce(e.parent_id, nullif(" + d.sessionOf() + ", e.event_id))"
	}
	switch c.op {
	case opExists:
		return column + " IS NOT NULL"
	case opIs:
		return column + " = " + b.UUID(c.id)
	case opContains:
		return d.contains(d.uuidText(column), b.Arg(c.text))
	default:
		return d.byCodePoint(d.uuidText(column)) + " " + c.sign() + " " + b.Arg(c.text)
	}
}

// textSQL is the condition on a text column.
func (c *cond) textSQL(b *Builder) (string, uint32) {
	column := c.root.column
	switch {
	case c.op == opExists:
		return fmt.Sprintf("%s IS NOT NULL OR (e.spill & %d) <> 0", column, c.root.spill), 0
	case c.op == opContains:
		return b.dialect.contains(column, b.Arg(c.text)), c.root.spill
	case c.op == opIs && c.typ == typeID && c.isUUID:
		return "lower(" + column + ") = " + b.Arg(c.id.String()), c.root.spill
	case c.op == opIs:
		return column + " = " + b.Arg(c.text), c.root.spill
	default:
		return b.dialect.byCodePoint(column) + " " + c.sign() + " " + b.Arg(c.text), c.root.spill
	}
}

// promoted are the paths whose strings have an indexed column of their own. It is written
// before a field can spill.
var promoted = map[string]string{"metadata.run_id": "e.run_id", "user_properties.user_id": "e.user_id"}

// jsonSQL is the condition on a JSON column of the head.
func (c *cond) jsonSQL(b *Builder) (string, uint32) {
	column, spill := c.root.column, c.root.spill
	if c.path == nil && c.op == opExists {
		if c.name == "metadata" {
			spill |= SpillCold
		}
		return fmt.Sprintf("%s IS NOT NULL OR (e.spill & %d) <> 0", column, spill), 0
	}
	if len(c.path) == 1 && c.op == opIs && c.plainText() && (c.typ == typeString || c.typ == typeID && !c.isUUID) {
		if own := promoted[c.name+"."+c.path[0]]; own != "" {
			return own + " = " + b.Arg(c.text), 0
		}
	}
	at := c.jsonTest(b)
	nested := b.dialect.jsonPaths(b, c.path)
	var tests, absent []string
	for _, p := range nested {
		tests = append(tests, at(p))
		absent = append(absent, b.dialect.jsonText(column, p)+" IS NULL")
	}
	if c.rest != "" {
		// The literal key counts where the nested reading leads to nothing.
		literal := at(b.dialect.jsonPaths(b, []string{c.rest})[0])
		if c.op == opExists {
			tests = append(tests, literal)
		} else {
			tests = append(tests, "("+strings.Join(absent, " AND ")+" AND "+literal+")")
		}
	}
	return strings.Join(tests, " OR "), spill
}

// jsonTest adds the condition's value as an argument and gives its text for a path.
func (c *cond) jsonTest(b *Builder) func(path string) string {
	d, column := b.dialect, c.root.column
	switch {
	case c.op == opExists:
		return func(path string) string { return d.jsonText(column, path) + " IS NOT NULL" }
	case c.typ == typeNumber:
		num := b.Arg(c.num)
		return func(path string) string { return d.jsonNumber(column, path, c.sign(), num) }
	case c.typ == typeBoolean:
		return func(path string) string { return d.jsonBoolean(column, path, c.truth) }
	case c.op == opIs && c.typ == typeID && c.isUUID:
		text := b.Arg(c.id.String())
		return func(path string) string { return d.jsonIsUUID(column, path, text) }
	case c.op == opIs:
		v := textArg{text: b.Arg(c.text), open: strings.HasPrefix(c.text, "{") || strings.HasPrefix(c.text, "[")}
		if c.isNum {
			v.num = b.Arg(c.num)
		} else if !c.plainText() {
			v.word = c.text
		}
		return func(path string) string { return d.jsonIs(column, path, v) }
	case c.op == opContains:
		text := b.Arg(c.text)
		return func(path string) string { return d.jsonContains(column, path, text) }
	default:
		text := b.Arg(c.text)
		return func(path string) string { return d.jsonOrder(column, path, c.sign(), text) }
	}
}
