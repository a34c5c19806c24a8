package hostile

import (
	"cmp"
	"net/http"
	"testing"
	"time"

	"github.com/spangrove/spangrove/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// hostileCase is one attack and what it may do to others.
type hostileCase struct {
	name string
	// options change the server of this case. The zero Options are the default build.
	options harness.Options
	// attack runs beside the neighbour and returns when it has done its worst. What the hostile
	// client is answered is for the case to judge.
	attack func(t *testing.T, s *stage)
	// after, if any, judges what the attack left behind. The neighbour has stopped by then.
	after func(t *testing.T, s *stage)
	// memoryMiB is how much the resident memory of the server may grow at its peak. It is required.
	memoryMiB int
	// latency is the longest that one request of the neighbour may take; 0 is 15 s, which only an
	// outage exceeds, on a busy machine too.
	latency time.Duration
}

const defaultLatency = 15 * time.Second

// cases are all registered cases, in the order of their files' names.
var cases []hostileCase

func register(c hostileCase) { cases = append(cases, c) }

// stage is where a case plays.
type stage struct {
	*harness.Server                 // its Client has the key of scope admin
	hostile         *tenant         // the project whose keys the attack may use
	neighbour       *tenant         // the innocent project
	nobody          *harness.Client // no key
}

// TestHostile plays every case on a server of its own, on each database.
func TestHostile(t *testing.T) {
	harness.EachStore(t, func(t *testing.T, st harness.Store) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				o := c.options
				o.Store = st
				play(t, harness.Start(t, o), c)
			})
		}
	})
}

func play(t *testing.T, srv *harness.Server, c hostileCase) {
	s := &stage{
		Server:    srv,
		hostile:   newTenant(t, srv, "hostile"),
		neighbour: newTenant(t, srv, "neighbour"),
		nobody:    harness.NewClient(srv.URL, ""),
	}
	// The neighbour has been there for a while: caches are warm, and the first requests, which cost
	// more, do not count.
	for range 20 {
		s.neighbour.once(t.Context())
	}
	if err := s.neighbour.reset(); err != nil {
		t.Fatal("before the attack:", err)
	}
	pid := srv.PID()
	before := resetPeak(t, pid)
	stop := s.neighbour.begin(t.Context())
	c.attack(t, s)
	stop()
	if srv.PID() != pid || !running(pid) {
		t.Fatal("the server ended under the attack")
	}
	grown := peak(t, pid) - before
	said := s.neighbour.report()
	t.Logf("| %s | %s | %d | %d | %s | %d |", t.Name(), c.name, before, before+grown, said.worst.Round(time.Millisecond), said.requests)

	if said.requests == 0 {
		t.Error("the neighbour asked nothing while the attack went on")
	}
	if said.failed > 0 {
		t.Errorf("%d of the neighbour's %d requests failed, the first: %v", said.failed, said.requests, said.first)
	}
	if bound := cmp.Or(c.latency, defaultLatency); said.worst > bound {
		t.Errorf("a request of the neighbour took %s, at most %s are allowed", said.worst, bound)
	}
	if grown > c.memoryMiB {
		t.Errorf("the server's memory grew by %d MiB, at most %d are allowed", grown, c.memoryMiB)
	}
	if c.after != nil {
		c.after(t, s)
	}
	// All that the neighbour was told is stored is there.
	for _, id := range said.stored {
		if _, err := s.neighbour.read.Event(t.Context(), id); err != nil {
			t.Errorf("the neighbour's event %s was acknowledged and cannot be read: %v", id, err)
			break
		}
	}
	if status, answer, err := srv.Send(t.Context(), http.MethodGet, "/healthcheck", "", nil); err != nil || status != http.StatusOK {
		t.Errorf("/healthcheck after the attack: status %d, %v: %.200s", status, err, answer)
	}
}
