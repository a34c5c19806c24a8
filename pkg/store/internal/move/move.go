// Package move copies a store into another database while servers write to it, proves that the copy is the same, and makes the old one refuse
// changes, so that the new one goes on from there.
//
// The database that is moved notes the keys of all rows that change, by triggers, from before the first row is read. So rows can be read a page at a
// time, whenever: one that changed meanwhile is read again. Rounds do that until little is left. Then both stores are read whole and compared, after
// that each round compares what it changed, and with the last one no more changes are accepted.
//
// Pages, and how far they have come, are stored in one transaction, and notes are removed when what they name is stored: a move that ends
// anywhere goes on when it is started again.
package move

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Options are those of a move.
type Options struct {
	// Stay ends the move when both stores have been compared, before the old one refuses changes. It notes them on, until the move is started again.
	Stay     bool
	Progress diagnosis.Progress
}

// Report is what a move has done.
type Report struct {
	From     string        `json:"from"`
	To       string        `json:"to"`
	Events   int64         `json:"events"`
	Tables   []TableReport `json:"tables"`
	Days     []DayReport   `json:"days"`     // events
	LeftOut  int64         `json:"left_out"` // payloads that no event names
	Later    int64         `json:"later"`    // rows that changed after all were compared, and were compared by themselves
	Moved    bool          `json:"moved"`    // the old store refuses changes, and the new one can be opened
	Seconds  float64       `json:"seconds"`
	PausedMS int64         `json:"paused_ms"` // between the last change in the old store and the end
}

// TableReport is a table as it was compared.
type TableReport struct {
	Table  string `json:"table"`
	Rows   int64  `json:"rows"`
	SHA256 string `json:"sha256"` // the sum of those of its rows
}

// DayReport is the events of a day of a project.
type DayReport struct {
	Project int64  `json:"project"`
	Day     string `json:"day"`
	Events  int64  `json:"events"`
	SHA256  string `json:"sha256"`
}

const (
	pageRows    = 1000    // that are read and stored together
	roundNotes  = 2000    // of each table in a round, as long as there are no unique indexes but those of keys
	fewNotes    = 500     // of all tables that a round leaves, from which on the next step is taken
	idleRounds  = 10      // that may pass without fewer being left than ever before
	chunkGroup  = 16      // chunks that are read together
	chunkBytes  = 8 << 20 // of chunks in memory, but for those of one group
	insertBytes = 8 << 20 // of rows of other tables in memory, and one row
	valueBytes  = 32      // that a value takes in addition to its content, about
	rememberMax = 100_000 // ids of chunks that were just stored
)

type mover struct {
	src                             Source
	dst                             Target
	tables                          []*table
	event, chunk, session, unpacked *table

	rows   bool           // the target's events name sessions by rows: SQLite
	sent   map[int64]bool // chunks that the first copy has stored lately
	o      Options
	report *Report
}

// Run moves a store.
func Run(ctx context.Context, src Source, dst Target, o Options) (_ *Report, err error) {
	began := time.Now()
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
	m := &mover{src: src, dst: dst, o: o, sent: map[int64]bool{}, report: &Report{From: src.describe(), To: dst.describe()}}
	if err := m.begin(ctx); err != nil {
		return nil, err
	}
	if err := m.copyAll(ctx); err != nil {
		return nil, err
	}
	if err := m.follow(ctx); err != nil {
		return nil, err
	}
	m.o.Progress("make indexes", 0, 0)
	if err := complete(ctx, dst); err != nil {
		return nil, fmt.Errorf("make indexes: %w", err)
	}
	if err := m.compare(ctx); err != nil {
		return nil, err
	}
	if !o.Stay {
		if err := m.turn(ctx); err != nil {
			return nil, err
		}
	}
	m.report.Seconds = time.Since(began).Seconds()
	return m.report, nil
}

// Abandon makes a store what it was before a move began, and lets servers change it again. It reports whether a move of it had
// begun or was finished.
func Abandon(ctx context.Context, src Source) (bool, error) {
	begun, err := hasTable(ctx, src, stateTable)
	if err != nil {
		return false, err
	}
	moved, err := hasMoved(ctx, src)
	if err != nil {
		return false, err
	}
	return begun || moved, src.release(ctx)
}

// hasMoved reports whether a store has moved to another database, and so refuses changes.
func hasMoved(ctx context.Context, src Source) (bool, error) {
	n, err := number(ctx, src, `SELECT count(*) FROM `+settingTable+` WHERE name = '`+movedSetting+`'`)
	return n > 0, err
}

// begin makes the target's tables and has the source note changes, or finds that an earlier try did.
func (m *mover) begin(ctx context.Context) error {
	known, err := sqldb.Migrations()
	if err != nil {
		return err
	}
	if unfinished, err := hasTable(ctx, m.src, sqldb.UnfinishedTable); err != nil {
		return err
	} else if unfinished {
		return sqldb.ErrUnfinished
	}
	applied, err := migrations(ctx, m.src)
	if err != nil {
		return err
	}
	if !slices.Equal(known, applied) {
		return errors.New("the store was written by another version of spangrove: start this version's server on it first")
	}
	if err := m.takeTarget(ctx); err != nil {
		return err
	}
	if err := m.dst.prepare(ctx); err != nil {
		if moved, e := hasMoved(ctx, m.src); e == nil && moved {
			err = fmt.Errorf("this store refuses changes, since it has moved: %w", err)
		}
		return err
	}
	lister, ok := m.src.(*Postgres)
	if !ok {
		if lister, ok = m.dst.(*Postgres); !ok {
			return errors.New("one of the two databases must be PostgreSQL; a data directory is copied by spangrove backup and restore")
		}
	}
	_, m.rows = m.dst.(*SQLite)
	if m.tables, err = lister.tables(ctx); err != nil {
		return err
	}
	m.event, m.chunk, m.session, m.unpacked = find(m.tables, eventTable), find(m.tables, chunkTable), find(m.tables, sessionTable), find(m.tables, unpackedTable)
	return m.agree(ctx)
}

// lockLook is how often it is looked whether another move into the same store has ended.
const lockLook = 200 * time.Millisecond

// takeTarget waits until no other move stores into the target: of two at once, one would store older rows over those of the other. One that was killed
// ends when its last statement has.
func (m *mover) takeTarget(ctx context.Context) error {
	for {
		if mine, err := m.dst.lock(ctx); err != nil || mine {
			return err
		}
		m.o.Progress("wait for another move into this store to end", 0, 0)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockLook):
		}
	}
}

// agree makes sure that both databases take part in the same move.
func (m *mover) agree(ctx context.Context) error {
	id, err := readState(ctx, m.dst, stateID)
	if err != nil {
		return err
	}
	last, err := readState(ctx, m.dst, stateLast)
	if err != nil {
		return err
	}
	var noted, to string
	if has, err := hasTable(ctx, m.src, stateTable); err != nil {
		return err
	} else if has {
		if noted, err = readState(ctx, m.src, stateID); err == nil {
			to, err = readState(ctx, m.src, stateTo)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case noted != "" && noted != id:
		return fmt.Errorf("a move of this store to %s has begun: name that, or end it by spangrove move --abandon", to)
	case noted == "" && last != "":
		return errors.New("the new database was filled by a move that was abandoned: empty it first")
	case noted == "":
		if id == "" {
			id = uuid.NewString()
			if err := writeState(ctx, m.dst, stateID, id); err != nil {
				return err
			}
		}
		if err := m.src.capture(ctx, m.tables, id, m.dst.describe()); err != nil {
			return fmt.Errorf("begin to note changes: %w", err)
		}
	}
	if last == "" {
		n, err := number(ctx, m.src, `SELECT max(seq) FROM event`)
		if err != nil {
			return err
		}
		return writeState(ctx, m.dst, stateLast, strconv.FormatInt(n, 10))
	}
	return nil
}

// copyAll copies what there was when changes began to be noted, from where it has come.
func (m *mover) copyAll(ctx context.Context) error {
	for _, t := range m.tables {
		var err error
		switch t {
		case m.event:
			err = m.copyEvents(ctx)
		case m.chunk, m.unpacked: // with events; at the end
		default:
			err = m.copyTable(ctx, t)
		}
		if err != nil {
			return fmt.Errorf("copy table %s: %w", t.name, err)
		}
	}
	return nil
}

func (m *mover) copyTable(ctx context.Context, t *table) error {
	text, err := readState(ctx, m.dst, stateCopied+t.name)
	if err != nil || text == copied {
		return err
	}
	after, err := keyFromState(text)
	if err != nil {
		return err
	}
	for done := int64(0); text != copied; {
		err := m.dst.change(ctx, func() error {
			n, last, err := m.insertAll(ctx, t, func(f func([]any) error) error { return page(ctx, m.src, t, after, pageRows, f) })
			if err != nil {
				return err
			}
			text = copied
			if n == pageRows {
				after = t.keyOf(last)
				if text, err = keyToState(after); err != nil {
					return err
				}
			}
			done += int64(n)
			return writeState(ctx, m.dst, stateCopied+t.name, text)
		})
		if err != nil {
			return err
		}
		m.o.Progress("copy "+t.name, done, 0)
	}
	return nil
}

// insertAll stores what a read gives, some rows at a time: a page of documents may be larger than memory. It returns how many there were, and the last one.
func (m *mover) insertAll(ctx context.Context, t *table, read func(f func(row []any) error) error) (n int, last []any, err error) {
	var rows [][]any
	size := 0
	flush := func() error {
		err := m.dst.insert(ctx, t, rows)
		rows, size = nil, 0
		return err
	}
	err = read(func(row []any) error {
		n, last = n+1, row
		rows, size = append(rows, row), size+sizeOf(row)
		if size > insertBytes {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	return n, last, err
}

// sizeOf returns about how many bytes a row takes.
func sizeOf(row []any) int {
	n := valueBytes * len(row)
	for _, v := range row {
		switch v := v.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		}
	}
	return n
}

// copyEvents copies events in the order in which they came, each page with its payloads.
func (m *mover) copyEvents(ctx context.Context) error {
	text, err := readState(ctx, m.dst, stateCopied+eventTable)
	if err != nil || text == copied {
		return err
	}
	first, _ := strconv.ParseInt(text, 10, 64)
	text, err = readState(ctx, m.dst, stateLast)
	if err != nil {
		return err
	}
	last, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return err
	}
	for ; first <= last; first += pageRows {
		m.o.Progress("copy events", first, last)
		err := m.src.snapshot(ctx, func() error {
			rows, err := rowsOf(func(f func([]any) error) error { return window(ctx, m.src, m.event, first, first+pageRows, f) })
			if err != nil {
				return err
			}
			if err := m.dst.ready(ctx, m.daysOf(rows)); err != nil {
				return err
			}
			return m.dst.change(ctx, func() error {
				if err := m.putEvents(ctx, rows); err != nil {
					return err
				}
				return writeState(ctx, m.dst, stateCopied+eventTable, strconv.FormatInt(first+pageRows, 10))
			})
		})
		if err != nil {
			return err
		}
	}
	return writeState(ctx, m.dst, stateCopied+eventTable, copied)
}

func (m *mover) daysOf(rows [][]any) (days []int64) {
	at := m.event.index("day")
	for _, row := range rows {
		if day := row[at].(int64); len(days) == 0 || days[len(days)-1] != day {
			days = append(days, day)
		}
	}
	return days
}

// putEvents stores events that are not there, with their payloads and what they need.
func (m *mover) putEvents(ctx context.Context, rows [][]any) error {
	project, session, day, chunk := m.event.index("project_id"), m.event.index("session_id"), m.event.index("day"), m.event.index("chunk")
	refs := map[int64]int64{}
	seen := map[string]bool{}
	var keys [][]any
	for _, row := range rows {
		if id, ok := row[chunk].(int64); ok {
			refs[id] = row[day].(int64)
		}
		key := []any{row[project], row[session]}
		if text := keyText(key); m.rows && !seen[text] {
			seen[text], keys = true, append(keys, key)
		}
	}
	if m.rows {
		if err := m.put(ctx, m.session, keys); err != nil {
			return err
		}
	}
	if err := m.putChunks(ctx, refs, m.sent); err != nil {
		return err
	}
	return m.dst.insert(ctx, m.event, rows)
}

// put stores the rows of some keys that the source has, events with what belongs to them.
func (m *mover) put(ctx context.Context, t *table, keys [][]any) error {
	read := func(f func(row []any) error) error { return m.src.byKeys(ctx, t, keys, f) }
	if t == m.event {
		rows, err := rowsOf(read)
		if err != nil {
			return err
		}
		return m.putEvents(ctx, rows)
	}
	_, _, err := m.insertAll(ctx, t, read)
	return err
}

// putChunks stores chunks of payloads, by id with the day of their events, and the packs in which they are. sent has those that are left out, nil if
// none are.
func (m *mover) putChunks(ctx context.Context, days map[int64]int64, sent map[int64]bool) error {
	id, day, pack, data := m.chunk.index("id"), m.chunk.index("day"), m.chunk.index("pack"), m.chunk.index("data")
	if len(sent) > rememberMax {
		clear(sent)
	}
	for len(days) > 0 {
		var ids []int64
		for n := range days {
			if !sent[n] {
				ids = append(ids, n)
			}
		}
		slices.Sort(ids)
		packs := map[int64]int64{}
		for group := range slices.Chunk(ids, chunkGroup) {
			var rows, keys [][]any
			for _, n := range group {
				keys = append(keys, []any{n})
			}
			size := 0
			flush := func() error {
				keys := make([][]any, len(rows))
				for i, row := range rows {
					keys[i] = m.chunk.keyOf(row)
				}
				if err := m.dst.remove(ctx, m.chunk, keys); err != nil {
					return err
				}
				err := m.dst.insert(ctx, m.chunk, rows)
				rows, size = nil, 0
				return err
			}
			err := m.src.byKeys(ctx, m.chunk, keys, func(row []any) error {
				n := row[id].(int64)
				row[day] = days[n]
				if p, ok := row[pack].(int64); ok {
					if _, there := days[p]; !there {
						packs[p] = days[n]
					}
				}
				if sent != nil {
					sent[n] = true
				}
				z, _ := row[data].([]byte)
				rows, size = append(rows, row), size+len(z)
				if size > chunkBytes {
					return flush()
				}
				return nil
			})
			if err == nil {
				err = flush()
			}
			if err != nil {
				return err
			}
		}
		days = packs // which are in none themselves
	}
	return nil
}

// follow runs rounds until little has changed since the last one, or no less than for some time: writers that never pause are as fast as
// rounds at some number of changes. The comparison and the switch take what is left.
func (m *mover) follow(ctx context.Context) error {
	var p pace
	for {
		n, err := m.round(ctx, roundNotes, false, nil)
		if err != nil {
			return fmt.Errorf("follow changes: %w", err)
		}
		m.o.Progress("follow changes", int64(n), 0)
		left, err := m.left(ctx)
		if err != nil {
			return err
		}
		if p.settled(left) {
			return nil
		}
	}
}

// left counts the notes that no round has taken yet.
func (m *mover) left(ctx context.Context) (n int, err error) {
	for _, t := range m.tables {
		if t.noted() {
			of, err := number(ctx, m.src, `SELECT count(*) FROM `+sqldb.QuoteName(t.notes()))
			if err != nil {
				return 0, err
			}
			n += int(of)
		}
	}
	return n, nil
}

// pace sees when further rounds are of no use.
type pace struct {
	least int // notes that were ever left
	idle  int // rounds since then
	begun bool
}

// settled reports whether what a round has left is few, or no less than after the rounds before.
func (p *pace) settled(left int) bool {
	if !p.begun || left < p.least {
		p.begun, p.least, p.idle = true, left, 0
	} else {
		p.idle++
	}
	return left < fewNotes || p.idle >= idleRounds
}

// changes are the notes that a round takes, and the keys in them, each once.
type changes struct {
	notes map[*table][]note
	keys  map[*table][][]any
	n     int // notes
}

// changes reads what has changed since the last round. limit is how many notes of a table it takes, 0 for all.
func (m *mover) changes(ctx context.Context, limit int) (*changes, error) {
	c := &changes{notes: map[*table][]note{}, keys: map[*table][][]any{}}
	for _, t := range m.tables {
		if !t.noted() {
			continue
		}
		list, err := notes(ctx, m.src, t, limit)
		if err != nil {
			return nil, err
		}
		c.notes[t], c.n = list, c.n+len(list)
		seen := map[string]bool{}
		for _, x := range list {
			if text := keyText(x.key); !seen[text] {
				seen[text], c.keys[t] = true, append(c.keys[t], x.key)
			}
		}
	}
	return c, nil
}

// round stores what has changed, and returns how many notes there were. If check is set, what was stored is read and compared. then runs in the
// transaction that has read the changes, when they are stored; it may be nil.
func (m *mover) round(ctx context.Context, limit int, check bool, then func() error) (int, error) {
	var c *changes
	err := m.src.snapshot(ctx, func() (err error) {
		if c, err = m.changes(ctx, limit); err != nil {
			return err
		}
		if c.n > 0 {
			if err := m.apply(ctx, c.keys); err != nil {
				return err
			}
		}
		if check {
			for _, t := range m.tables {
				if err := m.same(ctx, t, c.keys[t]); err != nil {
					return err
				}
			}
		}
		if then != nil {
			return then()
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if c.n == 0 {
		return 0, nil
	}
	return c.n, m.src.change(ctx, func() error {
		for t, list := range c.notes {
			numbers := make([]int64, len(list))
			for i, x := range list {
				numbers[i] = x.number
			}
			if len(numbers) > 0 {
				if err := m.src.forget(ctx, t, numbers); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// apply makes the rows of some keys what the source has. All are removed before the first is stored, so that none meets the former state of another.
func (m *mover) apply(ctx context.Context, keys map[*table][][]any) error {
	m.sent = nil // what the first copy has stored may have changed
	at := slices.Index(m.event.keyNames(), "day")
	days := make([]int64, len(keys[m.event]))
	for i, key := range keys[m.event] {
		days[i] = key[at].(int64)
	}
	if err := m.dst.ready(ctx, days); err != nil {
		return err
	}
	return m.dst.change(ctx, func() error {
		chunks, err := m.chunkDays(ctx, keys[m.chunk])
		if err != nil {
			return err
		}
		for _, t := range m.tables {
			if t == m.session && m.rows {
				continue // at the end: its events name the number of its row
			}
			if err := m.dst.remove(ctx, t, keys[t]); err != nil {
				return err
			}
		}
		for _, t := range m.tables {
			if t == m.chunk {
				continue
			}
			for group := range slices.Chunk(keys[t], pageRows) {
				if err := m.put(ctx, t, group); err != nil {
					return fmt.Errorf("table %s: %w", t.name, err)
				}
			}
		}
		if err := m.putChunks(ctx, chunks, nil); err != nil || !m.rows {
			return err
		}
		return m.removeGone(ctx, m.session, keys[m.session])
	})
}

// removeGone removes the rows that the source does not have.
func (m *mover) removeGone(ctx context.Context, t *table, keys [][]any) error {
	there := map[string]bool{}
	if err := m.src.byKeys(ctx, t, keys, func(row []any) error { there[keyText(t.keyOf(row))] = true; return nil }); err != nil {
		return err
	}
	return m.dst.remove(ctx, t, slices.DeleteFunc(slices.Clone(keys), func(key []any) bool { return there[keyText(key)] }))
}

// chunkDays returns the days of those chunks that the target has. Others come with their events.
func (m *mover) chunkDays(ctx context.Context, keys [][]any) (map[int64]int64, error) {
	days := map[int64]int64{}
	of := &table{name: chunkTable, columns: []column{m.chunk.columns[m.chunk.index("id")], m.chunk.columns[m.chunk.index("day")]}, key: []int{0}}
	err := m.dst.byKeys(ctx, of, keys, func(row []any) error {
		day, _ := row[1].(int64)
		days[row[0].(int64)] = day
		return nil
	})
	return days, err
}

// same compares the rows of some keys.
func (m *mover) same(ctx context.Context, t *table, keys [][]any) error {
	day := -1
	if t == m.chunk {
		day = t.index("day")
	}
	var named [][]any // chunks
	seen := map[int64]bool{}
	var hashes [2]map[string][4]uint64
	for i, d := range []database{m.src, m.dst} {
		hashes[i] = map[string][4]uint64{}
		err := d.byKeys(ctx, t, keys, func(row []any) error {
			if day >= 0 {
				row[day] = nil
			}
			if t == m.event {
				if id, ok := row[t.index("chunk")].(int64); ok && !seen[id] {
					seen[id], named = true, append(named, []any{id})
				}
			}
			hashes[i][keyText(t.keyOf(row))] = hashRow(row)
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, key := range keys {
		text := keyText(key)
		a, inA := hashes[0][text]
		b, inB := hashes[1][text]
		if inA && !inB && t == m.chunk {
			continue // no event names it any more
		}
		if inA != inB || a != b {
			return fmt.Errorf("a row of table %s differs after it was copied", t.name)
		}
	}
	if there, err := m.chunkDays(ctx, named); err != nil || len(there) < len(named) {
		return errors.Join(err, fmt.Errorf("of %d payloads of events that have changed %d were copied", len(named), len(there)))
	}
	m.report.Later += int64(len(keys))
	return nil
}

// compare brings the copy to one moment of the original, and compares both, row by row.
func (m *mover) compare(ctx context.Context) error {
	var was *sums
	tell := func(what string) func(int64) {
		return func(rows int64) { m.o.Progress("compare: "+what, rows, 0) }
	}
	_, err := m.round(ctx, 0, false, func() (err error) {
		was, err = sumUp(ctx, m.src, m.tables, tell("read the original"))
		return err
	})
	if err != nil {
		return err
	}
	is, err := sumUp(ctx, m.dst, m.tables, tell("read the copy"))
	if err != nil {
		return err
	}
	if err := differences(was, is); err != nil {
		return err
	}
	m.report.describe(was)
	return nil
}

func (r *Report) describe(s *sums) {
	r.LeftOut = s.orphan
	tables := map[string]*sum{}
	for b, x := range s.of {
		if tables[b.table] == nil {
			tables[b.table] = &sum{}
		}
		tables[b.table].join(x)
		if b.table == eventTable {
			r.Events += x.rows
			r.Days = append(r.Days, DayReport{b.project, time.Unix(b.day*86400, 0).UTC().Format(time.DateOnly), x.rows, x.hex()})
		}
	}
	for name, x := range tables {
		r.Tables = append(r.Tables, TableReport{name, x.rows, x.hex()})
	}
	slices.SortFunc(r.Tables, func(a, b TableReport) int { return strings.Compare(a.Table, b.Table) })
	slices.SortFunc(r.Days, func(a, b DayReport) int {
		return cmp.Or(cmp.Compare(a.Project, b.Project), strings.Compare(a.Day, b.Day))
	})
}

// turn makes the source refuse changes, stores the last of them, and makes the target a store that servers open.
func (m *mover) turn(ctx context.Context) error {
	var p pace
	for { // the fewer are left, the shorter is the time in which nobody can write
		n, err := m.round(ctx, 0, true, nil)
		if err != nil {
			return err
		}
		if p.settled(n) { // as many as came during the round before
			break
		}
	}
	began := time.Now()
	m.o.Progress("switch", 0, 0)
	if err := m.src.fence(ctx, m.tables, sqldb.MovedText+m.dst.describe()); err != nil {
		return fmt.Errorf("have the old store refuse changes: %w", err)
	}
	if _, err := m.round(ctx, 0, true, nil); err != nil {
		return fmt.Errorf("%w; the old store refuses changes until the move is started again, or ended by spangrove move --abandon", err)
	}
	if err := m.last(ctx); err != nil {
		return err
	}
	if err := m.dst.finish(ctx, m.tables); err != nil {
		return err
	}
	m.report.Moved, m.report.PausedMS = true, time.Since(began).Milliseconds()
	return nil
}

// last copies what is copied whole.
func (m *mover) last(ctx context.Context) error {
	settings := map[string]string{}
	err := m.src.query(ctx, `SELECT name, value FROM `+settingTable, nil, func(row []any) error {
		name, _ := row[0].(string)
		if value, ok := row[1].(string); ok && !slices.Contains(ownSettings, name) {
			settings[name] = value
		}
		return nil
	})
	if err != nil {
		return err
	}
	return m.dst.change(ctx, func() error {
		for name, value := range settings {
			if err := upsert(ctx, m.dst, settingTable, name, value); err != nil {
				return err
			}
		}
		if err := m.dst.exec(ctx, `DELETE FROM `+unpackedTable); err != nil {
			return err
		}
		_, _, err := m.insertAll(ctx, m.unpacked, func(f func(row []any) error) error { return all(ctx, m.src, m.unpacked, f) })
		return err
	})
}
