package move

import (
	"context"
	"strings"
	"testing"
)

// inserts is a target that notes how many rows it is given at a time, and how many bytes they have.
type inserts struct {
	Target
	rows, bytes []int
}

func (t *inserts) insert(_ context.Context, _ *table, rows [][]any) error {
	bytes := 0
	for _, row := range rows {
		bytes += len(row[1].(string))
	}
	t.rows, t.bytes = append(t.rows, len(rows)), append(t.bytes, bytes)
	return nil
}

func TestLargeRowsAreInsertedAFewAtATime(t *testing.T) {
	const points, size = 80, 2 << 20
	dst := &inserts{}
	m := &mover{dst: dst}
	n, last, err := m.insertAll(t.Context(), nil, func(f func(row []any) error) error {
		for i := range points {
			if err := f([]any{int64(i), strings.Repeat("x", size)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n != points || last[0] != int64(points-1) {
		t.Errorf("%d rows were read, the last is %v, want %d and %d", n, last[0], points, points-1)
	}
	total := 0
	for i, bytes := range dst.bytes {
		total += dst.rows[i]
		if bytes > insertBytes+size {
			t.Errorf("insert %d has %d bytes, want at most %d and one row", i, bytes, insertBytes)
		}
	}
	if total != points {
		t.Errorf("%d rows were inserted, want %d", total, points)
	}
}
