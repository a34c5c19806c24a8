package e2e

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/e2e/harness"
)

// TestFleet runs two servers on one PostgreSQL under load. Every few seconds one of them is killed with SIGKILL and started again, and now and
// then PostgreSQL itself is. In the end everything that was acknowledged is there once, each event that came is scored once, what was to be
// deleted is gone, and both servers give the same answers as the rows.
//
// SPANGROVE_E2E_FLEET says for how long, such as 5m, with 32 clients, a kill every 10 s, and three of PostgreSQL. Otherwise it is some seconds.
func TestFleet(t *testing.T) {
	t.Parallel()
	db := harness.OwnPostgres(t)
	fleet(t, db.DSN, 3000, db.Kill)
}

// TestFleetCitus does the same with a worker of a cluster that is killed now and then, in place of PostgreSQL.
func TestFleetCitus(t *testing.T) {
	t.Parallel()
	db := harness.NewCitus(t)
	fleet(t, db.DSN, 1000, db.Kill) // each takes three times as long there
}

// fleet runs the servers. In a long run so many events are deleted that a server is killed before it has deleted them.
func fleet(t *testing.T, dsn string, manyDoomed int, killDatabase func() error) {
	t.Helper()
	span, every, databaseKills, clients := 6*time.Second, 2*time.Second, 1, 16
	text := os.Getenv("SPANGROVE_E2E_FLEET")
	long := text != ""
	if long {
		var err error
		if span, err = time.ParseDuration(text); err != nil {
			t.Fatalf("SPANGROVE_E2E_FLEET: %v", err)
		}
		every, databaseKills, clients = 10*time.Second, 3, 32
	}
	seed := harness.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	args := []string{"--set", "extensions.spangrove_evaluate.online.timeout=1s", "--set", "extensions.spangrove_evaluate.online.attempts=100"}
	servers := make([]*harness.Server, 2)
	for i := range servers {
		servers[i] = harness.New(t, harness.Options{Store: harness.PostgresAt(dsn), Args: args})
		servers[i].Launch() // both bring the schema up to date at the same time
	}
	for _, s := range servers {
		if err := s.Ready(); err != nil {
			t.Fatal(err)
		}
	}
	scored := fleetMetric(t, servers[0])
	doomedEvents := 200
	if long {
		doomedEvents = manyDoomed
	}
	putNamed(t, servers[0], doomed, doomedEvents)
	l := newLedger()
	var loads []*load
	for i := range clients / 8 { // eight each
		ld := startLoad(t, servers[i%2], l, seed+uint64(i))
		if long { // or there is so much that reading it back takes longer than storing it
			ld.rest.Store(int64(200 * time.Millisecond))
		}
		loads = append(loads, ld)
	}
	began, kills := time.Now(), 0
	for next := range databaseKills + int(span/every) {
		time.Sleep(every*3/4 + time.Duration(r.Int64N(int64(every/2))))
		if len(l.wrong) > 0 {
			t.Fatalf("refused: %.300q", l.wrong[:min(3, len(l.wrong))])
		}
		if turns := int(span/every)/databaseKills + 1; next%turns == turns/2 {
			if err := killDatabase(); err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: the database is killed, %d events acknowledged", time.Since(began).Round(time.Second), l.count.Load())
			continue
		}
		s := servers[kills%2]
		kills++
		t.Logf("%s: server %d is killed, %d events acknowledged", time.Since(began).Round(time.Second), (kills-1)%2, l.count.Load())
		if kills == 2 && long {
			fleetDeletes(t, s, doomedEvents)
			continue
		}
		s.Kill()
		startAgain(t, s)
	}
	if !long { // one that was killed would have it for two minutes more
		if err := deleteDoomed(t, servers[0], doomedEvents); err != nil {
			t.Fatal(err)
		}
	}
	for _, ld := range loads {
		ld.stop()
	}
	if len(l.wrong) > 0 {
		t.Fatalf("refused: %.300q", l.wrong[:min(3, len(l.wrong))])
	}
	for _, s := range servers { // a database that was killed last may still be coming up
		if err := s.Ready(); err != nil {
			t.Fatal(err)
		}
	}
	told := func(what string) { t.Logf("%s: %s", time.Since(began).Round(time.Second), what) }
	told("the clients have stopped")
	scored(t, servers)
	told("all is scored")
	fleetDeleted(t, servers[1], doomedEvents)
	told("all is deleted")
	facts := l.take()
	sameTotals(t, servers, verifyTotals(t, servers[1], facts))
	checked := 1000 // each by itself takes longer than all the rest
	if long {
		checked = 20_000
	}
	verify(t, servers[0], facts[:min(len(facts), checked)]) // in the order of a map
}

// fleetMetric makes a metric, and events for it that the servers score while they are killed. It returns what checks that each was scored once.
func fleetMetric(t *testing.T, s *harness.Server) func(t *testing.T, servers []*harness.Server) {
	t.Helper()
	const events = 2000
	s.Must(t, "POST", "/v1/metrics", map[string]any{"name": "long", "type": "EXPRESSION", "criteria": "duration", "enabled_in_prod": true, "sampling_percentage": 100,
		"event_name": "scored"}, nil)
	putNamed(t, s, "scored", events)
	return func(t *testing.T, servers []*harness.Server) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Minute); len(finished(t, servers[0])) < events; time.Sleep(200 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d evaluations are done, want %d", len(finished(t, servers[0])), events)
			}
		}
		if n := len(evaluations(t, servers[1], "")); n != events {
			t.Errorf("%d evaluations, want %d", n, events)
		}
	}
}

// doomed is the name of events that are to be deleted.
const doomed = "doomed"

// deleteDoomed asks a server to delete the events of that name.
func deleteDoomed(t *testing.T, s *harness.Server, n int) error {
	return s.JSON(t.Context(), "POST", "/events/delete", map[string]any{"filters": []harness.Filter{harness.Is("event_name", doomed)}, "expected_events": n}, nil)
}

// fleetDeletes has a server delete events and kills it at once, so that another one goes on with it.
func fleetDeletes(t *testing.T, s *harness.Server, n int) {
	t.Helper()
	asked := make(chan error, 1)
	go func() { asked <- deleteDoomed(t, s, n) }()
	for deadline := time.Now().Add(time.Minute); len(deletions(t, s)) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no deletion is listed")
		}
	}
	s.Kill()
	<-asked // it was cut off, or quicker than the kill
	startAgain(t, s)
}

// startAgain starts a server as what watches over processes does: one that finds its database away ends, and is started again.
func startAgain(t *testing.T, s *harness.Server) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(500 * time.Millisecond) {
		s.Launch()
		err := s.Ready()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func deletions(t *testing.T, s *harness.Server) (list []struct {
	State   string
	Deleted int `json:"deleted_events"`
}) {
	t.Helper()
	s.Must(t, "GET", "/deletions", nil, &struct{ Data any }{&list})
	return list
}

// fleetDeleted waits until what was to be deleted is gone, by one deletion.
func fleetDeleted(t *testing.T, s *harness.Server, n int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		list := deletions(t, s)
		if len(list) != 1 {
			t.Fatalf("deletions: %+v", list)
		}
		if list[0].State == "done" {
			if list[0].Deleted != n {
				t.Errorf("%+v, want %d deleted events", list[0], n)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("not done: %+v", list[0])
		}
	}
	left, err := s.Export(t.Context(), harness.Is("event_name", doomed))
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("%d events are left of those that were deleted", len(left))
	}
}

// putNamed stores events of a name, in one session.
func putNamed(t *testing.T, s *harness.Server, name string, n int) {
	t.Helper()
	session := uuid.NewString()
	var list []map[string]any
	for i := range n {
		list = append(list, map[string]any{"event_id": uuid.NewString(), "session_id": session, "event_type": "tool", "event_name": name, "inputs": map[string]any{},
			"start_time": time.Now().UnixMilli(), "duration": i + 1})
	}
	for len(list) > 0 {
		k := min(len(list), 1000)
		s.Must(t, "POST", "/v1/events/batch", map[string]any{"events": list[:k]}, nil)
		list = list[k:]
	}
}

// sameTotals has each server count the events of each name, as lists do, and holds that against the events themselves.
func sameTotals(t *testing.T, servers []*harness.Server, all []harness.Event) {
	t.Helper()
	want := map[string]int{}
	for _, e := range all {
		want[e["event_name"].(string)]++
	}
	for i, s := range servers {
		for name, n := range want {
			// By a field that no index has, so that it is answered from segments.
			in := map[string]any{"filters": []harness.Filter{harness.Is("event_name", name), {Field: "duration", Operator: "greater than", Value: "-1", Type: "number"}}, "limit": 1}
			var got struct {
				Total int `json:"totalEvents"`
			}
			s.Must(t, "POST", "/v1/events/export", in, &got)
			if got.Total != n {
				t.Errorf("server %d counts %d events named %s, want %d", i, got.Total, name, n)
			}
		}
	}
}
