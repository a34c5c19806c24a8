package query

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/column"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// InColumns reports whether all filters can be decided on a Block.
func InColumns(fs []Filter) bool {
	return !anyCond(fs, func(c *cond) bool { return !c.inColumns() })
}

// inColumns reports whether the condition's field is in columns, or an index of words leads to it, and nothing better than they does: the
// ids of events and sessions have indexes.
func (c *cond) inColumns() bool {
	switch c.root.kind {
	case kindUUID:
		return c.name == "parent_id" && (c.op == opIs || c.op == opExists)
	case kindType, kindText, kindNumber, kindTotal, kindState:
		return true
	}
	return c.memberInColumns() || c.inWords()
}

func (c *cond) memberInColumns() bool {
	return len(c.path) > 0 && c.path[0] != "" && slices.Contains(columnJSON, c.name) && !cold(c.name, c.path)
}

// Decided is which events of a block match. Those of Maybe must be read to know.
type Decided struct{ Match, Maybe column.Set }

// Clone returns a copy for a block of n events. An empty set may stand as nil in what is copied.
func (d Decided) Clone(n int) Decided {
	c := Decided{column.NewSet(n), column.NewSet(n)}
	copy(c.Match, d.Match)
	copy(c.Maybe, d.Maybe)
	return c
}

// Bytes returns about how much memory the sets take.
func (d Decided) Bytes() int { return 8 * (len(d.Match) + len(d.Maybe)) }

// MatchBlock decides filters that are InColumns on all events of a block.
func MatchBlock(b Block, fs []Filter) (Decided, error) {
	all := Decided{column.FullSet(b.Len()), column.NewSet(b.Len())}
	for i := range fs {
		d, err := fs[i].matchBlock(b)
		if err != nil {
			return d, err
		}
		all.and(d)
		if all.Match.Empty() && all.Maybe.Empty() {
			break
		}
	}
	return all, nil
}

// and leaves what matches d, too.
func (all *Decided) and(d Decided) {
	all.Maybe.Or(all.Match)
	d.Maybe.Or(d.Match)
	all.Match.And(d.Match)
	all.Maybe.And(d.Maybe)
	all.Maybe.AndNot(all.Match)
}

// or adds what matches d.
func (all *Decided) or(d Decided) {
	all.Match.Or(d.Match)
	all.Maybe.Or(d.Maybe)
	all.Maybe.AndNot(all.Match)
}

func (f *Filter) matchBlock(b Block) (Decided, error) {
	if f.Any == nil {
		return f.cond.matchBlock(b)
	}
	either := Decided{column.NewSet(b.Len()), column.NewSet(b.Len())}
	for _, list := range f.Any {
		d, err := MatchBlock(b, list)
		if err != nil {
			return d, err
		}
		either.or(d)
	}
	return either, nil
}

// matchBlock decides one condition. Its negation holds where the field is absent as well.
func (c *cond) matchBlock(b Block) (d Decided, err error) {
	switch {
	case c.inWords():
		d, err = c.matchWords(b)
	case c.root.kind == kindUUID:
		d, err = c.matchParent(b)
	default:
		d, err = c.matchColumn(b)
	}
	if err == nil && c.negate {
		not := column.FullSet(b.Len())
		not.AndNot(d.Match)
		not.AndNot(d.Maybe)
		d.Match = not
	}
	return d, err
}

// matchColumn decides a condition on a column, without its negation.
func (c *cond) matchColumn(b Block) (Decided, error) {
	d := Decided{column.NewSet(b.Len()), column.NewSet(b.Len())}
	v, err := c.valuesIn(b)
	switch {
	case err != nil, v.column == nil && !v.unknown:
	case v.unknown:
		d.Maybe.Fill(b.Len())
	case v.column.IsNumeric():
		c.matchNumbers(v.column, d.Match)
	default:
		d = matchCodes(&v, c.positive)
	}
	return d, err
}

// matchCodes decides on a dictionary, once for each of its values.
func matchCodes(v *blockValues, holds func(value fieldValue) bool) Decided {
	n := v.column.Len()
	d := Decided{column.NewSet(n), column.NewSet(n)}
	yes := make([]bool, v.column.Codes())
	for code := range yes {
		yes[code] = holds(v.value(code))
	}
	v.column.EachCode(func(first int, codes []uint32) {
		for i, code := range codes {
			if yes[code] {
				d.Match.Add(first + i)
			} else if code == column.TooLong {
				d.Maybe.Add(first + i)
			}
		}
	})
	return d
}

// matchNumbers adds the rows of a column of numbers for which the positive condition holds.
func (c *cond) matchNumbers(col *column.Column, to column.Set) {
	holds := func(f float64) bool { return c.positive(c.numberIn(f)) }
	if c.op != opExists && c.typ == typeNumber && c.root.kind != kindState {
		switch want := c.only().num; {
		case c.op == opGreater:
			holds = func(f float64) bool { return f > want }
		case c.op == opLess:
			holds = func(f float64) bool { return f < want }
		case len(c.values) == 1:
			holds = func(f float64) bool { return f == want }
		}
	}
	col.Numbers(func(first int, values []float64, present column.Set) {
		for i, f := range values {
			if holds(f) && (present == nil || present.Has(first+i)) {
				to.Add(first + i)
			}
		}
	})
}

// numberIn returns the value that a number of the condition's column stands for.
func (c *cond) numberIn(f float64) fieldValue {
	if c.root.kind == kindState {
		if f > 0 {
			return textValue(StateRunning)
		}
		return textValue(StateEnded)
	}
	return numberValue(f)
}

// blockValues are the values of a condition's field in a block: those below a path in the values of a column.
type blockValues struct {
	c       *cond
	column  *column.Column // nil: no event has the field
	rest    []string       // the path into the column's values
	unknown bool           // the block cannot tell
}

// valuesIn returns the values of the condition's field. Where a path has several readings, and more than one of them is a
// member of some event, the events must be read.
func (c *cond) valuesIn(b Block) (v blockValues, err error) {
	v.c = c
	if c.path == nil {
		v.column, err = b.Column(c.name)
		return v, err
	}
	for size := 1; size <= len(c.path); size++ {
		col, err := b.Column(c.name + "." + strings.Join(c.path[:size], "."))
		if err != nil {
			return v, err
		}
		if col == nil {
			continue
		}
		if v.column != nil {
			return blockValues{unknown: true}, nil
		}
		v.column, v.rest = col, c.path[size:]
	}
	if v.column == nil {
		v.unknown = b.Partial(c.name)
		return v, nil
	}
	if v.column.IsNumeric() && len(v.rest) > 0 {
		v.column = nil // nothing is inside of a number
	}
	// A member without a column might be another reading.
	v.unknown = len(c.path) > 1 && b.Partial(c.name)
	return v, nil
}

// raw returns the JSON of the field in an event with a code of the column.
func (v *blockValues) raw(code int) []byte {
	value := v.column.Value(code)
	if value == nil || len(v.rest) == 0 {
		return value
	}
	return rawjson.Lookup(value, v.rest...)
}

// value returns the field's value in an event with a code of the column.
func (v *blockValues) value(code int) fieldValue {
	if v.c.path != nil {
		return jsonValue(v.raw(code))
	}
	if value := v.column.Value(code); value != nil {
		return textValue(string(value))
	}
	return fieldValue{}
}

// Overlaps reports whether the range of time of a search takes in events of a block, and covers whether it takes in all of them.
func (s *Search) Overlaps(b interface{ Times() (first, last float64) }) (overlaps, covers bool) {
	first, last := b.Times()
	return (s.From == nil || last >= *s.From) && (s.To == nil || first <= *s.To),
		(s.From == nil || first >= *s.From) && (s.To == nil || last <= *s.To)
}

// InRange reports whether the range of time of a search takes in an event that starts then.
func (s *Search) InRange(start float64) bool {
	return (s.From == nil || start >= *s.From) && (s.To == nil || start <= *s.To)
}

// Within leaves the events of a block that are in the range of time of a search.
func (d *Decided) Within(b Block, s *Search) error {
	starts, err := b.Column("start_time")
	if err != nil {
		return err
	}
	within := column.NewSet(b.Len())
	starts.Numbers(func(first int, values []float64, _ column.Set) {
		for i, f := range values {
			if s.InRange(f) {
				within.Add(first + i)
			}
		}
	})
	d.Match.And(within)
	d.Maybe.And(within)
	return nil
}

// KeyOf identifies filters: those with the same key decide the same.
func KeyOf(fs []Filter) string {
	key, _ := json.Marshal(fs) // they were read from JSON
	return string(key)
}
