package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/provider"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/store"
)

// atOnce runs two changes of a table, each by a server of its own, so that both have read all they read before either of them
// writes: nobody can write the table until both wait.
func atOnce(t *testing.T, place postgresPlace, table string, changes [2]func() error) (errs [2]error) {
	t.Helper()
	conn := place.conn(t)
	defer func() { _ = conn.Close(context.Background()) }()
	for _, text := range []string{"BEGIN", "LOCK TABLE " + table + " IN SHARE MODE"} {
		if _, err := conn.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	var group sync.WaitGroup
	for i, change := range changes {
		group.Go(func() { errs[i] = change() })
	}
	// One waits for the table, and the other for it too, or for the first.
	waiting := `WITH RECURSIVE behind(pid) AS (
			SELECT $1::int
			UNION
			SELECT l.pid FROM behind b JOIN pg_locks l ON NOT l.granted AND b.pid = ANY(pg_blocking_pids(l.pid)))
		SELECT count(*) FROM behind WHERE pid <> $1`
	for n, end := 0, time.Now().Add(20*time.Second); n < 2 && time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if err := conn.QueryRow(t.Context(), waiting, int32(conn.PgConn().PID())).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	return errs
}

// Two servers make the last that a bound allows at the same moment: one of them is refused.
func TestPostgresBoundsOfTwoServers(t *testing.T) {
	t.Parallel()
	place := newPostgresPlace(t)
	a, b := place.Open(t, store.Options{}), place.Open(t, store.Options{})
	first, err := a.EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	online := metric.Definition{Name: "m", Type: metric.Human, EnabledInProd: true}
	newMetric := func(s *store.Store, p project.Project, def metric.Definition) (string, error) {
		def.Complete(metric.DefaultSampling)
		return s.CreateMetric(t.Context(), p.ID, def)
	}
	mustMetric := func(p project.Project, def metric.Definition) string {
		t.Helper()
		id, err := newMetric(a, p, def)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	offline := online
	offline.EnabledInProd = false
	newProvider := func(s *store.Store, p project.Project, name string) error {
		_, err := s.ChangeProvider(t.Context(), p.ID, name, func(*provider.Provider) error { return nil })
		return err
	}
	newBackfill := func(s *store.Store, p project.Project, metricID string) error {
		_, err := s.CreateBackfill(t.Context(), p.ID, evaluation.Backfill{MetricID: metricID, Version: 1, Filters: json.RawMessage(`[]`)})
		return err
	}
	for _, tt := range []struct {
		name, table string
		kind        fault.Kind
		// full brings the project to one below the bound, and returns the changes of which one fits.
		full  func(p project.Project) [2]func() error
		count string // what counts against the bound; $ is the project
		most  int
	}{
		{"metrics over new events, made", "metric", fault.Invalid, func(p project.Project) (c [2]func() error) {
			for range metric.MaxOnline - 1 {
				mustMetric(p, online)
			}
			for i, s := range []*store.Store{a, b} {
				c[i] = func() error { _, err := newMetric(s, p, online); return err }
			}
			return c
		}, `SELECT count(*) FROM metric WHERE online = 1 AND project_id = %d`, metric.MaxOnline},
		{"metrics over new events, changed and deployed", "metric", fault.Invalid, func(p project.Project) [2]func() error {
			for range metric.MaxOnline - 1 {
				mustMetric(p, online)
			}
			changed, deployed := mustMetric(p, offline), mustMetric(p, offline)
			draft, err := a.CreateMetricVersion(t.Context(), p.ID, deployed, metric.Version{Definition: online}, false)
			if err != nil {
				t.Fatal(err)
			}
			return [2]func() error{
				func() error {
					_, err := a.UpdateMetric(t.Context(), p.ID, changed, metric.Patch{EnabledInProd: &yes})
					return err
				},
				func() error { _, err := b.DeployMetricVersion(t.Context(), p.ID, deployed, draft.Name()); return err },
			}
		}, `SELECT count(*) FROM metric WHERE online = 1 AND project_id = %d`, metric.MaxOnline},
		{"providers", "provider", fault.Invalid, func(p project.Project) (c [2]func() error) {
			for i := range provider.MaxPerProject - 1 {
				if err := newProvider(a, p, fmt.Sprint("p", i)); err != nil {
					t.Fatal(err)
				}
			}
			for i, s := range []*store.Store{a, b} {
				c[i] = func() error { return newProvider(s, p, fmt.Sprint("last", i)) }
			}
			return c
		}, `SELECT count(*) FROM provider WHERE project_id = %d`, provider.MaxPerProject},
		{"backfills", "backfill", fault.Conflict, func(p project.Project) (c [2]func() error) {
			id := mustMetric(p, offline)
			for range evaluation.MaxBackfills - 1 {
				if err := newBackfill(a, p, id); err != nil {
					t.Fatal(err)
				}
			}
			for i, s := range []*store.Store{a, b} {
				c[i] = func() error { return newBackfill(s, p, id) }
			}
			return c
		}, `SELECT count(*) FROM backfill WHERE project_id = %d`, evaluation.MaxBackfills},
		// The last key of scope admin stays.
		{"admin keys", "api_key", fault.Conflict, func(p project.Project) (c [2]func() error) {
			for i, s := range []*store.Store{a, b} {
				k := project.Key{ID: uuid.NewString(), ProjectID: p.ID, Name: "k", Prefix: "k", Hash: project.HashSecret(uuid.NewString()),
					Scope: project.ScopeAdmin, Origin: project.OriginAPI, CreatedAt: time.Now()}
				if err := a.InsertKey(t.Context(), k); err != nil {
					t.Fatal(err)
				}
				c[i] = func() error { _, err := s.RevokeKey(t.Context(), p.ID, k.ID); return err }
			}
			return c
		}, `SELECT count(*) FROM api_key WHERE revoked_ms = 0 AND project_id = %d`, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := first
			if tt.table != "api_key" {
				if p, err = a.EnsureProject(t.Context(), tt.name); err != nil {
					t.Fatal(err)
				}
			}
			errs := atOnce(t, place, tt.table, tt.full(p))
			refused := 0
			for _, err := range errs {
				switch {
				case err == nil:
				case fault.Of(err) == tt.kind:
					refused++
				default:
					t.Error(fault.Of(err), err)
				}
			}
			if n := place.Count(t, fmt.Sprintf(tt.count, p.ID)); refused != 1 || n != tt.most {
				t.Errorf("%d of two were refused, and there are %d, want 1 and %d", refused, n, tt.most)
			}
		})
	}
}

// A client creates a run again when it does not know whether it came through, and may reach another server with it: both answer
// that it is there.
func TestPostgresRunOfTwoServers(t *testing.T) {
	t.Parallel()
	place := newPostgresPlace(t)
	a, b := place.Open(t, store.Options{}), place.Open(t, store.Options{})
	p, err := a.EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	id, name := uuid.NewString(), "r"
	var changes [2]func() error
	for i, s := range []*store.Store{a, b} {
		changes[i] = func() error {
			r, err := s.CreateRun(t.Context(), p.ID, run.Update{ID: id, Name: &name, Metadata: json.RawMessage(fmt.Sprintf(`{"k%d":1}`, i))})
			if err == nil && (r.ID != id || r.Name != name || r.Created == 0) {
				t.Errorf("answered %+v", r)
			}
			return err
		}
	}
	for i, err := range atOnce(t, place, "run", changes) {
		if err != nil {
			t.Errorf("server %d: kind %d, %v", i, fault.Of(err), err)
		}
	}
	r, err := b.Run(t.Context(), p.ID, id)
	if err != nil {
		t.Fatal(err)
	}
	var metadata map[string]int
	if err := json.Unmarshal(r.Metadata, &metadata); err != nil || len(metadata) != 2 {
		t.Errorf("metadata %s, want what both said", r.Metadata)
	}
}

// Two servers get the same new provider at once: it is made by one and changed by the other.
func TestPostgresProviderOfTwoServers(t *testing.T) {
	t.Parallel()
	place := newPostgresPlace(t)
	a, b := place.Open(t, store.Options{}), place.Open(t, store.Options{})
	p, err := a.EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	change := func(s *store.Store, set func(*provider.Provider)) func() error {
		return func() error {
			_, err := s.ChangeProvider(t.Context(), p.ID, "x", func(p *provider.Provider) error { set(p); return nil })
			return err
		}
	}
	for i, err := range atOnce(t, place, "provider", [2]func() error{
		change(a, func(p *provider.Provider) { p.Model = "m" }),
		change(b, func(p *provider.Provider) { p.SealedKey = []byte("sealed") }),
	}) {
		if err != nil {
			t.Errorf("server %d: kind %d, %v", i, fault.Of(err), err)
		}
	}
	list, err := b.Providers(t.Context(), p.ID)
	if err != nil || len(list) != 1 || list[0].Model != "m" || string(list[0].SealedKey) != "sealed" {
		t.Errorf("%+v, %v", list, err)
	}
}
