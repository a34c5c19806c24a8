package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/store"
)

// TestPostgresBackupKeepsPartitions removes all of an old partition by a rule of retention after a backup has begun and before it reads the events.
func TestPostgresBackupKeepsPartitions(t *testing.T) {
	t.Parallel()
	place := newPostgresPlace(t)
	s := place.Open(t, store.Options{PackAfter: -1})
	p, err := s.EnsureProject(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		at := time.Now().AddDate(0, 0, -100)
		e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeTool, Name: "a", Inputs: []byte(`{"q":"text"}`), Start: float64(at.UnixMilli())}}
		e.Complete(at)
		puts(t, s, p.ID)(event.Batch{Events: []event.Incoming{e}})
	}
	before := place.Count(t, `SELECT count(*) FROM event`)
	expired := false
	dir := t.TempDir()
	r, err := store.BackupPostgres(t.Context(), place.dsn, dir, store.BackupOptions{Progress: func(string, int64, int64) {
		if expired {
			return
		}
		expired = true
		if _, err := s.ChangeRetention(t.Context(), p.ID, func(r *project.Retention) error {
			days := int64(10)
			r.EventDays = &days
			return nil
		}); err != nil {
			t.Error(err)
		}
		if err := s.Retain(t.Context()); err != nil {
			t.Error(err)
		}
		if n := place.Count(t, `SELECT count(*) FROM event`); n != 0 {
			t.Errorf("%d events are left", n)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if int(r.Events) != before {
		t.Errorf("the backup has %d events of %d that there were when it began", r.Events, before)
	}
	to := newPostgresPlace(t)
	if _, err := store.RestorePostgres(t.Context(), dir, "", to.dsn, nil); err != nil {
		t.Fatal(err)
	}
	if n := to.Count(t, `SELECT count(*) FROM event`); n != before {
		t.Errorf("%d events were restored, want %d", n, before)
	}
}
