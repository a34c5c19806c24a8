// Package backup keeps backups of a store in a directory, each of them whole, and what they have in common once.
//
// The directory has
//
//	spangrove-backups.json              says what it is, and the version of this form
//	backups/NAME.json                   a backup: what the database has beside its rows, and the blocks of each table
//	backups/NAME.json.sha256            its checksum, as sha256sum -c takes it
//	blocks/ab/abcd….zst                 a block of rows, compressed (zstd), under the SHA-256 of what it has uncompressed
//	lock.db                             held by the one that writes
//
// The rows of a table are one stream (sqldb.Dump), which is cut into blocks behind rows that their own content picks. So what was added, changed
// or deleted since the last backup gives new blocks where it lies, and all others are there already. Nothing is ever changed in place: files are
// written under another name, and the backup itself is written when all of its blocks are on disk.
package backup

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Options are those of Write.
type Options struct {
	Program  string // version of the program, which stands in the backup
	Keep     int    // how many backups stay in the directory, the newest; 0: all
	Progress diagnosis.Progress
}

// Report is what Write has done.
type Report struct {
	Name       string   `json:"name"`
	Directory  string   `json:"directory"`
	Events     int64    `json:"events"`
	Rows       int64    `json:"rows"`
	Bytes      int64    `json:"bytes"` // of all rows, uncompressed
	Blocks     int      `json:"blocks"`
	NewBlocks  int      `json:"new_blocks"`
	NewBytes   int64    `json:"new_bytes"` // that blocks and the backup itself take on disk
	Removed    []string `json:"removed,omitempty"`
	Began      string   `json:"began"`
	Seconds    float64  `json:"seconds"`
	FirstOfAll bool     `json:"first"`
}

// Write stores a backup of what source reads, of a kind of database that Restore wants again.
func Write(ctx context.Context, path, kind string, source sqldb.Dump, o Options) (r *Report, err error) {
	began := time.Now().UTC()
	d, err := openToWrite(ctx, path)
	if err != nil {
		return nil, err
	}
	defer d.unlock()
	names, err := d.names()
	if err != nil {
		return nil, err
	}
	m := Manifest{Name: newName(began, names), Began: began, Program: o.Program, Database: kind, Layout: source.Layout()}
	p := newProgress(o.Progress, "reading, bytes", d.expected(names, m.Layout))
	for _, t := range m.Tables {
		rows, err := d.writeTable(ctx, source, t, p)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", t.Name, err)
		}
		m.Rows = append(m.Rows, *rows)
	}
	if err := d.syncBlocks(); err != nil {
		return nil, err
	}
	m.Ended = time.Now().UTC()
	size, err := d.writeManifest(&m)
	if err != nil {
		return nil, err
	}
	r = &Report{Name: m.Name, Directory: path, Events: m.Events(), Began: began.Format(time.RFC3339), FirstOfAll: len(names) == 0,
		NewBlocks: d.added, NewBytes: d.addedBytes + size}
	for i := range m.Rows {
		r.Rows += m.Rows[i].Count
		r.Bytes += m.Rows[i].Bytes
		r.Blocks += len(m.Rows[i].Blocks)
	}
	if o.Keep > 0 {
		if r.Removed, err = d.prune(o.Keep); err != nil {
			return nil, fmt.Errorf("backup %s is stored, but older ones could not be removed: %w", m.Name, err)
		}
	}
	r.Seconds = time.Since(began).Seconds()
	return r, nil
}

// writeTable stores the rows of a table. Blocks are hashed, compressed and written by as many goroutines as there are cores, each of which has one.
func (d *directory) writeTable(ctx context.Context, source sqldb.Dump, t sqldb.Table, p *progress) (*Rows, error) {
	rows := &Rows{Table: t.Name}
	var mu sync.Mutex // for rows.Blocks
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(runtime.GOMAXPROCS(0))
	var sum rowSum
	c := &cutter{emit: func(block []byte) error {
		rows.Bytes += int64(len(block))
		p.add(int64(len(block)))
		mu.Lock()
		i := len(rows.Blocks)
		rows.Blocks = append(rows.Blocks, Sum{})
		mu.Unlock()
		workers.Go(func() error {
			sum, err := d.store(block)
			mu.Lock()
			rows.Blocks[i] = sum
			mu.Unlock()
			return err
		})
		return ctx.Err()
	}}
	var err error
	if rows.Count, err = source.Copy(ctx, t, io.MultiWriter(&sum, c)); err == nil {
		err = c.end()
	}
	if failed := workers.Wait(); failed != nil { // which ended the context of the other
		err = failed
	}
	rows.Sum = sum.String()
	return rows, err
}

// rowSum is the sum of the SHA-256 of rows, as a number of 256 bits: a database may put rows in another order.
type rowSum [4]uint64

// Write implements io.Writer. It takes one row.
func (s *rowSum) Write(row []byte) (int, error) {
	h := sha256.Sum256(row)
	var carry uint64
	for i := range s {
		s[i], carry = bits.Add64(s[i], binary.LittleEndian.Uint64(h[8*i:]), carry)
	}
	return len(row), nil
}

func (s *rowSum) String() string { return fmt.Sprintf("%016x%016x%016x%016x", s[3], s[2], s[1], s[0]) }

// Sizes of blocks before compression. A row is never divided, so a block that is one row may be larger.
const (
	minBlock  = 64 << 10
	meanBlock = 256 << 10
	maxBlock  = 4 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// cutter divides a stream of rows into blocks, behind rows whose checksum is low: one of meanBlock bytes on average, whatever stands before it.
type cutter struct {
	block []byte
	emit  func(block []byte) error // keeps it
}

// Write implements io.Writer. It takes one row.
func (c *cutter) Write(row []byte) (int, error) {
	if len(c.block)+len(row) > maxBlock {
		if err := c.end(); err != nil {
			return 0, err
		}
	}
	c.block = append(c.block, row...)
	if len(c.block) >= minBlock && uint64(crc32.Checksum(row, castagnoli))*meanBlock < uint64(len(row))<<32 {
		if err := c.end(); err != nil {
			return 0, err
		}
	}
	return len(row), nil
}

// end ends the block.
func (c *cutter) end() error {
	if len(c.block) == 0 {
		return nil
	}
	block := c.block
	c.block = nil
	return c.emit(block)
}

// progress counts what is done.
type progress struct {
	tell        diagnosis.Progress
	what        string
	done, total int64
}

func newProgress(tell diagnosis.Progress, what string, total int64) *progress {
	return &progress{tell: tell, what: what, total: total}
}

func (p *progress) add(n int64) {
	p.done += n
	if p.tell == nil {
		return
	}
	total := p.total
	if total < p.done { // it was an estimate
		total = 0
	}
	p.tell(p.what, p.done, total)
}

// Write implements io.Writer, for what is only to be counted.
func (p *progress) Write(b []byte) (int, error) {
	p.add(int64(len(b)))
	return len(b), nil
}

// Restore makes a store of a backup, "" being the newest one, compares all of it with the backup, and only then makes it usable.
func Restore(ctx context.Context, path, name, kind string, target func(context.Context) (sqldb.Load, error), tell diagnosis.Progress) (m *Manifest, err error) {
	d, err := open(path)
	if err != nil {
		return nil, err
	}
	if m, err = d.find(name); err != nil {
		return nil, err
	}
	if m.Database != kind {
		return nil, fmt.Errorf("backup %s is of %s, and cannot be restored into %s", m.Name, m.Database, kind)
	}
	load, err := target(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, load.Close(ctx)) }()
	if err := load.Make(ctx, m.Layout); err != nil {
		return nil, err
	}
	p := newProgress(tell, "restoring, bytes", m.bytes())
	for i, t := range m.Tables {
		if err := sqldb.Pipe(
			func(w io.Writer) error { return d.writeTo(ctx, io.MultiWriter(w, p), m.Rows[i].Blocks) },
			func(r io.Reader) error { return load.Copy(ctx, t, r) },
		); err != nil {
			return nil, fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	if err := compare(ctx, load, m, newProgress(tell, "comparing, bytes", m.bytes())); err != nil {
		return nil, err
	}
	return m, load.Finish(ctx)
}

// compare reads all that was restored.
func compare(ctx context.Context, load sqldb.Load, m *Manifest, p *progress) (err error) {
	check, err := load.Check(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, check.Close(ctx)) }()
	for i, t := range m.Tables {
		var sum rowSum
		n, err := check.Copy(ctx, t, io.MultiWriter(&sum, p))
		if err != nil {
			return fmt.Errorf("compare table %s: %w", t.Name, err)
		}
		if want := m.Rows[i]; n != want.Count || sum.String() != want.Sum {
			return fmt.Errorf("table %s has %d rows that are not the %d of the backup", t.Name, n, want.Count)
		}
	}
	return nil
}
