package move

import (
	"context"
	"errors"
	"time"
)

// Plan is what a move would have to do.
type Plan struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Events   int64  `json:"events"`
	Sessions int64  `json:"sessions"`
	Bytes    int64  `json:"bytes"` // that the store takes on disk
	Begun    string `json:"begun"` // where a move that has begun goes; empty: none has
	// Seconds is about how long a move takes: so long as reading a sample of the events suggests, times perRead.
	Seconds float64 `json:"seconds"`
}

const (
	sampleWindows = 10
	// perRead is how many times as long as reading all events once a move takes: they are read, stored and indexed, and both stores are read again.
	// So it was measured for 600,000 small events from SQLite to PostgreSQL on one machine of two cores, with writers; others may differ by several times.
	perRead = 20
)

// Foresee looks at a store without changing it. to names the new place.
func Foresee(ctx context.Context, src Source, to string) (*Plan, error) {
	p := &Plan{From: src.describe(), To: to}
	var err error
	if has, e := hasTable(ctx, src, stateTable); e != nil {
		return nil, e
	} else if has {
		if p.Begun, err = readState(ctx, src, stateTo); err != nil {
			return nil, err
		}
	}
	size := `SELECT page_count * page_size FROM pragma_page_count, pragma_page_size`
	if _, ok := src.(*Postgres); ok {
		size = `SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'`
	}
	var first, last int64
	for _, x := range []struct {
		into *int64
		text string
	}{
		{&p.Events, `SELECT count(*) FROM event`}, {&p.Sessions, `SELECT count(*) FROM session`}, {&p.Bytes, size},
		{&first, `SELECT min(seq) FROM event`}, {&last, `SELECT max(seq) FROM event`},
	} {
		if *x.into, err = number(ctx, src, x.text); err != nil {
			return nil, err
		}
	}
	read, took, err := sample(ctx, src, first, last)
	if err != nil || read == 0 {
		return p, err
	}
	p.Seconds = took.Seconds() / float64(read) * float64(p.Events) * perRead
	return p, nil
}

// sample reads some events with their payloads.
func sample(ctx context.Context, src Source, first, last int64) (read int64, took time.Duration, err error) {
	event := &table{name: eventTable, columns: []column{{"seq", "bigint"}, {"chunk", "bigint"}, {"metadata", "json"}, {"session_id", "uuid"}}}
	chunk := &table{name: chunkTable, columns: []column{{"id", "bigint"}, {"data", "bytea"}}, key: []int{0}}
	began := time.Now()
	for i := range int64(sampleWindows) {
		at := first + (last-first)/sampleWindows*i
		seen := map[int64]bool{}
		var keys [][]any
		err := window(ctx, src, event, at, at+pageRows, func(row []any) error {
			read++
			if id, ok := row[1].(int64); ok && !seen[id] {
				seen[id], keys = true, append(keys, []any{id})
			}
			return nil
		})
		if err == nil {
			err = src.byKeys(ctx, chunk, keys, func([]any) error { return nil })
		}
		if err != nil {
			return 0, 0, errors.Join(errors.New("read a sample of events"), err)
		}
	}
	return read, time.Since(began), nil
}
