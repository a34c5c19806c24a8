package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/e2e/harness"
)

// sample is what one real program exported, with the facts that its events must
// show. The JSON texts are as captured, but for the session key (see ownSession).
type sample struct {
	name   string // convention/case
	traces []byte // ExportTraceServiceRequest
	logs   []byte // ExportLogsServiceRequest; nil: the program sent none
	expect []byte // the facts, as check_events.py reads them
	ids    map[string]bool
}

// minSamples is how many captures there are; more may come.
const minSamples = 70

// samples reads all captures.
func samples(t *testing.T) []sample {
	t.Helper()
	expects, err := filepath.Glob(filepath.Join(harness.Root(t), "pkg", "otlpmap", "testdata", "samples", "*", "*.expect.json"))
	if err != nil || len(expects) < minSamples {
		t.Fatalf("%d samples (%v), want at least %d", len(expects), err, minSamples)
	}
	var all []sample
	for i, file := range expects {
		base := strings.TrimSuffix(file, ".expect.json")
		s := sample{
			name:   filepath.Base(filepath.Dir(base)) + "/" + filepath.Base(base),
			traces: readFile(t, base+".json"), expect: readFile(t, file), ids: map[string]bool{},
		}
		if _, err := os.Stat(base + ".logs.json"); err == nil {
			s.logs = readFile(t, base+".logs.json")
		}
		ownSession(t, &s, i)
		for _, sp := range toTraces(t, decode(t, s.traces)).Traces().ResourceSpans().All() {
			for _, ss := range sp.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					s.ids[span.TraceID().String()] = true
				}
			}
		}
		all = append(all, s)
	}
	return all
}

// sampleOf returns the sample of that name.
func sampleOf(t *testing.T, name string) sample {
	t.Helper()
	for _, s := range samples(t) {
		if s.name == name {
			return s
		}
	}
	t.Fatalf("no sample %s", name)
	return sample{}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ownSession gives the nth sample a session key that no other sample has: several
// were captured with the same key, and samples that share a server would meet in
// one session. Only the key's last two characters change, to hexadecimal digits
// (a key may be a UUID), in the requests and in the facts alike.
func ownSession(t *testing.T, s *sample, n int) {
	t.Helper()
	var facts struct {
		Sessions []struct {
			Key string `json:"key"`
		} `json:"sessions"`
	}
	if err := json.Unmarshal(s.expect, &facts); err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	for _, session := range facts.Sessions {
		if len(session.Key) < 2 {
			continue
		}
		key := fmt.Sprintf("%s%02x", session.Key[:len(session.Key)-2], n)
		for _, text := range []*[]byte{&s.traces, &s.logs, &s.expect} {
			*text = bytes.ReplaceAll(*text, []byte(session.Key), []byte(key))
		}
	}
}

// decode reads a request; its numbers stay digit for digit.
func decode(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	var out map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func toJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// list is o[key] as a list of objects.
func list(o map[string]any, key string) []map[string]any {
	var out []map[string]any
	items, _ := o[key].([]any)
	for _, v := range items {
		if m, ok := v.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}
