package sqldb

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"os"
	"time"
)

// What is deleted leaves the files of the data directory in three steps (ADR 004). SQLite overwrites
// it where it stands (secure_delete). It does not overwrite copies of rows that a page split left in
// the unused part of a page; erase looks through the pages and clears those. And the log keeps old
// pages until its file is cut. Until all of that is done, a row in table setting records it, which is
// written with the deletion itself: whatever process comes next goes on.

const (
	// eraseSetting is the row of table setting that exists while deleted text may still be in the files.
	eraseSetting = "erase"
	// erasePages is how many pages are cleared or given back to the file system in one transaction.
	erasePages = 256
	// eraseBurst is how many pages are read before a pause of erasePause times as long as that took.
	eraseBurst = 1024
	erasePause = 3
	// eraseRetry is how long the next try to cut the log waits for readers that stand on it.
	eraseRetry = 50 * time.Millisecond
)

// Deleted records, in the transaction that deletes something, that it is to be erased from the files.
func (t *sqliteTx) Deleted(ctx context.Context) error {
	_, err := t.Exec(ctx, `INSERT INTO setting(name, value) VALUES ($1, '') ON CONFLICT (name) DO NOTHING`, eraseSetting)
	if err == nil {
		t.deletes = true
	}
	return err
}

// EraseDue returns a channel that signals that something was deleted.
func (d *SQLite) EraseDue() <-chan struct{} { return d.deletedKick }

// Erase removes from all files what was deleted before. It returns nil if there is nothing to do.
//
//  0. What was derived from it and not deleted with it is deleted by first.
//  1. Free pages are given back to the file system (giveBack).
//  2. The unused parts of all pages are cleared (clearPages).
//  3. The log is copied back and its file is cut, since it has the pages as they were (cutLog).
//  4. The row that asked for this is deleted, unless something was deleted meanwhile.
//
// The count of deletions is read before anything else: a deletion that commits while a pass is under way changes it, and the
// row stays for the next pass, whatever page it touched. A process that dies leaves the row, too.
func (d *SQLite) Erase(ctx context.Context, first func(context.Context) error, change Changer) error {
	var name string
	before := d.deletions.Load()
	if err := d.reads.QueryRowContext(ctx, `SELECT name FROM setting WHERE name = ?`, eraseSetting).Scan(&name); err != nil {
		if err == sql.ErrNoRows {
			return nil
		}
		return err
	}
	if err := first(ctx); err != nil {
		return err
	}
	if err := d.giveBack(ctx, change); err != nil {
		return fmt.Errorf("give free pages back: %w", err)
	}
	if err := d.clearPages(ctx, change); err != nil {
		return fmt.Errorf("clear unused parts of pages: %w", err)
	}
	if err := d.cutLog(ctx, change); err != nil {
		return fmt.Errorf("cut the log: %w", err)
	}
	return change(ctx, func(ctx context.Context, tx Tx) error {
		if t, ok := tx.(*sqliteTx); ok && t.deletes || d.deletions.Load() != before {
			return nil // there is more by now
		}
		_, err := tx.Exec(ctx, `DELETE FROM setting WHERE name = $1`, eraseSetting)
		return err
	})
}

// giveBackShare is the part of the pages that must be free for GiveBack to move others into their places: fewer are filled again by
// what is stored next.
const giveBackShare = 5

// GiveBack gives free pages back to the file system if they are at least one of giveBackShare.
func (d *SQLite) GiveBack(ctx context.Context, change Changer) error {
	var free, all int
	if err := d.reads.QueryRowContext(ctx, `SELECT freelist_count, page_count FROM pragma_freelist_count, pragma_page_count`).Scan(&free, &all); err != nil {
		return err
	}
	if free*giveBackShare < all {
		return nil
	}
	return d.giveBack(ctx, change)
}

// giveBack gives the pages that are free now back to the file system, erasePages in a transaction. It makes as many rounds as the
// pages that are free at its begin need, so that it ends although others go on deleting: theirs are for the next pass.
func (d *SQLite) giveBack(ctx context.Context, change Changer) error {
	free := func() (n int, err error) {
		err = d.reads.QueryRowContext(ctx, `PRAGMA freelist_count`).Scan(&n)
		return n, err
	}
	n, err := free()
	for left := n; err == nil && n > 0 && left > 0; left -= erasePages {
		start := time.Now()
		err = change(ctx, func(ctx context.Context, tx Tx) error {
			_, err := tx.Exec(ctx, fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, erasePages))
			return err
		})
		if err == nil {
			n, err = free()
		}
		Rest(ctx, start)
	}
	return err
}

// Rest sleeps a few times as long as the work since start took, so that others get the machine.
func Rest(ctx context.Context, start time.Time) {
	wait := time.NewTimer(erasePause * time.Since(start))
	defer wait.Stop()
	select {
	case <-ctx.Done():
	case <-wait.C:
	}
}

// clearPages looks through all pages for unused parts that hold something, and clears those.
//
// It reads without a transaction, page by page, by a connection of its own: a reader that stood on the log for as long as
// this takes would let it grow, and callers would miss the connection. So a page may change between the look and the
// clearing, which looks again in the writer's transaction (clearThese). Pages that come to the file meanwhile are not looked at.
func (d *SQLite) clearPages(ctx context.Context, change Changer) error {
	db, err := sql.Open("sqlite", d.dsn(busyMillis, "cache_size(-64)", "query_only(ON)")) // beside those of callers
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	p := &pageReader{conn: conn}
	if err := p.open(ctx); err != nil {
		return err
	}
	defer p.close()
	var dirty []int64
	clearDirty := func() error {
		if len(dirty) == 0 {
			return nil
		}
		list := dirty
		dirty = nil
		return change(ctx, func(ctx context.Context, tx Tx) error { return clearThese(ctx, tx, list) })
	}
	var kinds []byte // of the pages behind the last pointer map
	var first int64
	start := time.Now()
	for no := int64(1); no <= p.count; no++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.isMap(no) {
			page, err := p.read(ctx, no)
			if err != nil {
				return err
			}
			kinds, first = page, no+1
			continue
		}
		kind := byte(pageRoot) // page 1
		if kinds != nil {
			if at := int(no-first) * 5; at < len(kinds) {
				kind = kinds[at]
			}
		}
		if kind != pageRoot && kind != pageTree && kind != pageFree {
			continue // holds the rest of a long row, and nothing else
		}
		page, err := p.read(ctx, no)
		if err != nil {
			return err
		}
		if page != nil && (kind == pageFree && !zero(page) || kind != pageFree && clearUnused(no, page)) {
			if dirty = append(dirty, no); len(dirty) == erasePages {
				if err := clearDirty(); err != nil {
					return err
				}
			}
		}
		if no%eraseBurst == 0 {
			Rest(ctx, start)
			start = time.Now()
		}
	}
	return clearDirty()
}

// Kinds of pages in a pointer map (https://www.sqlite.org/fileformat2.html#pointer_map_or_ptrmap_pages).
const (
	pageRoot = 1
	pageFree = 2
	pageTree = 5
)

// clearThese clears the unused parts of pages, as they are now: which of them are free, and which list free pages, is read in the
// same transaction. What holds neither a tree nor free space by now is left alone.
func clearThese(ctx context.Context, tx Tx, list []int64) error {
	// A free page that lists others keeps its list.
	trunks := map[int64]bool{}
	var head []byte
	if _, err := One(ctx, tx, `SELECT data FROM sqlite_dbpage WHERE pgno = 1`, nil, &head); err != nil {
		return err
	}
	for no := int64(binary.BigEndian.Uint32(head[32:])); no != 0 && !trunks[no]; {
		trunks[no] = true
		var page []byte
		if ok, err := One(ctx, tx, `SELECT data FROM sqlite_dbpage WHERE pgno = $1`, []any{no}, &page); err != nil || !ok {
			return err
		}
		no = int64(binary.BigEndian.Uint32(page))
	}
	leaves, err := freeLeaves(ctx, tx, trunks)
	if err != nil {
		return err
	}
	for _, no := range list {
		var page []byte
		ok, err := One(ctx, tx, `SELECT data FROM sqlite_dbpage WHERE pgno = $1`, []any{no}, &page)
		if err != nil {
			return err
		}
		if !ok {
			continue // the file is shorter by now
		}
		page = append([]byte(nil), page...)
		changed := false
		switch kind, err := pageKind(ctx, tx, no, len(page)); {
		case err != nil:
			return err
		case trunks[no]:
			changed = wipe(page[min(8+4*int(binary.BigEndian.Uint32(page[4:])), len(page)):])
		case leaves[no]:
			changed = wipe(page)
		case kind == pageRoot || kind == pageTree:
			changed = clearUnused(no, page)
		}
		if !changed {
			continue
		}
		if _, err := tx.Exec(ctx, `UPDATE sqlite_dbpage SET data = $1 WHERE pgno = $2`, page, no); err != nil {
			return err
		}
	}
	return nil
}

// freeLeaves lists the free pages that the trunks of the free list name.
func freeLeaves(ctx context.Context, tx Tx, trunks map[int64]bool) (map[int64]bool, error) {
	leaves := map[int64]bool{}
	for no := range trunks {
		var page []byte
		if ok, err := One(ctx, tx, `SELECT data FROM sqlite_dbpage WHERE pgno = $1`, []any{no}, &page); err != nil || !ok {
			return nil, err
		}
		n := int(binary.BigEndian.Uint32(page[4:]))
		for i := 0; i < n && 12+4*i <= len(page); i++ {
			leaves[int64(binary.BigEndian.Uint32(page[8+4*i:]))] = true
		}
	}
	return leaves, nil
}

// pageKind reads from the pointer map what a page is; page 1 is a root.
func pageKind(ctx context.Context, tx Tx, no int64, size int) (byte, error) {
	if no == 1 {
		return pageRoot, nil
	}
	every := int64(size/5 + 1)
	at := (no-2)/every*every + 2
	if at == no {
		return 0, nil
	}
	var page []byte
	if _, err := One(ctx, tx, `SELECT data FROM sqlite_dbpage WHERE pgno = $1`, []any{at}, &page); err != nil {
		return 0, err
	}
	if i := int(no-at-1) * 5; i < len(page) {
		return page[i], nil
	}
	return 0, nil
}

// pageReader reads pages one at a time, so that it never stands on the log for long.
type pageReader struct {
	conn  *sql.Conn
	stmt  *sql.Stmt
	count int64 // pages of the database
	every int64 // a pointer map stands at page 2 and then every so many pages
}

func (p *pageReader) open(ctx context.Context) (err error) {
	var size int64
	if err := p.conn.QueryRowContext(ctx, `PRAGMA page_size`).Scan(&size); err != nil {
		return err
	}
	if err := p.conn.QueryRowContext(ctx, `PRAGMA page_count`).Scan(&p.count); err != nil {
		return err
	}
	p.every = size/5 + 1
	p.stmt, err = p.conn.PrepareContext(ctx, `SELECT data FROM sqlite_dbpage WHERE pgno = ?`)
	return err
}

func (p *pageReader) close() { _ = p.stmt.Close() }

func (p *pageReader) isMap(no int64) bool { return no >= 2 && (no-2)%p.every == 0 }

// read returns a page, or nil if the file is shorter by now.
func (p *pageReader) read(ctx context.Context, no int64) (page []byte, err error) {
	err = p.stmt.QueryRowContext(ctx, no).Scan(&page)
	if err == sql.ErrNoRows {
		return nil, nil
	}
	return page, err
}

// clearUnused overwrites what a page of a tree does not use: between the list of its cells and the
// first of them, and in the blocks that deleted cells left. It reports whether there was something.
// See https://www.sqlite.org/fileformat2.html#b_tree_pages.
func clearUnused(no int64, page []byte) (changed bool) {
	head := 0
	if no == 1 {
		head = 100
	}
	body := head + 8
	switch page[head] {
	case 2, 5:
		body += 4
	case 10, 13:
	default:
		return false
	}
	u16 := func(at int) int { return int(binary.BigEndian.Uint16(page[at:])) }
	content := u16(head + 5)
	if content == 0 {
		content = 1 << 16
	}
	gap := body + 2*u16(head+3)
	if content > len(page) || gap > content {
		return false // damaged: leave it as it is
	}
	changed = wipe(page[gap:content])
	for at := u16(head + 1); at != 0; {
		if at < content || at+4 > len(page) {
			return changed
		}
		next, size := u16(at), u16(at+2)
		if size < 4 || at+size > len(page) || next != 0 && next <= at {
			return changed
		}
		changed = wipe(page[at+4:at+size]) || changed
		at = next
	}
	return changed
}

// wipe sets b to zeros and reports whether it was not.
func wipe(b []byte) bool {
	if zero(b) {
		return false
	}
	clear(b)
	return true
}

func zero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// cutLog brings all of the log into the database and cuts its file. It waits for readers that stand
// on it.
func (d *SQLite) cutLog(ctx context.Context, change Changer) error {
	for {
		if _, _, err := d.copyBack(); err != nil { // most of it beside the writer
			return err
		}
		d.truncate.Store(true) // by the writer, after this
		if err := change(ctx, func(context.Context, Tx) error { return nil }); err != nil {
			return err
		}
		if info, err := os.Stat(d.wal); err == nil && info.Size() == 0 {
			return nil
		} else if os.IsNotExist(err) {
			return nil
		}
		wait := time.NewTimer(eraseRetry)
		select {
		case <-ctx.Done():
			wait.Stop()
			return ctx.Err()
		case <-wait.C:
		}
	}
}
