package store

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

func openTest(t *testing.T, o Options) *Store {
	t.Helper()
	s, err := OpenSQLite(t.Context(), t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

func oneEvent() event.Batch {
	e := event.Incoming{Event: event.Event{Type: event.TypeTool, Inputs: []byte(`{"q":"text"}`)}}
	e.Complete(time.UnixMilli(1767355200000))
	return event.Batch{Events: []event.Incoming{e}}
}

// takeReaders takes all connections that read, until the test ends.
func takeReaders(t *testing.T, db sqldb.DB) {
	t.Helper()
	for range db.Readers() {
		rows, err := db.Query(t.Context(), `SELECT 1`)
		if err != nil {
			t.Fatal("take a reader:", err)
		}
		t.Cleanup(rows.Close)
	}
}

func TestDataDirectoryHeld(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	s, err := OpenSQLite(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenSQLite(t.Context(), dir, Options{}); err == nil || err.Error() != "data directory "+dir+" is in use by another process" {
		t.Errorf("second open: %v", err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err = OpenSQLite(t.Context(), dir, Options{})
	if err != nil {
		t.Fatalf("after Close: %v", err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
