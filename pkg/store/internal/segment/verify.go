package segment

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/column"
	"github.com/spangrove/spangrove/pkg/words"
)

// Contents is what was found in a segment all of whose parts are whole.
type Contents struct {
	Seqs []int64
	Days []int32
	IDs  []uuid.UUID
	// Columns are those of fields as they are stored, by name.
	Columns map[string][]byte
	// Partial names the JSON fields of which not all members have a column, in order.
	Partial []string
	Unread  []int
}

// Verify decodes all parts of a segment: its header, its columns and the pages of its index of words, by number. The error says
// which part is missing or damaged; it is column.ErrDamaged then. words tells that it is of the index of words alone.
func Verify(s Segment, headerData []byte, columns map[int][]byte) (c *Contents, ofWords bool, err error) {
	h, err := readHeader(headerData)
	if err != nil {
		return nil, false, fmt.Errorf("header: %w", err)
	}
	if h.Events != s.Events {
		return nil, false, fmt.Errorf("%w: the header has %d events, the row %d", column.ErrDamaged, h.Events, s.Events)
	}
	c = &Contents{Columns: map[string][]byte{}, Partial: slices.Sorted(slices.Values(h.Partial)), Unread: h.Unread}
	decoded := map[string]*column.Column{}
	for name, number := range h.Columns {
		data, there := columns[number]
		if !there {
			return nil, false, fmt.Errorf("%w: column %d is missing", column.ErrDamaged, number)
		}
		x, err := column.Decode(data)
		if err == nil && x.Len() != h.Events {
			err = column.ErrDamaged
		}
		if err != nil {
			return nil, false, fmt.Errorf("column %d: %w", number, err)
		}
		if name == seqColumn || name == dayColumn {
			decoded[name] = x
		} else {
			c.Columns[name] = data
		}
	}
	if err := c.keys(h.Events, columns[idNumber], decoded[seqColumn], decoded[dayColumn]); err != nil {
		return nil, false, err
	}
	return c, true, verifyWords(s, columns)
}

// keys decodes the places, days and ids of the events.
func (c *Contents) keys(events int, ids []byte, seqs, days *column.Column) error {
	raw, err := column.Open(ids)
	if err == nil && (len(raw) != 16*events || seqs == nil || days == nil || !seqs.IsNumeric() || !days.IsNumeric()) {
		err = column.ErrDamaged
	}
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	for row := range events {
		seq, _ := seqs.Number(row)
		c.Seqs, c.Days, c.IDs = append(c.Seqs, int64(seq)), append(c.Days, Days{days}.Of(row)), append(c.IDs, idOf(raw, row))
	}
	if !slices.IsSorted(c.Seqs) {
		return fmt.Errorf("%w: places are not in order", column.ErrDamaged)
	}
	return nil
}

func verifyWords(s Segment, columns map[int][]byte) error {
	if !s.HasWords {
		return nil
	}
	directory, there := columns[wordsNumber]
	if !there {
		return fmt.Errorf("%w: the index of words is missing", column.ErrDamaged)
	}
	if _, err := words.ReadDirectory(directory); err != nil {
		return fmt.Errorf("directory of words: %w", err)
	}
	for number, data := range columns {
		if number <= wordsNumber {
			continue
		}
		if _, err := column.Open(data); err != nil {
			return fmt.Errorf("page %d of words: %w", number-wordsNumber, err)
		}
	}
	return nil
}

// VerifiedWords returns the index of words of a segment that was verified; nil if it has none.
func VerifiedWords(s Segment, columns map[int][]byte) (*words.Index, error) {
	if !s.HasWords {
		return nil, nil
	}
	d, err := words.ReadDirectory(columns[wordsNumber])
	if err != nil {
		return nil, err
	}
	return words.NewIndex(d, storedPages(columns), s.Events), nil
}

// storedPages are the pages of an index of words as they are stored, by number of column.
type storedPages map[int][]byte

func (p storedPages) Texts(number int) (*words.Texts, error) {
	return words.ReadTexts(p[wordsNumber+1+number])
}

func (p storedPages) Lists(number int) ([]byte, error) {
	return words.ReadLists(p[wordsNumber+1+number])
}

// Named returns the columns of fields that were built, by name, as Contents has them, with the fields that are not whole.
func (b *Built) Named() (columns map[string][]byte, partial []string, unread []int, err error) {
	h, err := readHeader(b.Header)
	if err != nil {
		return nil, nil, nil, err
	}
	columns = map[string][]byte{}
	for name, number := range h.Columns {
		if name != seqColumn && name != dayColumn {
			columns[name] = b.Columns[number].Data
		}
	}
	return columns, slices.Sorted(slices.Values(h.Partial)), h.Unread, nil
}
