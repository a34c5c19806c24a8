package query

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/column"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/words"
)

// Block is a number of events as columns, by the names that ColumnsOf gives them. Its events are as callers read them: a session event
// shows what its session adds up to.
type Block interface {
	Len() int
	// Times returns bounds of the starts of its events, in Unix milliseconds.
	Times() (first, last float64)
	// Column returns the column of a field; nil if no event of the block has the field.
	Column(name string) (*column.Column, error)
	// Partial reports whether there may be members of a JSON field of which the block has no column.
	Partial(field string) bool
	// Words returns the index of what its events have in inputs and outputs; nil if there is none.
	Words() (*words.Index, error)
}

// Columns of fields that are no members of a JSON field have the field's name. A member's has the field's name, a dot, and the key.
const (
	// DerivedColumn says what of a session event follows from its events alone: the sum of the bits of derivedBits.
	DerivedColumn = "derived"
	// StateColumn is 1 for a session event whose session runs, else 0.
	StateColumn = stateField
	// SessionColumn has the 16 bytes of the id of each event's session.
	SessionColumn = "session"
	// MetricsColumn has the template of each event's metrics (rawjson.Template), which with the columns of their members gives them back
	// digit for digit; "" of metrics that have none.
	MetricsColumn = "metrics_template"
)

// derivedDuration is the bit of a duration that follows from the session's events; the members of metadata have those below it.
const derivedDuration = 1 << 7

// derivedKeys are the members of metadata that a session event may have as a sum alone, in the order of their bits.
var derivedKeys = []string{"num_events", "num_model_events", "has_feedback", "cost", "total_tokens", "prompt_tokens", "completion_tokens"}

// derivedBit returns the bit of a field in DerivedColumn; 0 if it has none.
func (c *cond) derivedBit() int {
	if c.name == "duration" {
		return derivedDuration
	}
	if c.name == "metadata" && len(c.path) == 1 {
		if i := slices.Index(derivedKeys, c.path[0]); i >= 0 {
			return 1 << i
		}
	}
	return 0
}

// columnJSON are the JSON fields whose members are columns.
var columnJSON = []string{"metadata", "metrics", "feedback", "user_properties", "config"}

// ColumnValue is the value of one column in an event.
type ColumnValue struct {
	Field string
	Key   string // of a member of a JSON field, which is never empty; "" for other fields
	Value []byte // JSON of a member, else text; nil for a number that is no member. It is valid during the call only
	// IsNumber says that Number has the value whole: the value is its text.
	Number   float64
	IsNumber bool
}

// ColumnsOf calls f with the values of an event that are columns. The event must be as callers read it, but for inputs, outputs and
// children, which are no columns, and without cold metadata. totals are those of the session of a session event.
func ColumnsOf(e *event.Event, totals *event.SessionTotals, f func(v ColumnValue)) {
	buffer := make([]byte, 0, 64) // used again for each text
	text := func(field, value string) {
		buffer = append(buffer[:0], value...)
		f(ColumnValue{Field: field, Value: buffer})
	}
	text("event_type", string(e.Type))
	f(ColumnValue{Field: SessionColumn, Value: e.SessionID[:]})
	text("event_name", e.Name)
	text("source", e.Source)
	if e.Error != nil && *e.Error != "" {
		text("error", *e.Error)
	}
	if len(e.Metrics) > 0 {
		f(ColumnValue{Field: MetricsColumn, Value: rawjson.Template(e.Metrics)})
	}
	number := func(name string, n float64) { f(numberColumn(name, n)) }
	number("start_time", e.Start)
	number("end_time", e.End)
	number("duration", e.Duration)
	var digits [32]byte
	for _, field := range columnJSON {
		for key, raw := range rawjson.Object(bucket(e, field)) {
			if key == "" || rawjson.KindOf(raw) == 'n' {
				continue // null is as good as absent; a path with an empty key is not decided by columns (memberInColumns)
			}
			v := ColumnValue{Field: field, Key: key, Value: raw}
			if n, ok := rawjson.Number(raw); ok && string(rawjson.AppendNumber(digits[:0], n)) == string(raw) {
				v.Number, v.IsNumber = n, true
			}
			f(v)
		}
	}
	if e.IsSession() && totals != nil {
		derivedColumns(e, totals, number)
	}
}

func numberColumn(name string, n float64) ColumnValue {
	return ColumnValue{Field: name, Number: n, IsNumber: true}
}

// derivedColumns adds what a session event has of its session.
func derivedColumns(e *event.Event, t *event.SessionTotals, number func(string, float64)) {
	bits := 0
	for i, key := range derivedKeys {
		if rawjson.Get(e.Totals, key) != nil {
			bits |= 1 << i
		}
	}
	if e.DerivedDuration {
		bits |= derivedDuration
	}
	number(DerivedColumn, float64(bits))
	for name, total := range totals {
		number(name, total.of(t))
	}
	running := 0.0
	if t.Unfinished > 0 {
		running = 1
	}
	number(stateField, running)
}

// InColumns reports whether all filters can be decided on a Block.
func InColumns(fs []Filter) bool {
	for i := range fs {
		for _, c := range fs[i].conds() {
			if !c.inColumns() {
				return false
			}
		}
	}
	return true
}

// inColumns reports whether the condition's field is in columns, or an index of words leads to it, and nothing better than they does: ids
// have indexes.
func (c *cond) inColumns() bool {
	switch c.root.kind {
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
	if c.inWords() {
		d, err = c.matchWords(b)
	} else {
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
		x.read(v.column, func(code int) (float64, bool) {
			switch f := v.value(code); f.kind {
			case '0':
				return f.num, true
			case 't':
				return 1, true
			case 'f':
				return 0, true
			}
			return 0, false
		})
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
	sessions.Each(func(row int) bool {
		x.Values[row] = 0
		return true
	})
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

// HasIndex reports whether one of the filters, all of which must hold, leads to few rows by an index: that of an id or a run. A user may
// have many events, which an index gives in order but does not count.
func HasIndex(fs []Filter, counted bool) bool {
	return slices.ContainsFunc(fs, func(f Filter) bool {
		c := &f.cond
		if f.Any != nil || c.op != opIs || c.negate {
			return false
		}
		return c.root.kind == kindUUID || c.promoted() == runColumn || (c.promoted() != "" && !counted)
	})
}

// IndexSQL returns a condition on the users of events e, which an index has, that holds wherever the filters do; "" if they name none.
func IndexSQL(b *Builder, fs []Filter) string {
	for i := range fs {
		c := &fs[i].cond
		if fs[i].Any == nil && !c.negate && c.typ == typeString && c.promoted() == userColumn {
			return userColumn + " " + isOneOf(args(b, texts(c.values)))
		}
	}
	return ""
}
