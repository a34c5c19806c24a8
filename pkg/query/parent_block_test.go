package query

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/column"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/words"
)

// columnsBlock is a Block of columns that a test has made.
type columnsBlock struct {
	n       int
	columns map[string]*column.Column
}

func (b columnsBlock) Len() int                                   { return b.n }
func (b columnsBlock) Times() (first, last float64)               { return 0, 0 }
func (b columnsBlock) Column(name string) (*column.Column, error) { return b.columns[name], nil }
func (b columnsBlock) Partial(string) bool                        { return false }
func (b columnsBlock) Words() (*words.Index, error)               { return nil, nil }

// blockOf returns the columns of events that are no members of JSON fields.
func blockOf(events []event.Event) columnsBlock {
	builders := map[string]*column.Builder{ParentColumn: column.NewBuilder(rawjson.AppendNumber)}
	for row := range events {
		ColumnsOf(&events[row], nil, func(v ColumnValue) {
			if v.Key != "" {
				return
			}
			if builders[v.Field] == nil {
				builders[v.Field] = column.NewBuilder(rawjson.AppendNumber)
			}
			builders[v.Field].Add(row, v.Value, v.Number, v.IsNumber)
		})
	}
	b := columnsBlock{len(events), map[string]*column.Column{}}
	for name, c := range builders {
		b.columns[name] = c.Build(len(events))
	}
	return b
}

// What columns say of parents, Match says too, and they leave to it no more than they must.
func TestParentColumn(t *testing.T) {
	id := func(name string) uuid.UUID { return uuid.NewSHA1(uuid.Nil, []byte(name)) }
	session, other, chain := id("session"), id("other"), id("chain")
	events := []event.Event{
		{ID: session, SessionID: session, Type: event.TypeSession},
		{ID: chain, SessionID: session, ParentID: session, Type: event.TypeChain},
		{ID: id("implied"), SessionID: session, Type: event.TypeTool}, // its parent is its session
		{ID: id("tool"), SessionID: other, ParentID: other, Type: event.TypeTool},
		{ID: id("elsewhere"), SessionID: other, ParentID: session, Type: event.TypeModel},
	}
	for i := range 3 {
		events = append(events, event.Event{ID: id(fmt.Sprint("call ", i)), SessionID: session, ParentID: chain, Type: event.TypeModel})
	}
	whole := blockOf(events)
	older := blockOf(events)
	delete(older.columns, ParentColumn)
	alone := blockOf(events[:1])

	for _, c := range []struct {
		filter string
		maybe  int // how many events are left to be read
	}{
		{fmt.Sprintf(`{"field":"parent_id","operator":"is","value":%q}`, session), 1},
		{fmt.Sprintf(`{"field":"parent_id","operator":"is","value":%q}`, chain), 3},
		{fmt.Sprintf(`{"field":"parent_id","operator":"is not","value":%q}`, chain), 3},
		{fmt.Sprintf(`{"field":"parent_id","operator":"is any of","value":[%q,%q]}`, chain, other), 3},
		{fmt.Sprintf(`{"field":"parent_id","operator":"is","value":%q}`, id("nobody")), 0},
		{`{"field":"parent_id","operator":"is","value":"no id"}`, 0},
		{`{"field":"parent_id","operator":"is","type":"number","value":0}`, 0},
		{`{"field":"parent_id","operator":"exists"}`, 0},
		{`{"field":"parent_id","operator":"not exists"}`, 0},
	} {
		fs, err := ParseFilters([]byte("["+c.filter+"]"), "filters")
		if err != nil {
			t.Fatal(err)
		}
		if !InColumns(fs) || HasIndex(fs, true) {
			t.Errorf("%s is not left to columns", c.filter)
		}
		for name, b := range map[string]columnsBlock{"whole": whole, "of a segment from before": older, "without a parent": alone} {
			d, err := MatchBlock(b, fs)
			if err != nil {
				t.Fatal(err)
			}
			for row := range b.n {
				if want := Match(&events[row], fs); !d.Maybe.Has(row) && d.Match.Has(row) != want {
					t.Errorf("%s, block %s: event %d matches: %v", c.filter, name, row, !want)
				}
			}
			if name == "whole" && d.Maybe.Count() != c.maybe {
				t.Errorf("%s leaves %d events to be read, want %d", c.filter, d.Maybe.Count(), c.maybe)
			}
		}
	}
}

// Ids that differ by little have other numbers, and none has that of a session.
func TestParentNumber(t *testing.T) {
	const ids = 100_000
	for name, idOf := range map[string]func(i int) uuid.UUID{
		"random":         func(int) uuid.UUID { return uuid.New() },
		"counted":        func(i int) (id uuid.UUID) { binary.BigEndian.PutUint64(id[8:], uint64(i)); return id },
		"counted before": func(i int) (id uuid.UUID) { binary.BigEndian.PutUint64(id[:], uint64(i)); return id },
		"of a time":      func(i int) uuid.UUID { id := uuid.New(); binary.BigEndian.PutUint32(id[:], uint32(i/1000)); return id },
	} {
		seen := map[float64]int{}
		most := 0
		for i := range ids {
			n := parentNumber(idOf(i))
			if n < 1 || n > 65535 {
				t.Fatalf("%s: %v", name, n)
			}
			seen[n]++
			most = max(most, seen[n])
		}
		// 100,000 balls in 65,535 bins leave 51,300 bins with one, and none with more than ten or so.
		if len(seen) < 50_000 || most > 15 {
			t.Errorf("%s: %d numbers, one of them %d times", name, len(seen), most)
		}
	}
}
