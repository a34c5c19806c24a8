package e2e

import (
	"fmt"
	"sync"
	"testing"

	"github.com/spangrove/spangrove/e2e/harness"
)

// readers is how many requests check facts at the same time.
const readers = 4

// verify reads every fact by its id and fails the test for each that the server
// no longer keeps.
func verify(t *testing.T, srv *harness.Server, facts []fact) {
	t.Helper()
	var mu sync.Mutex
	var broken []string
	next := make(chan fact)
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			for f := range next {
				if err := check(t, srv, f); err != nil {
					mu.Lock()
					broken = append(broken, err.Error())
					mu.Unlock()
				}
			}
		})
	}
	for _, f := range facts {
		next <- f
	}
	close(next)
	wg.Wait()
	if len(broken) > 0 {
		t.Fatalf("%d of %d acknowledged events are not as acknowledged, the first: %.10q", len(broken), len(facts), broken)
	}
}

// check compares one event with what its acknowledgement promised.
func check(t *testing.T, srv *harness.Server, f fact) error {
	ev, err := srv.Event(t.Context(), f.id)
	if err != nil {
		return fmt.Errorf("lost %s of session %s: %w", f.id, f.session, err)
	}
	if ev["event_id"] != f.id || ev["session_id"] != f.session {
		return fmt.Errorf("event %s of session %s reads as %v of %v", f.id, f.session, ev["event_id"], ev["session_id"])
	}
	if in, _ := ev["inputs"].(map[string]any); in["marker"] != f.marker {
		return fmt.Errorf("event %s: inputs.marker is %v, want %s", f.id, in["marker"], f.marker)
	}
	if md, _ := ev["metadata"].(map[string]any); f.update != "" && md["update"] != f.update {
		return fmt.Errorf("event %s: metadata.update is %v, want %s", f.id, md["update"], f.update)
	}
	return nil
}

// verifyTotals reads everything once more by the export, page by page, and
// compares the sets: nothing acknowledged is missing, nothing is there twice. It
// returns what it has read.
func verifyTotals(t *testing.T, srv *harness.Server, facts []fact) []harness.Event {
	t.Helper()
	evs, err := srv.Export(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[any]bool, len(evs))
	for _, ev := range evs {
		if seen[ev["event_id"]] {
			t.Errorf("event %v is exported twice", ev["event_id"])
		}
		seen[ev["event_id"]] = true
	}
	lost := 0
	for _, f := range facts {
		if !seen[f.id] {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d acknowledged events are not in the export of %d", lost, len(facts), len(evs))
	}
	t.Logf("%d events acknowledged, %d stored, %d lost", len(facts), len(evs), lost)
	return evs
}
