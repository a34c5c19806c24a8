package query

import (
	"cmp"
	"encoding/json"
	"maps"
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
	query  *ValueQuery
	counts map[string]int
	answer ValueAnswer
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
	switch rawjson.KindOf(raw) {
	case 0, 'n':
		v.answer.LookedAt += n
	case '{', '[':
		v.answer.LookedAt += n
		v.answer.LeftOut += n
	default:
		text, _ := valueText(string(raw))
		v.addText(text, n)
	}
}

// addText adds n events with a value.
func (v *ValueCounts) addText(text string, n int) {
	v.answer.LookedAt += n
	switch {
	case len(text) > MaxValueBytes:
		v.answer.LeftOut += n
	case hasPrefixFold(text, v.query.Prefix):
		v.counts[text] += n
	}
}

// Different returns how many values were found.
func (v *ValueCounts) Different() int { return len(v.counts) }

// InColumns reports whether the values can be counted over blocks.
func (q *ValueQuery) InColumns() bool { return InColumns(q.Search.Filters) && q.Field.InColumns() }

// BlockCounts are how many events of a block have each value.
type BlockCounts struct {
	values blockValues
	texts  BlockTexts
	counts []int
	// Maybe are events that must be read and added one by one.
	Maybe column.Set
}

// CountBlock counts the values of the events of a block that a search has found. Several blocks may be counted at once.
func (q *ValueQuery) CountBlock(b Block, found Decided) (c BlockCounts, err error) {
	c.Maybe = found.Maybe
	if found.Match.Empty() {
		return c, nil
	}
	if c.values, err = q.Field.c.valuesIn(b); err != nil {
		return c, err
	}
	if c.texts, err = q.Field.TextsOf(b); err != nil {
		return c, err
	}
	c.texts.Maybe.And(found.Match)
	found.Match.AndNot(c.texts.Maybe)
	c.Maybe.Or(c.texts.Maybe)
	c.counts = make([]int, len(c.texts.Texts))
	found.Match.Each(func(row int) bool {
		c.counts[c.texts.Codes[row]]++
		return true
	})
	return c, nil
}

// AddBlock adds the counts of a block.
func (v *ValueCounts) AddBlock(c *BlockCounts) {
	isDict := c.values.column != nil && !c.values.column.IsNumeric() && c.values.c.path != nil
	for code, n := range c.counts {
		switch text := c.texts.Texts[code]; {
		case n == 0:
		case isDict:
			v.addJSON(c.values.raw(code), n) // tells an object from a text that reads like one
		case text == nil:
			v.answer.LookedAt += n
		default:
			v.addText(*text, n)
		}
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

// Answer returns the most frequent values. complete says that all events that match were added.
func (v *ValueCounts) Answer(complete bool) *ValueAnswer {
	texts := slices.SortedFunc(maps.Keys(v.counts), func(x, y string) int {
		return cmp.Or(cmp.Compare(v.counts[y], v.counts[x]), cmp.Compare(x, y))
	})
	v.answer.Complete = complete
	for _, text := range texts[:min(len(texts), v.query.Search.Limit)] {
		v.answer.Values = append(v.answer.Values, ValueCount{text, v.counts[text]})
	}
	return &v.answer
}
