package events

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/pkg/store/internal/record"
)

func TestConfigKeep(t *testing.T) {
	t.Parallel()
	k := newConfigKeep()
	config := []byte(`{"model":"o3"}`)
	of := func(chunk int64, off int, config []byte) *head {
		return &head{chunk: &record.Chunk{ID: chunk}, off: off, config: config}
	}
	k.put([]*head{of(1, 0, config), of(1, 9, []byte(`{"model":"o4"}`)), of(2, 0, config), {}, of(3, 0, nil),
		of(4, 0, []byte(strings.Repeat("x", keptConfigBytes+1)))})
	config[2] = 'X' // it is the caller's
	want := func(chunk int64, off int, text string) {
		t.Helper()
		if got, ok := k.get(chunk, off); ok != (text != "") || string(got) != text {
			t.Errorf("chunk %d at %d: %s, %v, want %s", chunk, off, got, ok, text)
		}
	}
	want(1, 0, `{"model":"o3"}`)
	want(1, 9, `{"model":"o4"}`)
	want(2, 0, `{"model":"o3"}`)
	want(1, 1, "")
	want(3, 0, "")
	want(4, 0, "")
	k.drop(1)
	want(1, 0, "")
	want(2, 0, `{"model":"o3"}`)
	if k.events != 1 || k.bytes != len(config) {
		t.Errorf("%d events with %d bytes, want one", k.events, k.bytes)
	}
}

// However much is stored, or stored and dropped, what is kept has its bounds, and is what came last.
func TestConfigKeepIsBounded(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(k *configKeep, i int){
		"many": func(k *configKeep, i int) { k.put([]*head{{chunk: &record.Chunk{ID: int64(i)}, config: []byte("{}")}}) },
		"large": func(k *configKeep, i int) {
			k.put([]*head{{chunk: &record.Chunk{ID: int64(i)}, config: fmt.Appendf(nil, "%0*d", keptConfigBytes, i)}})
		},
		"dropped": func(k *configKeep, i int) {
			k.put([]*head{{chunk: &record.Chunk{ID: int64(i)}, config: []byte("{}")}})
			if i < 2*keptConfigs {
				k.drop(int64(i))
			}
		},
	} {
		k := newConfigKeep()
		const n = 2*keptConfigs + 10
		for i := range n {
			f(k, i)
		}
		if k.events > keptConfigs || k.bytes > keptConfigsBytes || len(k.shared) > sharedConfigs {
			t.Errorf("%s: %d events, %d bytes, %d texts", name, k.events, k.bytes, len(k.shared))
		}
		if len(k.order) > keptConfigs || len(k.chunks) > len(k.order) {
			t.Errorf("%s: %d chunks in order of %d", name, len(k.chunks), len(k.order))
		}
		if _, ok := k.get(n-1, 0); !ok {
			t.Errorf("%s: the last is not kept", name)
		}
	}
}
