package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/e2e/harness"
)

// TestSamples sends captured requests of real instrumentations over the wire, in
// every way, by every transport and to both stores, and reads their sessions
// back. What comes in the first way is held against the facts with
// check_events.py; all other ways give the same events.
//
// The same means every field, digit for digit, but for those that tell of the
// server and of the moment of arrival (arrivalFields).
func TestSamples(t *testing.T) {
	harness.Require(t)
	python, all := checker(t), samples(t)
	var mu sync.Mutex
	first := map[string]map[string]harness.Event{} // by sample, by event id; guarded by mu
	run := func(t *testing.T, st harness.Store, way, transport int) {
		srv := harness.Start(t, harness.Options{Store: st})
		for i := range all {
			whole, parts := all[i].exports(t)
			for _, e := range ways[way].cut(whole, parts) {
				transports[transport].send(t, srv, e)
			}
		}
		events := readBack(t, srv)
		for _, s := range all {
			if ways[way].logs && s.logs == nil {
				continue
			}
			t.Run(s.name, func(t *testing.T) {
				got := ofSample(s, events)
				mu.Lock()
				want := first[s.name]
				if want == nil {
					first[s.name] = got
				}
				mu.Unlock()
				if want != nil {
					differ(t, want, got)
					return
				}
				checkEvents(t, python, s, got)
			})
		}
	}
	for n, st := range harness.Stores {
		for w, way := range ways {
			for tr, transport := range transports {
				// All transports on the first store; on the others, in turn, one half or the
				// other: nothing of a transport reaches the store.
				if n > 0 && tr%2 != w%2 {
					continue
				}
				t.Run(st.Name+", "+way.name+", "+transport.name, func(t *testing.T) {
					if n+w+tr > 0 { // the first is what all others are compared with
						t.Parallel()
					}
					run(t, st, w, tr)
				})
			}
		}
	}
}

// arrivalFields differ between two servers, and between two times.
var arrivalFields = []string{"created_at", "updated_at", "org_id", "workspace_id", "project_id", "tenant"}

// readBack returns all events of the server.
func readBack(t *testing.T, srv *harness.Server) []harness.Event {
	t.Helper()
	evs, err := srv.Export(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range evs {
		for _, k := range arrivalFields {
			delete(ev, k)
		}
	}
	return evs
}

// ofSample returns the events of the sessions that the sample's traces are in, by id.
func ofSample(s sample, all []harness.Event) map[string]harness.Event {
	sessions := map[any]bool{}
	for _, ev := range all {
		md, _ := ev["metadata"].(map[string]any)
		if trace, ok := md["trace_id"].(string); ok && s.ids[trace] {
			sessions[ev["session_id"]] = true
		}
	}
	out := map[string]harness.Event{}
	for _, ev := range all {
		if sessions[ev["session_id"]] {
			out[fmt.Sprint(ev["event_id"])] = ev
		}
	}
	return out
}

// differ reports each event that is not as it was after the first way.
func differ(t *testing.T, want, got map[string]harness.Event) {
	t.Helper()
	ids := maps.Clone(want)
	maps.Copy(ids, got)
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if diff := cmp.Diff(want[id], got[id]); diff != "" {
			t.Errorf("event %s %q (-first way +this):\n%.3000s", id, ids[id]["event_name"], diff)
		}
	}
}

// checker returns the interpreter of check_events.py, which needs no packages.
func checker(t *testing.T) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("the checker needs python3: ", err)
	}
	return python
}

// mistaken are the checks of the captures' expectations that what was captured
// contradicts; they must fail just so.
var mistaken = map[string][]string{
	// The span reports 0 cached tokens, in its attribute and in its raw answer.
	"openinference/responses_api": {"FAIL 'Response' 'metadata.cache_read_input_tokens' 4 0"},
	// The embedding call reports 6 prompt tokens, as in the samples named embeddings, where they count.
	"openllmetry/rag_chain":      {"FAIL 'session' 'token sum over model events' {'prompt': 47, 'completion': 10} {'prompt': 53, 'completion': 10}"},
	"openllmetry-flat/rag_chain": {"FAIL 'session' 'token sum over model events' {'prompt': 47, 'completion': 10} {'prompt': 53, 'completion': 10}"},
}

// checkEvents hands the events to the checker, which knows what must be in them.
func checkEvents(t *testing.T, python string, s sample, evs map[string]harness.Event) {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	script := filepath.Join(harness.Root(t), "e2e", "testdata", "check_events.py")
	cmd := exec.CommandContext(t.Context(), python, script, write("expect.json", s.expect),
		write("events.json", toJSON(t, slices.Collect(maps.Values(evs)))), "--otlp", write("sample.json", s.traces), "-v")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output() // an exit code tells of failed checks, which are listed as well
	var got struct {
		Passed   int
		Lossless float64
	}
	summary, rest, _ := strings.Cut(string(out), "\n")
	if jsonErr := json.Unmarshal([]byte(summary), &got); jsonErr != nil {
		t.Fatalf("the checker: %v\n%s%s", err, out, stderr.Bytes())
	}
	var failed []string
	for line := range strings.Lines(rest) {
		failed = append(failed, strings.TrimSpace(line))
	}
	if diff := cmp.Diff(mistaken[s.name], failed); diff != "" {
		t.Errorf("failed checks (-expected +got):\n%s", diff)
	}
	if got.Passed == 0 || got.Lossless < 1 {
		t.Errorf("no checks, or attribute values lost: %s", summary)
	}
}
