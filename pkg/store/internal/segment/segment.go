package segment

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/column"
)

// Segment is a row of table segment.
type Segment struct {
	ID                int64
	FirstSeq, LastSeq int64
	Events            int
	FirstMS, LastMS   float64
	HasHeader         bool // else its events must be read from their rows
	HasWords          bool // it has an index of words
}

// Times returns bounds of the starts of its events, in Unix milliseconds.
func (s *Segment) Times() (first, last float64) { return s.FirstMS, s.LastMS }

// Source reads what is stored of a segment: its header, and its columns by number.
type Source interface {
	Header(ctx context.Context, segment int64) ([]byte, error)
	Column(ctx context.Context, segment int64, number int) ([]byte, error)
}

// Block is a segment that is being read, a query.Block. It is for one goroutine.
type Block struct {
	Segment
	ctx    context.Context //nolint:containedctx // a block lives as long as one read
	cache  *Cache
	source Source
	header *header
}

// Open returns a block. The error is column.ErrDamaged if the segment must be built again.
func Open(ctx context.Context, s Segment, cache *Cache, source Source) (*Block, error) {
	b := &Block{Segment: s, ctx: ctx, cache: cache, source: source}
	v, err := cache.get(key{segment: s.ID, number: headerNumber}, func() (any, int, error) {
		data, err := source.Header(ctx, s.ID)
		if err != nil {
			return nil, 0, err
		}
		h, err := readHeader(data)
		if err == nil && h.Events != s.Events {
			err = column.ErrDamaged
		}
		return h, 10 * len(data), err
	})
	if err != nil {
		return nil, err
	}
	b.header = v.(*header)
	return b, nil
}

// Len returns the number of events.
func (b *Block) Len() int { return b.header.Events }

// Partial reports whether there may be members of a JSON field of which the segment has no column.
func (b *Block) Partial(field string) bool { return slices.Contains(b.header.Partial, field) }

// Unread returns the events that could not be read, and must be left to their rows.
func (b *Block) Unread() []int { return b.header.Unread }

// Column returns the column of a field; nil if there is none.
func (b *Block) Column(name string) (*column.Column, error) {
	number, ok := b.header.Columns[name]
	if !ok {
		return nil, nil
	}
	return load(b, number, func(data []byte) (*column.Column, int, error) {
		c, err := column.Decode(data)
		if err != nil {
			return nil, 0, err
		}
		if c.Len() != b.Len() {
			return nil, 0, column.ErrDamaged
		}
		return c, c.Bytes(), nil
	})
}

// must returns a column that every segment has.
func (b *Block) must(name string) (*column.Column, error) {
	c, err := b.Column(name)
	if err == nil && (c == nil || !c.IsNumeric()) {
		err = column.ErrDamaged
	}
	return c, err
}

// Days are the days of the keys of the events of a block.
type Days struct{ column *column.Column }

// Of returns the day of a row.
func (d Days) Of(row int) int32 {
	f, _ := d.column.Number(row)
	return int32(f)
}

// Days returns the days of its events.
func (b *Block) Days() (Days, error) {
	c, err := b.must(dayColumn)
	return Days{c}, err
}

// Keys are the keys of the events of a block: day and id.
type Keys struct {
	ids  []byte
	days Days
}

// Of returns the key of a row.
func (k *Keys) Of(row int) (id uuid.UUID, day int32) { return idOf(k.ids, row), k.days.Of(row) }

// Keys returns the keys of its events.
func (b *Block) Keys() (*Keys, error) {
	days, err := b.Days()
	if err != nil {
		return nil, err
	}
	ids, err := load(b, idNumber, func(data []byte) ([]byte, int, error) {
		raw, err := column.Open(data)
		if err == nil && len(raw) != 16*b.Len() {
			err = column.ErrDamaged
		}
		return raw, len(raw), err
	})
	return &Keys{ids, days}, err
}

// Seq returns the place of a row in the order in which events came.
func (b *Block) Seq(row int) (int64, error) {
	c, err := b.must(seqColumn)
	if err != nil {
		return 0, err
	}
	f, _ := c.Number(row)
	return int64(f), nil
}

// RowOf returns the row with a seq; not ok if it is not in this segment.
func (b *Block) RowOf(seq int64) (row int, ok bool, err error) {
	c, err := b.must(seqColumn)
	if err != nil {
		return 0, false, err
	}
	row, ok = rowOf(c, seq)
	return row, ok, nil
}

func rowOf(seqs *column.Column, seq int64) (row int, ok bool) {
	return sort.Find(seqs.Len(), func(i int) int {
		f, _ := seqs.Number(i)
		return cmp.Compare(float64(seq), f)
	})
}

// Rows returns the set of the rows with the given seqs, of which some may be none of this segment's.
func (b *Block) Rows(seqs []int64) (column.Set, error) {
	set := column.NewSet(b.Len())
	c, err := b.must(seqColumn)
	if err != nil {
		return nil, err
	}
	for _, seq := range seqs {
		if row, ok := rowOf(c, seq); ok {
			set.Add(row)
		}
	}
	return set, nil
}
