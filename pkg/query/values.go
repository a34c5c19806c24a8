package query

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/column"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Bounds of the values of a field.
const (
	// MaxValueBytes is how long a value may be that is listed.
	MaxValueBytes = 500
	// DefaultFieldValues is how many values are listed if none is said, MaxFieldValues the most.
	DefaultFieldValues = 20
	MaxFieldValues     = 100
)

// FieldValuePages is how a list of values reads its limit.
var FieldValuePages = PageRule{Default: DefaultFieldValues, Max: MaxFieldValues}

// ValueQuery asks which values a field has, the most frequent first.
type ValueQuery struct {
	Search Search // which events; Limit is how many values are listed, Page plays no part
	Field  FieldReader
	Prefix string // values begin with it, without regard to case
}

// ValueAnswer has the values of a field among the newest events that match.
type ValueAnswer struct {
	Values   []ValueCount // the most frequent first, those of one count by their text
	LookedAt int          // events
	Complete bool         // all events that match were looked at
	LeftOut  int          // events whose value is an object, an array, or longer than MaxValueBytes
}

// ValueCount is a value as text and how many events have it. Of numbers, each spelling is a value of its own.
type ValueCount struct {
	Value string
	Count int
}

// CompileValues turns a query of values into the plan of its search, and an expression for Row of ValueCounts. The expression is
// empty where rows must be read whole. reads are the spill bits of the rows that it does not hold for.
func CompileValues(b *Builder, projectID int64, q *ValueQuery) (plan Plan, expr string, reads uint32) {
	plan = CompileSearch(b, projectID, &q.Search)
	if len(plan.Residual) == 0 && q.Field.textInSQL() {
		expr, reads = q.Field.textSQL(b)
		return plan, expr, reads
	}
	return plan, "", q.Field.c.reads()
}

// ValueCounts counts values. It holds each once, and at most as many as events are added.
type ValueCounts struct {
	query     *ValueQuery
	counts    map[string]int
	table     *ValueTable // of the blocks that were added; nil if none had one
	numbered  []int       // by number in the table
	different int         // of them
	answer    ValueAnswer
}

// NewValueCounts returns empty counts.
func NewValueCounts(q *ValueQuery) *ValueCounts {
	return &ValueCounts{query: q, counts: map[string]int{}}
}

// LookedAt returns how many events were added.
func (v *ValueCounts) LookedAt() int { return v.answer.LookedAt }

// AddRow adds an event by what the expression of CompileValues gave.
func (v *ValueCounts) AddRow(s *string) {
	switch {
	case s == nil:
		v.answer.LookedAt++
	case v.query.Field.c.root.kind == kindJSON:
		v.addJSON(json.RawMessage(*s), 1)
	default:
		v.addText(*s, 1)
	}
}

// AddEvent adds an event that is whole as far as the field looks.
func (v *ValueCounts) AddEvent(e *event.Event) {
	c := &v.query.Field.c
	if c.root.hasPaths() {
		v.addJSON(c.rawInside(bucket(e, c.name)), 1)
		return
	}
	if text, ok := v.query.Field.Text(e); ok {
		v.addText(text, 1)
		return
	}
	v.answer.LookedAt++
}

// addJSON adds n events with a JSON value, or without one.
func (v *ValueCounts) addJSON(raw json.RawMessage, n int) {
	text, as := v.query.ofJSON(raw)
	v.add(text, as, n)
}

// addText adds n events with a value.
func (v *ValueCounts) addText(text string, n int) { v.add(text, v.query.ofText(text), n) }

func (v *ValueCounts) add(text string, as valueUse, n int) {
	v.answer.LookedAt += n
	switch as {
	case valueCounted:
		v.counts[text] += n
	case valueLeftOut:
		v.answer.LeftOut += n
	}
}

// valueUse is what becomes of a value.
type valueUse uint8

const (
	valueIgnored valueUse = iota // there is none, or it begins with something else
	valueCounted
	valueLeftOut
)

// ofJSON returns the text of a JSON value, and what becomes of it.
func (q *ValueQuery) ofJSON(raw json.RawMessage) (string, valueUse) {
	switch rawjson.KindOf(raw) {
	case 0, 'n':
		return "", valueIgnored
	case '{', '[':
		return "", valueLeftOut
	}
	text, _ := valueText(string(raw))
	return text, q.ofText(text)
}

// ofText returns what becomes of a value.
func (q *ValueQuery) ofText(text string) valueUse {
	switch {
	case len(text) > MaxValueBytes:
		return valueLeftOut
	case hasPrefixFold(text, q.Prefix):
		return valueCounted
	}
	return valueIgnored
}

// Different returns how many values were found; one that blocks have by number and other events as text may count twice.
func (v *ValueCounts) Different() int { return v.different + len(v.counts) }

// InColumns reports whether the values can be counted over blocks.
func (q *ValueQuery) InColumns() bool { return InColumns(q.Search.Filters) && q.Field.InColumns() }

// BlockCounts are how many events of a block have each value. They are not changed once they are made.
type BlockCounts struct {
	values   []ValueCount
	numbered []numberedCount // those that table has
	table    *ValueTable
	lookedAt int
	leftOut  int
	// Maybe are events that must be read and added one by one.
	Maybe column.Set
}

// Bytes returns about how much memory the counts take.
func (c *BlockCounts) Bytes() int {
	size := 130 + 8*len(c.Maybe) + 8*cap(c.numbered)
	for i := range c.values {
		size += len(c.values[i].Value) + 24
	}
	return size
}

// leastNumbered is from how many values on a block has them numbered.
const leastNumbered = 256

// BlockKey identifies what CountBlock makes of a block, but for the events that are found.
func (q *ValueQuery) BlockKey() string { return fmt.Sprintf("%q %q", q.Field.key(), q.Prefix) }

// FieldKey identifies the field.
func (q *ValueQuery) FieldKey() string { return q.Field.key() }

// CountBlock counts the values of the events of a block that a search has found. table has the values of the field. Several blocks may be
// counted at once.
func (q *ValueQuery) CountBlock(b Block, found Decided, table *ValueTable) (*BlockCounts, error) {
	c := &BlockCounts{Maybe: found.Maybe}
	if err := c.count(q, b, found.Match); err != nil {
		return nil, err
	}
	if len(c.values) >= leastNumbered {
		c.table = table
		c.numbered, c.values = table.number(c.values)
	}
	if c.Maybe.Empty() {
		c.Maybe = nil
	}
	return c, nil
}

// count counts the values of the events of a block that match.
func (c *BlockCounts) count(q *ValueQuery, b Block, match column.Set) error {
	if match.Empty() {
		return nil
	}
	v, err := q.Field.c.valuesIn(b)
	if err != nil {
		return err
	}
	if v.column != nil && !v.column.IsNumeric() && !v.unknown {
		c.countCodes(q, &v, match)
		return nil
	}
	texts, err := q.Field.TextsOf(b)
	if err != nil {
		return err
	}
	texts.Maybe.And(match)
	match.AndNot(texts.Maybe)
	c.Maybe.Or(texts.Maybe)
	counts := make([]int, len(texts.Texts))
	for row := range match.All() {
		counts[texts.Codes[row]]++
	}
	for code, n := range counts {
		switch text := texts.Texts[code]; {
		case n == 0:
		case text == nil:
			c.add("", valueIgnored, n)
		default:
			c.add(*text, q.ofText(*text), n)
		}
	}
	return nil
}

// countCodes counts the values of a dictionary, each of which is looked at once.
func (c *BlockCounts) countCodes(q *ValueQuery, v *blockValues, match column.Set) {
	counts := make([]int, v.column.Codes())
	v.column.EachCode(func(first int, codes []uint32) {
		for i, code := range codes {
			if !match.Has(first + i) {
				continue
			}
			if counts[code]++; code == column.TooLong {
				c.Maybe.Add(first + i)
			}
		}
	})
	for code, n := range counts {
		switch {
		case n == 0 || code == column.TooLong:
		case v.c.path != nil:
			text, as := q.ofJSON(v.raw(code)) // tells an object from a text that reads like one
			c.add(text, as, n)
		case code == column.Absent:
			c.add("", valueIgnored, n)
		default:
			text := string(v.column.Value(code))
			c.add(text, q.ofText(text), n)
		}
	}
}

func (c *BlockCounts) add(text string, as valueUse, n int) {
	c.lookedAt += n
	switch as {
	case valueCounted:
		c.values = append(c.values, ValueCount{text, n})
	case valueLeftOut:
		c.leftOut += n
	}
}

// AddBlock adds the counts of a block.
func (v *ValueCounts) AddBlock(c *BlockCounts) {
	v.answer.LookedAt += c.lookedAt
	v.answer.LeftOut += c.leftOut
	for i := range c.values {
		v.counts[c.values[i].Value] += c.values[i].Count
	}
	if c.table == nil {
		return
	}
	texts := c.table.values()
	if v.table == nil {
		v.table = c.table
	}
	if c.table != v.table { // of a table that has been forgotten since
		for _, x := range c.numbered {
			v.counts[texts[x.code]] += int(x.n)
		}
		return
	}
	if more := len(texts) - len(v.numbered); more > 0 {
		v.numbered = append(v.numbered, make([]int, more)...)
	}
	for _, x := range c.numbered {
		if v.numbered[x.code] == 0 {
			v.different++
		}
		v.numbered[x.code] += int(x.n)
	}
}

// hasPrefixFold reports whether a text begins with prefix, without regard to case.
func hasPrefixFold(text, prefix string) bool {
	end := 0
	for range utf8.RuneCountInString(prefix) {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	return strings.EqualFold(text[:end], prefix)
}

// Answer returns the most frequent values. complete says that all events that match were added. Nothing may be added afterwards.
func (v *ValueCounts) Answer(complete bool) *ValueAnswer {
	list := make([]ValueCount, 0, v.Different())
	for text, n := range v.counts {
		if v.table != nil {
			if code, ok := v.table.codeOf(text); ok && int(code) < len(v.numbered) {
				v.numbered[code] += n
				continue
			}
		}
		list = append(list, ValueCount{text, n})
	}
	if v.table != nil {
		texts := v.table.values()
		for code, n := range v.numbered {
			if n > 0 {
				list = append(list, ValueCount{texts[code], n})
			}
		}
	}
	slices.SortFunc(list, func(a, b ValueCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
	})
	v.answer.Complete = complete
	v.answer.Values = append(v.answer.Values, list[:min(len(list), v.query.Search.Limit)]...)
	return &v.answer
}
