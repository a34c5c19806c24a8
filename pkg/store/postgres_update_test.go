package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb/sqldbtest"
)

// openBeside opens a store, and a connection to its database past it.
func openBeside(t *testing.T) (*Store, project.Project, *pgx.Conn) {
	t.Helper()
	dsn := sqldbtest.PostgresDSN(t)
	s, err := OpenPostgres(t.Context(), dsn, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	p, err := s.EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return s, p, conn
}

// An update that waits although its event is there is applied, as after a server that stored one of them has ended before it looked for the other.
func TestPostgresSweepsUpdates(t *testing.T) {
	t.Parallel()
	s, p, conn := openBeside(t)
	e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeTool, Name: "step", Start: 1767355200000, Metrics: json.RawMessage(`{"before":1}`)}}
	e.Complete(time.UnixMilli(1767355200000))
	if err := s.Put(t.Context(), p.ID, event.Batch{Events: []event.Incoming{e}}); err != nil {
		t.Fatal(err)
	}
	for i, id := range []uuid.UUID{e.ID, uuid.New()} {
		if _, err := conn.Exec(t.Context(), `INSERT INTO pending(project_id, event_id, body, created_ms) VALUES ($1, $2, $3, $4)`,
			p.ID, id, fmt.Sprintf(`{"fields":{"metrics":"{\"after\":%d}"}}`, i), time.Now().UnixMilli()); err != nil {
			t.Fatal(err)
		}
	}
	s.events.Expire(t.Context())
	got, err := s.Event(t.Context(), p.ID, e.ID)
	if err != nil || string(got.Metrics) != `{"before":1,"after":0}` {
		t.Errorf("metrics %s (%v)", got.Metrics, err)
	}
	var left int
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pending`).Scan(&left); err != nil || left != 1 {
		t.Errorf("%d updates wait (%v), want that of the event that is not there", left, err)
	}
}

// An update that is stored while the transaction of its event is about to commit, with an earlier update that it has applied, is applied, too.
func TestPostgresUpdateMeetsEvent(t *testing.T) {
	t.Parallel()
	s, p, conn := openBeside(t)
	exec := func(text string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 { // a transaction that has waited too long begins anew, and then sees both
		e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeTool, Name: "step", Start: 1767355200000}}
		e.Complete(time.UnixMilli(1767355200000))
		note := event.LogPart{SpanID: uuid.New(), TraceID: uuid.New()}
		update := func(metrics string) error {
			_, err := s.Update(t.Context(), p.ID, event.Update{EventID: e.ID, Metrics: json.RawMessage(metrics)})
			return err
		}
		if err := update(`{"first":1}`); err != nil {
			t.Fatal(err)
		}
		exec(`BEGIN`)
		exec(`LOCK TABLE log_part IN SHARE MODE`) // which the transaction of the event writes after the updates
		stored := make(chan error, 1)
		go func() {
			stored <- s.Put(t.Context(), p.ID, event.Batch{Events: []event.Incoming{e}, LogParts: []event.LogPart{note}})
		}()
		for waits := 0; waits == 0; time.Sleep(time.Millisecond) {
			if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE relation = 'log_part'::regclass AND NOT granted`).Scan(&waits); err != nil {
				t.Fatal(err)
			}
		}
		updated := make(chan error, 1)
		go func() { updated <- update(`{"second":2}`) }()
		time.Sleep(100 * time.Millisecond) // it may be the same writer's, and then comes after
		exec(`COMMIT`)
		if err := errors.Join(<-stored, <-updated); err != nil {
			t.Fatal(err)
		}
		got, err := s.Event(t.Context(), p.ID, e.ID)
		if err != nil || string(got.Metrics) != `{"first":1,"second":2}` {
			t.Fatalf("metrics %s (%v)", got.Metrics, err)
		}
	}
}
