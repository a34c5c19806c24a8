package e2e

import (
	"os"
	"testing"
	"time"

	"github.com/spangrove/spangrove/e2e/harness"
)

// TestRollingUpgrade has two servers on one PostgreSQL under load replaced one after the other: by this program, and then back by the one before,
// which SPANGROVE_E2E_BEFORE names. Clients only try again what was answered with "try again", and nothing that was acknowledged is lost.
func TestRollingUpgrade(t *testing.T) {
	before := os.Getenv("SPANGROVE_E2E_BEFORE")
	if before == "" {
		t.Skip("SPANGROVE_E2E_BEFORE names no program of an earlier version; make upgrade-test builds one")
	}
	now, db := harness.Binary(t), harness.OwnPostgres(t)
	st := harness.PostgresAt(db.DSN)
	seed := harness.Seed(t)
	l := newLedger()
	var servers []*harness.Server
	var loads []*load
	for i := range 2 {
		s := harness.Start(t, harness.Options{Store: st, Run: before})
		servers = append(servers, s)
		ld := startLoad(t, s, l, seed+uint64(i))
		ld.rest.Store(int64(20 * time.Millisecond))
		loads = append(loads, ld)
	}
	for _, step := range []struct {
		server  int
		program string
	}{{0, now}, {1, now}, {0, before}, {1, before}, {0, now}, {1, now}} {
		loads[0].await(t, 2000)
		s := servers[step.server]
		if err := s.Terminate(); err != nil {
			t.Errorf("SIGTERM under load: %v", err)
		}
		s.Run = step.program
		s.Start()
		t.Logf("server %d is %s now, %d events acknowledged", step.server, s.Run, l.count.Load())
	}
	for _, ld := range loads {
		ld.await(t, 1000)
		ld.stop()
	}
	if len(l.wrong) > 0 {
		t.Errorf("%d answers that no retry cures: %.5q", len(l.wrong), l.wrong)
	}
	facts := l.take()
	sameTotals(t, servers, verifyTotals(t, servers[0], facts))
	verify(t, servers[1], facts)
}
