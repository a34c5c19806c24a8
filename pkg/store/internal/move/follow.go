package move

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

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
