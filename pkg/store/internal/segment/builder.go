// Package segment makes segments: the events of a project that came one after another, as columns. It knows no database.
//
// A segment is a header and numbered columns. The header names the columns, and says what the segment does not hold: members of
// JSON fields that have no column (partial), and events that could not be read (unread). Both are left to whoever reads the rows.
package segment

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/column"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Bounds of a segment.
const (
	// MaxEvents is how many events it holds.
	MaxEvents = 64 << 10
	// maxBytes is about how much memory its builder takes before the segment is full.
	maxBytes = 64 << 20
	// maxColumns is how many columns it has, and maxKeyBytes how long the key of a member with a column is.
	maxColumns  = 1000
	maxKeyBytes = 500
)

// Columns that are no fields of events: the place of an event in the order in which events came, the day of its key, and its id.
const (
	seqColumn = "\x00seq"
	dayColumn = "\x00day"
)

// idNumber is the number of the column of ids, which is 16 bytes an event. The others have those from 1 on.
const idNumber = 0

// version is that of the header and of what columns mean. Segments of another one are built again.
const version = 2

// Builder collects the events of a segment.
type Builder struct {
	seqs, days []float64
	ids        []byte
	fields     map[string]*column.Builder            // by name
	members    map[string]map[string]*column.Builder // by JSON field and key
	columns    int
	partial    map[string]bool
	unread     []int
	first      float64
	last       float64
}

// NewBuilder returns a builder without events.
func NewBuilder() *Builder {
	return &Builder{
		fields:  map[string]*column.Builder{query.ParentColumn: newColumn()},
		members: map[string]map[string]*column.Builder{}, partial: map[string]bool{},
		first: math.Inf(1), last: math.Inf(-1),
	}
}

func newColumn() *column.Builder { return column.NewBuilder(rawjson.AppendNumber) }

// Len returns the number of events.
func (b *Builder) Len() int { return len(b.seqs) }

// Full reports whether the segment has as much as it may have.
func (b *Builder) Full() bool {
	if len(b.seqs) >= MaxEvents {
		return true
	}
	if len(b.seqs)%1024 != 0 { // the sum is not for each event
		return false
	}
	size := 0
	for _, c := range b.fields {
		size += c.Bytes()
	}
	for _, keys := range b.members {
		for _, c := range keys {
			size += c.Bytes()
		}
	}
	return size > maxBytes
}

// Add adds an event as callers read it, without payload but for its configuration. totals are those of the session of a session event.
// Events must come in the order of seq. One that could not be read is added with its head.
func (b *Builder) Add(seq int64, day int32, e *event.Event, totals *event.SessionTotals, isRead bool) {
	row := len(b.seqs)
	b.seqs, b.days = append(b.seqs, float64(seq)), append(b.days, float64(day))
	b.ids = append(b.ids, e.ID[:]...)
	b.first, b.last = min(b.first, e.Start), max(b.last, e.Start)
	if !isRead {
		b.unread = append(b.unread, row)
	}
	query.ColumnsOf(e, totals, func(v query.ColumnValue) {
		if c := b.column(v.Field, v.Key); c != nil {
			c.Add(row, v.Value, v.Number, v.IsNumber)
		}
	})
}

// column returns the builder of a column, nil if it is one too many.
func (b *Builder) column(field, key string) *column.Builder {
	columns, name := b.fields, field
	if key != "" {
		columns, name = b.members[field], key
		if columns == nil {
			columns = map[string]*column.Builder{}
			b.members[field] = columns
		}
	}
	c := columns[name]
	if c == nil {
		if b.columns == maxColumns || len(key) > maxKeyBytes {
			b.partial[field] = true
			return nil
		}
		b.columns++
		c = newColumn()
		columns[name] = c
	}
	return c
}

// Column is a column as it is stored.
type Column struct {
	Number int
	Data   []byte
}

// Built is a whole segment.
type Built struct {
	FirstSeq, LastSeq int64
	Events            int
	FirstMS, LastMS   float64 // bounds of the starts, in Unix milliseconds
	Header            []byte
	Columns           []Column
}

// header is what is stored with a segment beside its columns.
type header struct {
	Version int            `json:"version"`
	Events  int            `json:"events"`
	Columns map[string]int `json:"columns"` // numbers by name
	Partial []string       `json:"partial,omitempty"`
	Unread  []int          `json:"unread,omitempty"`
}

// Build returns the segment, which must have an event.
func (b *Builder) Build() (*Built, error) {
	n := len(b.seqs)
	out := &Built{
		FirstSeq: int64(b.seqs[0]), LastSeq: int64(b.seqs[n-1]), Events: n, FirstMS: b.first, LastMS: b.last,
		Columns: []Column{{idNumber, column.Seal(b.ids)}},
	}
	h := header{Version: version, Events: n, Columns: map[string]int{}, Unread: b.unread}
	add := func(name string, c *column.Column) {
		number := len(out.Columns)
		h.Columns[name] = number
		out.Columns = append(out.Columns, Column{number, c.Encode()})
	}
	add(seqColumn, column.OfNumbers(b.seqs))
	add(dayColumn, column.OfNumbers(b.days))
	for name, c := range b.fields {
		add(name, c.Build(n))
	}
	for field, keys := range b.members {
		for key, c := range keys {
			add(field+"."+key, c.Build(n))
		}
	}
	for field := range b.partial {
		h.Partial = append(h.Partial, field)
	}
	raw, err := json.Marshal(h)
	out.Header = column.Seal(raw)
	return out, err
}

// ID returns the id of a row in the bytes of the column of ids.
func idOf(ids []byte, row int) (id uuid.UUID) {
	copy(id[:], ids[16*row:])
	return id
}

// readHeader reads a header that Build has made. column.ErrDamaged if it is none, or of another version.
func readHeader(data []byte) (*header, error) {
	raw, err := column.Open(data)
	if err != nil {
		return nil, err
	}
	h := &header{}
	if err := json.Unmarshal(raw, h); err != nil {
		return nil, fmt.Errorf("%w: %w", column.ErrDamaged, err)
	}
	if h.Version != version {
		return nil, fmt.Errorf("%w: version %d", column.ErrDamaged, h.Version)
	}
	return h, nil
}
