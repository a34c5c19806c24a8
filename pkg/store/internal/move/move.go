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
