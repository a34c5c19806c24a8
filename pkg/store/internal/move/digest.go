package move

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// appendRow appends values one after the other, each by a byte for its type and, of a text or bytes, its length.
func appendRow(b []byte, row []any) []byte {
	for _, v := range row {
		switch v := v.(type) {
		case nil:
			b = append(b, 0)
		case int64:
			b = binary.AppendVarint(append(b, 1), v)
		case float64:
			b = binary.BigEndian.AppendUint64(append(b, 2), math.Float64bits(v))
		case string:
			b = append(binary.AppendUvarint(append(b, 3), uint64(len(v))), v...)
		case []byte:
			b = append(binary.AppendUvarint(append(b, 4), uint64(len(v))), v...)
		default:
			panic(fmt.Sprintf("a value of type %T", v))
		}
	}
	return b
}

// sum counts rows and adds up their SHA-256 as numbers of 256 bits: the order of the rows does not matter.
type sum struct {
	rows   int64
	digest [4]uint64
}

func hashRow(row []any) [4]uint64 {
	h := sha256.Sum256(appendRow(nil, row))
	return [4]uint64{binary.BigEndian.Uint64(h[0:]), binary.BigEndian.Uint64(h[8:]), binary.BigEndian.Uint64(h[16:]), binary.BigEndian.Uint64(h[24:])}
}

func (s *sum) add(h [4]uint64) { s.join(&sum{rows: 1, digest: h}) }

// join adds another sum.
func (s *sum) join(o *sum) {
	s.rows += o.rows
	var carry uint64
	for i := 3; i >= 0; i-- {
		s.digest[i], carry = bits.Add64(s.digest[i], o.digest[i], carry)
	}
}

// hex returns the sum of the hashes.
func (s *sum) hex() string {
	return fmt.Sprintf("%016x%016x%016x%016x", s.digest[0], s.digest[1], s.digest[2], s.digest[3])
}

// bucket is what rows are summed up by. project and day are -1 where a table has none.
type bucket struct {
	table        string
	project, day int64
}

func (b bucket) String() string {
	text := b.table
	if b.project >= 0 {
		text += fmt.Sprintf(", project %d", b.project)
	}
	if b.day >= 0 {
		text += fmt.Sprintf(", day %d", b.day)
	}
	return text
}

// sums are those of a whole store.
type sums struct {
	of     map[bucket]*sum
	orphan int64 // payloads that no event names
}

func (s *sums) add(b bucket, row []any) {
	if s.of[b] == nil {
		s.of[b] = &sum{}
	}
	s.of[b].add(hashRow(row))
}

// sumUp reads all tables. Payloads that no event names are counted by themselves: they are not copied.
func sumUp(ctx context.Context, d database, tables []*table, tell func(rows int64)) (*sums, error) {
	s := &sums{of: map[bucket]*sum{}}
	var rows int64
	named := map[int64]bool{}                   // ids of chunks that events name
	for _, t := range slices.Backward(tables) { // events before chunks
		if !t.noted() {
			continue
		}
		project, day, chunk := t.index("project_id"), t.index("day"), t.index("chunk")
		if t.name == chunkTable {
			if err := s.addChunks(ctx, d, t, named); err != nil {
				return nil, err
			}
			continue
		}
		err := all(ctx, d, t, func(row []any) error {
			b := bucket{t.name, -1, -1}
			if project >= 0 {
				b.project, _ = row[project].(int64)
			}
			if t.name == eventTable {
				b.day, _ = row[day].(int64)
				if id, ok := row[chunk].(int64); ok {
					named[id] = true
				}
			}
			s.add(b, row)
			if rows++; rows%10_000 == 0 {
				tell(rows)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read table %s: %w", t.name, err)
		}
	}
	tell(rows)
	return s, nil
}

// addChunks sums up chunks without their day, which SQLite does not have. A pack is named by the chunks in it.
func (s *sums) addChunks(ctx context.Context, d database, t *table, named map[int64]bool) error {
	day, id, pack := t.index("day"), t.index("id"), t.index("pack")
	b := bucket{t.name, -1, -1}
	s.of[b] = &sum{}
	packs := map[int64]bool{}
	others := map[int64][4]uint64{}
	err := all(ctx, d, t, func(row []any) error {
		row[day] = nil
		n, _ := row[id].(int64)
		h := hashRow(row)
		if !named[n] {
			others[n] = h
			return nil
		}
		s.of[b].add(h)
		if p, ok := row[pack].(int64); ok {
			packs[p] = true
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read table %s: %w", t.name, err)
	}
	for n, h := range others {
		if packs[n] {
			s.of[b].add(h)
		} else {
			s.orphan++
		}
	}
	return nil
}

// differences lists where two stores differ.
func differences(a, b *sums) error {
	var list []string
	for _, x := range [][2]*sums{{a, b}, {b, a}} {
		for k, s := range x[0].of {
			other := x[1].of[k]
			if other == nil && s.rows > 0 || other != nil && *other != *s {
				n := int64(0)
				if other != nil {
					n = other.rows
				}
				list = append(list, fmt.Sprintf("%s (%d and %d rows)", k, s.rows, n))
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	return fmt.Errorf("the copy differs from the original in %s", strings.Join(list[:min(len(list), 5)], "; "))
}
