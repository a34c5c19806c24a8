package move

import (
	"context"
	"fmt"
	"slices"
	"strconv"
)

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
