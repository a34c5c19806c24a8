package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// memory is a database of one table, of rows that are texts. A row ends with a new line.
type memory struct {
	rows  [][]byte
	alter func(row []byte) []byte // what Load stores instead
	done  bool
}

var memoryTable = sqldb.Table{Name: "event", Columns: []string{"text"}}

func (m *memory) Layout() sqldb.Layout {
	return sqldb.Layout{Migrations: []int64{1}, Tables: []sqldb.Table{memoryTable}}
}

func (m *memory) Close(context.Context) error { return nil }

// dump is its Dump, and load its Load.
type (
	dump struct{ *memory }
	load struct{ *memory }
)

func (d dump) Copy(_ context.Context, _ sqldb.Table, w io.Writer) (int64, error) {
	for i, row := range d.rows {
		if _, err := w.Write(row); err != nil {
			return int64(i), err
		}
	}
	return int64(len(d.rows)), nil
}

func (l load) Make(context.Context, sqldb.Layout) error { return nil }

func (l load) Copy(_ context.Context, _ sqldb.Table, r io.Reader) error {
	all, err := io.ReadAll(r)
	for row := range bytes.Lines(all) {
		if l.alter != nil {
			row = l.alter(row)
		}
		if row != nil {
			l.rows = append(l.rows, slices.Clone(row))
		}
	}
	return err
}

func (l load) Check(context.Context) (sqldb.Dump, error) { return dump(l), nil }

func (l load) Finish(context.Context) error {
	l.done = true
	return nil
}

// textRows returns rows of some hundred bytes.
func textRows(seed uint64, n int) (rows [][]byte) {
	r := rand.New(rand.NewPCG(seed, 0))
	for range n {
		row := make([]byte, 100+r.IntN(400))
		for i := range row {
			row[i] = 'a' + byte(r.IntN(26))
		}
		rows = append(rows, append(row, '\n'))
	}
	return rows
}

func write(t *testing.T, dir string, rows [][]byte) *Report {
	t.Helper()
	r, err := Write(t.Context(), dir, "memory", dump{&memory{rows: rows}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// restore returns the rows of a backup.
func restore(t *testing.T, dir, name string) [][]byte {
	t.Helper()
	to := &memory{}
	if _, err := Restore(t.Context(), dir, name, "memory", func(context.Context) (sqldb.Load, error) { return load{to}, nil }, nil); err != nil {
		t.Fatal(err)
	}
	if !to.done {
		t.Error("what was restored is not finished")
	}
	return to.rows
}

// TestChangesGiveFewBlocks changes a table of some MB in one place, and expects that few blocks are stored again.
func TestChangesGiveFewBlocks(t *testing.T) {
	t.Parallel()
	base := textRows(1, 30_000)
	insert := textRows(2, 3)
	for _, tt := range []struct {
		what   string
		rows   [][]byte
		blocks int // that are new at most
	}{
		{"nothing", base, 0},
		{"rows before all others", slices.Concat(insert, base), 2},
		{"rows in the middle", slices.Concat(base[:15_000], insert, base[15_000:]), 2},
		{"rows after all others", slices.Concat(base, insert), 1},
		{"rows that are gone", slices.Concat(base[:9_000], base[9_100:]), 2},
		{"other rows", slices.Concat(base[:9_000], insert, base[9_003:]), 2},
	} {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			first := write(t, dir, base)
			if first.Blocks < 20 || first.NewBlocks != first.Blocks {
				t.Fatalf("%d of %d blocks are new at first", first.NewBlocks, first.Blocks)
			}
			second := write(t, dir, tt.rows)
			if second.NewBlocks > tt.blocks {
				t.Errorf("%d of %d blocks are new, want %d at most", second.NewBlocks, second.Blocks, tt.blocks)
			}
			if got := restore(t, dir, second.Name); !slices.EqualFunc(got, tt.rows, bytes.Equal) {
				t.Errorf("%d rows of the second backup are others than the %d that were stored", len(got), len(tt.rows))
			}
			if got := restore(t, dir, first.Name); !slices.EqualFunc(got, base, bytes.Equal) {
				t.Errorf("%d rows of the first backup are others than the %d that were stored", len(got), len(base))
			}
		})
	}
}

// TestBlockSizes cuts rows of many sizes: no block is larger than maxBlock unless it is one row.
func TestBlockSizes(t *testing.T) {
	t.Parallel()
	var rows, all []byte
	var sizes []int
	c := &cutter{emit: func(block []byte) error {
		sizes = append(sizes, len(block))
		all = append(all, block...)
		return nil
	}}
	r := rand.New(rand.NewPCG(3, 0))
	largest := 0
	for _, size := range []int{1, 10, 1000, 100_000, maxBlock - 1, maxBlock, maxBlock + 1, 2 * maxBlock, 7, 300_000} {
		for range 3 {
			row := make([]byte, size)
			for i := range row {
				row[i] = byte(r.Uint32())
			}
			largest = max(largest, size)
			rows = append(rows, row...)
			if _, err := c.Write(row); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.end(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(rows, all) {
		t.Fatal("the blocks are not the rows")
	}
	for i, n := range sizes {
		if n > maxBlock && n != maxBlock+1 && n != 2*maxBlock || n == 0 {
			t.Errorf("block %d has %d bytes", i, n)
		}
	}
}

// TestRestoreCompares restores into a database that changes, loses or adds a row.
func TestRestoreCompares(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rows := textRows(4, 1000)
	write(t, dir, rows)
	for what, alter := range map[string]func(row []byte) []byte{
		"changed": func(row []byte) []byte { return bytes.ToUpper(row) },
		"lost":    func([]byte) []byte { return nil },
		"added":   func(row []byte) []byte { return append(slices.Clone(row), row...) },
	} {
		to := &memory{alter: func(row []byte) []byte {
			if bytes.Equal(row, rows[500]) {
				return alter(row)
			}
			return row
		}}
		_, err := Restore(t.Context(), dir, "", "memory", func(context.Context) (sqldb.Load, error) { return load{to}, nil }, nil)
		if err == nil || !strings.Contains(err.Error(), "table event") || to.done {
			t.Errorf("a row that was %s: %v, finished: %v", what, err, to.done)
		}
	}
	if _, err := Restore(t.Context(), dir, "", "other", nil, nil); err == nil || !strings.Contains(err.Error(), "is of memory") {
		t.Errorf("restored into another kind of database: %v", err)
	}
}

// TestNothingIsPrunedBehindDamage keeps the blocks of a backup that cannot be read.
func TestNothingIsPrunedBehindDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var names []string
	for seed := range uint64(3) {
		names = append(names, write(t, dir, textRows(seed, 1000)).Name)
	}
	manifest := filepath.Join(dir, backupsName, names[1]+manifestSuffix)
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(manifest, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(t.Context(), dir, "memory", dump{&memory{rows: textRows(9, 10)}}, Options{Keep: 3}); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("prune although a backup that stays cannot be read: %v", err)
	}
	if err := os.WriteFile(manifest, text, 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := Verify(t.Context(), dir, nil)
	if err != nil || v.Damaged() > 0 || len(v.Backups) != 4 {
		t.Errorf("%+v %v", v, err)
	}
}

// TestOneWriter keeps a second one out.
func TestOneWriter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, textRows(1, 10))
	unlock, err := sqldb.LockDirectory(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Write(t.Context(), dir, "memory", dump{&memory{}}, Options{})
	unlock()
	if err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("a second backup at the same time: %v", err)
	}
	if got := restore(t, dir, ""); len(got) != 10 {
		t.Errorf("%d rows", len(got))
	}
}

// FuzzManifest reads anything as a manifest, with the right checksum.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"name":"x","tables":[{"name":"event","columns":["a"]}],"rows":[{"table":"event","blocks":["00"]}]}`))
	f.Add([]byte(`{"tables":[],"rows":null}`))
	dir := f.TempDir()
	if err := makeFormat(dir); err != nil {
		f.Fatal(err)
	}
	d, err := open(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		sum := fmt.Sprintf("%x  x", sha256.Sum256(text))
		for path, text := range map[string][]byte{d.manifest("x"): text, d.manifest("x") + sumSuffix: []byte(sum)} {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if m, err := d.readManifest("x"); err == nil && len(m.Rows) != len(m.Tables) {
			t.Error("tables without rows")
		}
	})
}

// TestClockThatWasAhead stores a backup while the clock is behind the time of an earlier one: it is the newest all the same.
func TestClockThatWasAhead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := write(t, dir, textRows(5, 100))
	for _, suffix := range []string{manifestSuffix, manifestSuffix + sumSuffix} {
		path := filepath.Join(dir, backupsName, first.Name+suffix)
		if err := os.Rename(path, filepath.Join(dir, backupsName, "20991231T000000.000Z"+suffix)); err != nil {
			t.Fatal(err)
		}
	}
	rows := textRows(6, 100)
	r, err := Write(t.Context(), dir, "memory", dump{&memory{rows: rows}}, Options{Keep: 1})
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(r.Removed, r.Name) || len(r.Removed) != 1 {
		t.Errorf("backup %s was stored, and removed were %q", r.Name, r.Removed)
	}
	if got := restore(t, dir, ""); !slices.EqualFunc(got, rows, bytes.Equal) {
		t.Errorf("the newest backup has %d other rows", len(got))
	}
}

// TestBlocksOfOthersAreSynced stores a block that is there already, as one that was interrupted leaves it: its name may not be on disk yet.
func TestBlocksOfOthersAreSynced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, textRows(7, 1))
	d, err := openToWrite(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.unlock()
	sum, err := d.store(textRows(7, 1)[0])
	if err != nil {
		t.Fatal(err)
	}
	if d.added != 0 || !d.touched[filepath.Dir(d.block(sum))] {
		t.Errorf("%d blocks are new; directories that are put on disk: %v", d.added, d.touched)
	}
}
