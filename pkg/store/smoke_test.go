package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store"
)

func smoke(t *testing.T, s *store.Store) {
	ctx := context.Background()
	p, err := s.EnsureProject(ctx, "default")
	if err != nil {
		t.Fatal(err)
	}
	sid := uuid.New()
	now := time.Now()
	var b event.Batch
	for i := range 20 {
		e := event.Event{ID: uuid.New(), SessionID: sid, Type: event.TypeModel, Name: fmt.Sprint("e", i), Start: float64(now.UnixMilli() + int64(i)), Duration: 5,
			Inputs: json.RawMessage(fmt.Sprintf(`{"q":"hello %d refund"}`, i)), Outputs: json.RawMessage(`{"a":1.50}`), Metadata: json.RawMessage(`{"prompt_tokens":3,"completion_tokens":4,"cost":0.25}`),
			UserProperties: json.RawMessage(`{"user_id":"u1"}`)}
		e.Complete(now)
		b.Events = append(b.Events, e)
	}
	for range 2 {
		if err := s.Put(ctx, p.ID, b); err != nil {
			t.Fatal(err)
		}
	}
	set, err := s.Session(ctx, p.ID, sid)
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Events) != 21 {
		t.Fatalf("%d events", len(set.Events))
	}
	for i := range set.Events {
		e, err := set.Load(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		if e.IsSession() {
			t.Logf("%s %s", e.Name, e.Metadata)
		} else if e.Inputs == nil {
			t.Fatal("no inputs")
		}
	}
	for _, f := range []string{`[]`, `[{"field":"inputs.q","operator":"contains","value":"refund"}]`, `[{"field":"event_type","operator":"is","value":"session"}]`,
		`[{"field":"user_properties.user_id","operator":"is","value":"u1"}]`, `[{"field":"metadata.cost","operator":"greater than","value":"0.1","type":"number"}]`} {
		fs, err := query.ParseFilters(json.RawMessage(f), "filters")
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Search(ctx, p.ID, query.Search{Filters: fs, Limit: 5, Page: 2})
		if err != nil {
			t.Fatal(f, err)
		}
		t.Log(f, r.Total, len(r.Events))
	}
	if pend, err := s.Update(ctx, p.ID, event.Update{EventID: b.Events[3].ID, Outputs: json.RawMessage(`"x"`), Metadata: json.RawMessage(`{"cost":1}`)}); err != nil || pend {
		t.Fatal(pend, err)
	}
	e, err := s.Event(ctx, p.ID, b.Events[3].ID)
	if err != nil || string(e.Outputs) != `"x"` || string(e.Inputs) == "" {
		t.Fatal(err, string(e.Outputs), string(e.Metadata))
	}
	if err := s.DeleteEvent(ctx, p.ID, b.Events[4].ID); err != nil {
		t.Fatal(err)
	}
	e, err = s.Event(ctx, p.ID, sid)
	t.Log(string(e.Metadata), err)
	if err := s.DeleteSession(ctx, p.ID, sid); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Session(ctx, p.ID, sid); err == nil {
		t.Fatal("still there")
	}
}

func TestSmokeSQLite(t *testing.T) {
	s, err := store.OpenSQLite(t.Context(), t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	smoke(t, s)
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestSmokePostgres(t *testing.T) {
	dsn := os.Getenv("SPANGROVE_TEST_POSTGRES")
	if dsn == "" {
		t.Skip("no SPANGROVE_TEST_POSTGRES")
	}
	s, err := store.OpenPostgres(t.Context(), dsn, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	smoke(t, s)
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}
