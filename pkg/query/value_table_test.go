package query

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Counts of blocks are the same with and without numbers, also where a table is full, and where blocks have different tables.
func TestValueTable(t *testing.T) {
	t.Parallel()
	q := &ValueQuery{Search: Search{Limit: 1000}}
	block := func(first, n int) *BlockCounts {
		c := &BlockCounts{}
		for i := range n {
			c.add(fmt.Sprintf("user %d", first+i), valueCounted, 1+(first+i)%3)
		}
		return c
	}
	numbered := func(table *ValueTable, c *BlockCounts) *BlockCounts {
		c.table = table
		c.numbered, c.values = table.number(c.values)
		return c
	}
	want := NewValueCounts(q)
	for _, first := range []int{0, 50, 100, 20} {
		want.AddBlock(block(first, 100))
	}
	want.addText("user 7", 5)
	want.addText("nobody", 3)

	table, full := NewValueTable(1<<20), NewValueTable(30*(len("user 10")+valueOverhead))
	got := NewValueCounts(q)
	got.addText("user 7", 5) // before it has a number
	got.AddBlock(numbered(table, block(0, 100)))
	got.AddBlock(numbered(table, block(50, 100)))
	got.AddBlock(block(100, 100))
	if c := numbered(full, block(20, 100)); len(c.numbered) == 0 || len(c.values) == 0 {
		t.Fatalf("%d with a number, %d without", len(c.numbered), len(c.values))
	} else {
		got.AddBlock(c)
	}
	got.addText("nobody", 3)
	if n := got.Different(); n < 201 {
		t.Errorf("%d different values, want at least 201", n)
	}
	if d := cmp.Diff(want.Answer(true), got.Answer(true)); d != "" {
		t.Errorf("counts (-want +got):\n%s", d)
	}
}

// Blocks are numbered and added up at the same time.
func TestValueTableConcurrently(t *testing.T) {
	t.Parallel()
	q := &ValueQuery{Search: Search{Limit: 10}}
	table := NewValueTable(1 << 20)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			counts := NewValueCounts(q)
			for i := range 50 {
				c := &BlockCounts{table: table}
				c.numbered, c.values = table.number([]ValueCount{{"each", 1}, {fmt.Sprint(i), 1}})
				counts.AddBlock(c)
			}
			if a := counts.Answer(true); a.Values[0] != (ValueCount{"each", 50}) || len(a.Values) != 10 {
				t.Errorf("%v", a.Values)
			}
		})
	}
	wg.Wait()
}
