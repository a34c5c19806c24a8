package e2e

import (
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/e2e/harness"
)

// TestKill kills the server with SIGKILL at random moments under load, starts it
// again on what it left behind, and reads back every event that was acknowledged.
func TestKill(t *testing.T) {
	kill(t, map[string]int{"sqlite": 20, "postgres": 5})
}

// TestKillWhilePacking does the same while payloads are packed at once, so that many kills come in between.
func TestKillWhilePacking(t *testing.T) {
	kill(t, map[string]int{"sqlite": 20, "postgres": 5}, "--set=extensions::spangrove_store::pack_after=1ms")
}

// kill kills a server so many times by database, which has further arguments.
func kill(t *testing.T, kills map[string]int, args ...string) {
	harness.EachStore(t, func(t *testing.T, st harness.Store) {
		n := harness.Count(t, "SPANGROVE_E2E_KILLS", kills[st.Name])
		seed := harness.Seed(t)
		r := rand.New(rand.NewPCG(seed, 0))
		srv := harness.Start(t, harness.Options{Store: st, Args: args})
		var all []fact
		for i := range n {
			l := newLedger()
			ld := startLoad(t, srv, l, seed+uint64(i))
			ld.await(t, 1+r.Int64N(1500))
			// Not at an acknowledgement, but anywhere between two.
			time.Sleep(time.Duration(r.Int64N(int64(20 * time.Millisecond))))
			srv.Kill()
			ld.stop()
			if len(l.wrong) > 0 {
				t.Fatalf("kill %d: refused: %.5q", i+1, l.wrong)
			}
			if i%4 == 3 { // and now and then while it comes up again
				srv.Launch()
				time.Sleep(time.Duration(r.Int64N(int64(200 * time.Millisecond))))
				srv.Kill()
			}
			srv.Start()
			facts := l.take()
			verify(t, srv, facts)
			all = append(all, facts...)
			t.Logf("kill %d of %d: %d events acknowledged, none lost", i+1, n, len(facts))
		}
		verifyTotals(t, srv, all)
	})
}

// TestTerminate stops the server with SIGTERM under load: it ends by itself with
// exit code 0, refuses nothing for good, and keeps what it acknowledged.
func TestTerminate(t *testing.T) {
	harness.EachStore(t, func(t *testing.T, st harness.Store) {
		seed := harness.Seed(t)
		srv := harness.Start(t, harness.Options{Store: st})
		l := newLedger()
		for i := range 3 {
			ld := startLoad(t, srv, l, seed+uint64(i))
			ld.await(t, 500)
			if err := srv.Terminate(); err != nil {
				t.Errorf("SIGTERM under load: %v", err)
			}
			ld.stop()
			srv.Start()
		}
		if len(l.wrong) > 0 {
			t.Errorf("refused: %.5q", l.wrong)
		}
		verify(t, srv, l.take())
		verifyTotals(t, srv, l.take())
	})
}

// TestShutdownDelay stops the server with SIGTERM as a load balancer wants it: first it says that it is not ready, and takes what still
// comes; then it ends by itself, and everything that it answered is there.
func TestShutdownDelay(t *testing.T) {
	harness.Require(t)
	srv := harness.Start(t, harness.Options{Env: map[string]string{"SPANGROVE_SHUTDOWN_DELAY": "5s"}})
	// The Collector listens for signals a moment after its listeners are open.
	srv.Printed("is ready")
	srv.Must(t, http.MethodPost, "/events", map[string]any{"event_type": "tool", "inputs": map[string]any{}}, nil)
	ended := make(chan error, 1)
	go func() { ended <- srv.Terminate() }()
	ready := func() int {
		code, _, err := srv.Send(t.Context(), http.MethodGet, "/readyz", "", nil)
		if err != nil {
			t.Fatalf("/readyz after SIGTERM: %v", err)
		}
		return code
	}
	for ready() == http.StatusOK { // until the signal has come
		time.Sleep(5 * time.Millisecond)
	}
	id := uuid.NewString()
	srv.Must(t, http.MethodPost, "/events", map[string]any{"event_id": id, "event_type": "tool", "inputs": map[string]any{}}, nil)
	if code, _, err := srv.Send(t.Context(), http.MethodGet, "/livez", "", nil); err != nil || code != http.StatusOK {
		t.Errorf("/livez while it stops: %d, %v", code, err)
	}
	if err := <-ended; err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
	srv.Start()
	if _, err := srv.Event(t.Context(), id); err != nil {
		t.Errorf("taken after SIGTERM, and gone: %v", err)
	}
}
