package events

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/column"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/store/internal/segment"
)

// totalColumns are the columns of session events that say what their sessions came to; nil: no event has it.
type totalColumns struct {
	derived, duration, cost, tokens, state, failure *column.Column
	shown                                           memberColumn // the cost in metadata
}

func readTotalColumns(b *segment.Block) (c *totalColumns, err error) {
	c = &totalColumns{}
	for _, x := range []struct {
		to   **column.Column
		name string
	}{{&c.derived, query.DerivedColumn}, {&c.duration, "duration"}, {&c.cost, "totals.cost"}, {&c.tokens, "totals.tokens"},
		{&c.state, query.StateColumn}, {&c.failure, "error"}} {
		if *x.to, err = b.Column(x.name); err != nil {
			return nil, err
		}
	}
	c.shown, err = newMemberColumn(b, "cost")
	return c, err
}

// outcome returns what a session came to, by its event. It is not known if its row must be read.
func (c *totalColumns) outcome(row int, at run.Place) (o run.Outcome, known bool) {
	for _, x := range []struct {
		from *column.Column
		to   *float64
	}{{c.duration, &o.Duration}, {c.cost, &o.Cost}, {c.tokens, &o.Tokens}} {
		if x.from == nil || !x.from.IsNumeric() {
			return o, false
		}
		var ok bool
		if *x.to, ok = x.from.Number(row); !ok {
			return o, false
		}
	}
	if c.derived == nil || c.state == nil {
		return o, false
	}
	running, ok := c.state.Number(row)
	if !ok {
		return o, false
	}
	o.ID, o.Start, o.Running = at.ID, at.Start, running != 0
	o.HasCost = o.Cost != 0
	if !o.HasCost && c.mayShowCost(row) {
		return o, false // a cost of 0, or one that its sender gave
	}
	o.HasError = c.failure != nil && (c.failure.IsNumeric() || c.failure.Code(row) != column.Absent)
	return o, true
}

// mayShowCost reports whether a session event may have a cost in its metadata.
func (c *totalColumns) mayShowCost(row int) bool {
	if c.shown.column == nil {
		return c.shown.unknown
	}
	if c.shown.column.IsNumeric() {
		_, ok := c.shown.column.Number(row)
		return ok
	}
	return c.shown.column.Code(row) != column.Absent
}

// sessionRows are the events of some sessions in a segment.
type sessionRows struct {
	rows  query.Decided
	codes *column.Column
	ids   []uuid.UUID // by code; zero of other sessions
}

// sessionRows finds the events of sessions in a segment. Those that have changed are left out.
func (v *segmentView) sessionRows(b *segment.Block, sessions map[uuid.UUID]bool) (r sessionRows, err error) {
	if r.codes, err = dictionary(b, query.SessionColumn); err != nil {
		return r, err
	}
	r.ids = make([]uuid.UUID, r.codes.Codes())
	wanted, none := make([]bool, r.codes.Codes()), true
	for code := column.First; code < len(wanted); code++ {
		id, err := sessionOf(r.codes, code)
		if err != nil {
			return r, err
		}
		if sessions[id] {
			wanted[code], r.ids[code], none = true, id, false
		}
	}
	if none {
		return r, nil
	}
	in := column.NewSet(b.Len())
	r.codes.EachCode(func(first int, codes []uint32) {
		for i, code := range codes {
			if wanted[code] {
				in.Add(first + i)
			}
		}
	})
	if r.rows, err = v.match(b, &query.Search{}); err != nil {
		return r, err
	}
	r.rows.Match.And(in)
	r.rows.Maybe.And(in)
	return r, nil
}

// dictionary returns a column that each segment has, and that is not of numbers.
func dictionary(b *segment.Block, name string) (*column.Column, error) {
	c, err := b.Column(name)
	if err == nil && (c == nil || c.IsNumeric()) {
		err = column.ErrDamaged
	}
	return c, err
}

// runColumns are the columns of a segment that say something of a run.
type runColumns struct {
	sessions  sessionRows
	keys      *segment.Keys
	starts    *column.Column
	names     *column.Column
	types     *column.Column
	run       memberColumn // of metadata
	datapoint memberColumn
	metrics   metricsColumns
}

// kindCode is a kind of events by its codes in a segment.
type kindCode struct{ name, typ int }

func (c *runColumns) kind(k kindCode) run.Kind {
	return run.Kind{Name: string(c.names.Value(k.name)), Type: string(c.types.Value(k.typ))}
}

func readRunColumns(b *segment.Block, r sessionRows) (c *runColumns, err error) {
	c = &runColumns{sessions: r}
	for _, x := range []struct {
		to   **column.Column
		name string
	}{{&c.names, "event_name"}, {&c.types, "event_type"}} {
		if *x.to, err = dictionary(b, x.name); err != nil {
			return nil, err
		}
	}
	for _, x := range []struct {
		to  *memberColumn
		key string
	}{{&c.run, "run_id"}, {&c.datapoint, "datapoint_id"}} {
		if *x.to, err = newMemberColumn(b, x.key); err != nil {
			return nil, err
		}
	}
	if c.starts, err = b.Column("start_time"); err != nil {
		return nil, err
	}
	if c.keys, err = b.Keys(); err != nil {
		return nil, err
	}
	c.metrics, err = newMetricsColumns(b)
	return c, err
}

// event returns what an event says. It is not known if the event must be read.
func (c *runColumns) event(row int) (e runEvent, isScored, known bool, err error) {
	k := kindCode{c.names.Code(row), c.types.Code(row)}
	if k.name == column.TooLong {
		return e, false, false, nil
	}
	e.Kind = c.kind(k)
	e.Session = c.sessions.ids[c.sessions.codes.Code(row)]
	e.Start, _ = c.starts.Number(row)
	e.ID, _ = c.keys.Of(row)
	isScored = e.Kind.Type == string(event.TypeSession) || c.metrics.has(row)
	datapoint, known := c.datapoint.text(row)
	if !known {
		return e, isScored, false, nil
	}
	e.metadata = datapoint.json
	if isScored {
		e.Metrics, known, err = c.metrics.of(row)
		return e, isScored, known, err
	}
	if e.metadata != nil {
		// Only an event that carries a run tells what its session is about.
		var of memberText
		if of, known = c.run.text(row); of.json == nil {
			e.metadata = nil
		}
	}
	return e, false, known, nil
}

// memberColumn is a member of metadata that counts if it is a text.
type memberColumn struct {
	key     string
	column  *column.Column // nil: no event has it
	unknown bool           // the segment cannot tell
	texts   []memberText   // by code
}

// memberText is metadata of nothing but a text that is not empty; nil if the value is anything else.
type memberText struct {
	json   json.RawMessage
	isRead bool
}

func newMemberColumn(b *segment.Block, key string) (m memberColumn, err error) {
	m.key = key
	if m.column, err = b.Column("metadata." + key); err != nil {
		return m, err
	}
	m.unknown = m.column == nil && b.Partial("metadata")
	if m.column != nil && !m.column.IsNumeric() {
		m.texts = make([]memberText, m.column.Codes())
	}
	return m, nil
}

func (m *memberColumn) text(row int) (t memberText, known bool) {
	if m.texts == nil {
		return t, !m.unknown
	}
	code := m.column.Code(row)
	if code < column.First {
		return t, code == column.Absent
	}
	if t = m.texts[code]; !t.isRead {
		value := m.column.Value(code)
		if text, _ := rawjson.Text(value); text != "" {
			var b rawjson.Builder
			b.Raw(m.key, value)
			t.json = b.Bytes()
		}
		t.isRead = true
		m.texts[code] = t
	}
	return t, true
}

// metricsColumns give back the metrics of a segment's events.
type metricsColumns struct {
	b         *segment.Block
	templates *column.Column // nil: no event has metrics
	unknown   bool           // the segment cannot tell
	fillings  map[int]*metricsFilling
}

// metricsFilling is a template with the columns of its members, nil where one has none.
type metricsFilling struct {
	rawjson.Filling
	columns []*column.Column
	values  [][]byte
}

func newMetricsColumns(b *segment.Block) (m metricsColumns, err error) {
	m.b, m.fillings = b, map[int]*metricsFilling{}
	m.templates, err = b.Column(query.MetricsColumn)
	if m.templates != nil && m.templates.IsNumeric() {
		err = column.ErrDamaged
	}
	m.unknown = m.templates == nil && b.Partial(query.MetricsColumn)
	return m, err
}

// has reports whether an event has metrics, or may have some.
func (m *metricsColumns) has(row int) bool {
	return m.unknown || (m.templates != nil && m.templates.Code(row) != column.Absent)
}

// of returns the metrics of an event; they are not known if the event must be read.
func (m *metricsColumns) of(row int) (metrics json.RawMessage, known bool, err error) {
	if m.templates == nil || m.unknown {
		return nil, !m.unknown, nil
	}
	code := m.templates.Code(row)
	if code == column.Absent {
		return nil, true, nil
	}
	template := m.templates.Value(code)
	if len(template) == 0 {
		return nil, false, nil
	}
	f := m.fillings[code]
	if f == nil {
		if f, err = m.filling(template); err != nil {
			return nil, false, err
		}
		m.fillings[code] = f
	}
	for i, c := range f.columns {
		if f.values[i] = textIn(c, row, f.values[i][:0]); len(f.values[i]) == 0 {
			return nil, false, nil
		}
	}
	return f.Append(nil, f.values), true, nil
}

func (m *metricsColumns) filling(template []byte) (*metricsFilling, error) {
	f := &metricsFilling{Filling: rawjson.NewFilling(template)}
	f.columns, f.values = make([]*column.Column, len(f.Keys)), make([][]byte, len(f.Keys))
	for i, key := range f.Keys {
		var err error
		if f.columns[i], err = m.b.Column("metrics." + key); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// textIn appends the JSON of a member in an event; nothing if its column does not have it.
func textIn(c *column.Column, row int, dst []byte) []byte {
	if c == nil {
		return dst
	}
	if !c.IsNumeric() {
		return append(dst, c.Value(c.Code(row))...)
	}
	if f, ok := c.Number(row); ok {
		return rawjson.AppendNumber(dst, f)
	}
	return dst
}
