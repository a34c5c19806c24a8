package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/event"
)

func fullEvent() event.Event {
	long := strings.Repeat("x", headFieldBytes)
	text := "error " + long
	return event.Event{Inputs: json.RawMessage(`{"a":1.50}`), Outputs: json.RawMessage(`null`), Config: json.RawMessage(`{}`),
		ColdMetadata: json.RawMessage(`{"attributes":{}}`), Metadata: json.RawMessage(`{"m":"` + long + `"}`), Metrics: json.RawMessage(`{"n":"` + long + `"}`),
		Feedback: json.RawMessage(`{"f":"` + long + `"}`), UserProperties: json.RawMessage(`{"u":"` + long + `"}`), ChildrenIDs: json.RawMessage(`["` + long + `"]`), Error: &text}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]event.Event{"full": fullEvent(), "bare": {}, "inputs": {Inputs: json.RawMessage(`{"a":1}`)}} {
		raw := Append([]byte("before"), &e, SpillOf(&e))
		raw = append(raw, "after"...)
		var got event.Event
		n, err := Read(raw[6:], &got)
		if err != nil || 6+n+5 != len(raw) {
			t.Errorf("%s: %d of %d bytes, %v", name, n, len(raw)-11, err)
		}
		if d := cmp.Diff(e, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		for cut := range min(n, 300) {
			if _, err := Read(raw[6:6+cut], &event.Event{}); err == nil {
				t.Errorf("%s: cut at %d of %d bytes: no error", name, cut, n)
			}
		}
	}
}

func FuzzReadRecord(f *testing.F) {
	for _, e := range []event.Event{fullEvent(), {}, {Outputs: json.RawMessage(`"x"`)}} {
		f.Add(Append(nil, &e, SpillOf(&e)))
	}
	f.Add([]byte{1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Add([]byte{200, 1, 65, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		var e event.Event
		n, err := Read(raw, &e)
		if err == nil && (n < 1 || n > len(raw)) {
			t.Errorf("%d bytes read of %d", n, len(raw))
		}
	})
}

func TestDecompressDamaged(t *testing.T) {
	t.Parallel()
	c := Chunk{Raw: bytes.Repeat([]byte("conversation "), 1000)}
	want := bytes.Clone(c.Raw)
	c.Compress()
	if got, err := Decompress(c.Z); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes come back as %d, %v", len(want), len(got), err)
	}
	if _, err := Decompress(c.Z[:len(c.Z)-1]); !errors.Is(err, ErrDamaged) {
		t.Errorf("a cut chunk: %v", err)
	}
}
