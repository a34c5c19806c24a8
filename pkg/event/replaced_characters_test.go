package event

import (
	"encoding/json"
	"testing"
)

func TestCountReplaced(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		before string
		n      int
		want   string
	}{
		{``, 0, ``},
		{``, 2, `{"replaced_characters":2}`},
		{`{"a":1}`, 3, `{"a":1,"replaced_characters":3}`},
		{`{"replaced_characters":4,"a":1}`, 1, `{"replaced_characters":5,"a":1}`},
		{`{"replaced_characters":"many"}`, 1, `{"replaced_characters":1}`},
	} {
		e := Event{Metadata: json.RawMessage(tt.before)}
		e.CountReplaced(tt.n)
		if string(e.Metadata) != tt.want {
			t.Errorf("%s noting %d: got %s, want %s", tt.before, tt.n, e.Metadata, tt.want)
		}
	}
}
