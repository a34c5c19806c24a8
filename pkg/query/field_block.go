package query

import (
	"math"

	"github.com/spangrove/spangrove/pkg/column"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// InColumns reports whether the field can be read from a Block.
func (r FieldReader) InColumns() bool {
	switch r.c.root.kind {
	case kindType, kindText, kindNumber:
		return true
	}
	return r.c.memberInColumns()
}

// BlockTexts are the texts of a field in a block, by code.
type BlockTexts struct {
	Texts []*string // by code; nil: the event has none
	Codes []uint32  // of each event
	Maybe column.Set
}

// TextsOf returns the texts of a field that is InColumns, as Text gives them.
func (r FieldReader) TextsOf(b Block) (t BlockTexts, err error) {
	t.Maybe = column.NewSet(b.Len())
	v, err := r.c.valuesIn(b)
	if err != nil {
		return t, err
	}
	t.Codes = make([]uint32, b.Len())
	switch {
	case v.unknown:
		t.Maybe.Fill(b.Len())
		t.Texts = []*string{nil}
	case v.column == nil:
		t.Texts = []*string{nil}
	case v.column.IsNumeric():
		t.ofNumbers(v.column)
	default:
		t.Texts = make([]*string, v.column.Codes())
		for code := range t.Texts {
			if text, ok := r.textIn(&v, code); ok {
				t.Texts[code] = &text
			}
		}
		v.column.EachCode(func(first int, codes []uint32) { copy(t.Codes[first:], codes) })
		t.addTooLong(v.column)
	}
	return t, nil
}

func (r FieldReader) textIn(v *blockValues, code int) (string, bool) {
	if r.c.path == nil {
		value := v.column.Value(code)
		return string(value), value != nil
	}
	return valueText(string(v.raw(code)))
}

func (t *BlockTexts) addTooLong(col *column.Column) {
	if !col.HasTooLong() {
		return
	}
	for row, code := range t.Codes {
		if code == column.TooLong {
			t.Maybe.Add(row)
		}
	}
}

// ofNumbers gives each different number a code.
func (t *BlockTexts) ofNumbers(col *column.Column) {
	t.Texts = []*string{nil}
	codes := map[float64]uint32{}
	col.Numbers(func(first int, values []float64, present column.Set) {
		for i, f := range values {
			if present != nil && !present.Has(first+i) {
				continue
			}
			code, ok := codes[f]
			if !ok {
				code = uint32(len(t.Texts))
				codes[f] = code
				text := string(rawjson.AppendNumber(nil, f))
				t.Texts = append(t.Texts, &text)
			}
			t.Codes[first+i] = code
		}
	})
}

// BlockNumbers are the numbers of a field in a block.
type BlockNumbers struct {
	Values  []float64
	Present column.Set
	Maybe   column.Set
}

// NumbersOf returns the numbers of a field that is InColumns, as Number gives them.
func (r FieldReader) NumbersOf(b Block) (BlockNumbers, error) {
	n := b.Len()
	x := BlockNumbers{make([]float64, n), column.NewSet(n), column.NewSet(n)}
	v, err := r.c.valuesIn(b)
	if err != nil {
		return x, err
	}
	switch {
	case v.unknown:
		x.Maybe.Fill(n)
	case v.column == nil:
	default:
		x.read(v.column, func(code int) (float64, bool) { return v.value(code).number() })
	}
	return x, nil
}

// read fills in a column's numbers; of gives those of the values of a dictionary.
func (x *BlockNumbers) read(col *column.Column, of func(code int) (float64, bool)) {
	if col.IsNumeric() {
		col.Numbers(func(first int, values []float64, present column.Set) {
			copy(x.Values[first:], values)
			if present == nil {
				return
			}
			if first == 0 {
				copy(x.Present, present)
			}
		})
		if !col.AllPresent() {
			return
		}
		x.Present.Fill(len(x.Values))
		return
	}
	numbers := make([]float64, col.Codes())
	for code := range numbers {
		if f, ok := of(code); ok {
			numbers[code] = f
		} else {
			numbers[code] = math.NaN()
		}
	}
	col.EachCode(func(first int, codes []uint32) {
		for i, code := range codes {
			if f := numbers[code]; f == f {
				x.Values[first+i] = f
				x.Present.Add(first + i)
			} else if code == column.TooLong {
				x.Maybe.Add(first + i)
			}
		}
	})
}

// eachNumber calls f with the numbers of a column that has them, by row.
func eachNumber(col *column.Column, f func(row int, number float64)) {
	col.Numbers(func(first int, values []float64, present column.Set) {
		for i, number := range values {
			if row := first + i; present == nil || present.Has(row) {
				f(row, number)
			}
		}
	})
}

// SortValuesOf returns what the events of a block are sorted by, as Value gives it.
func (s EventSort) SortValuesOf(b Block) (BlockNumbers, error) {
	n := b.Len()
	x := BlockNumbers{make([]float64, n), column.NewSet(n), column.NewSet(n)}
	name := ""
	switch s {
	case "", EventsByStart:
		name = "start_time"
	case EventsByDuration:
		name = "duration"
	case EventsByTokens:
		name = "metadata.total_tokens"
	default:
		name = "metadata.cost"
	}
	col, err := b.Column(name)
	if err != nil {
		return x, err
	}
	if col == nil && s.Column() == "" && b.Partial("metadata") {
		x.Maybe.Fill(n)
		return x, nil
	}
	if col != nil {
		x.read(col, func(code int) (float64, bool) { return rawjson.Number(col.Value(code)) })
	}
	if s.Column() != "" {
		return x, nil
	}
	for row := range x.Values {
		if !x.Present.Has(row) {
			x.Values[row] = 0
		}
	}
	// A session event has none of its own: 0.
	sessions, err := isSessionIn(b)
	if err != nil {
		return x, err
	}
	for row := range sessions.All() {
		x.Values[row] = 0
	}
	x.Maybe.AndNot(sessions)
	return x, nil
}

// isSessionIn returns the session events of a block.
func isSessionIn(b Block) (column.Set, error) {
	d, err := isSession.matchBlock(b)
	return d.Match, err
}

var isSession = func() *Filter {
	f := isText("event_type", "is", string(event.TypeSession))
	return &f
}()
