package queue

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseCursors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Cursors{
		"":                {-1, -1, -1, -1},
		"[]":              {-1, -1, -1, -1},
		"[5,2.5]":         {5, 2.5, -1, -1},
		"[4,3,2,1]":       {4, 3, 2, 1},
		"[5,4,3,2,1,0.5]": {5, 4, 3, 2},
	} {
		got, err := ParseCursors(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got)\n%s", text, err, diff)
		}
	}
	if c, err := ParseCursors(`{"a":1}`); err == nil {
		t.Errorf("an object is read as %v", c)
	}
}

func TestCursorsAdvance(t *testing.T) {
	t.Parallel()
	c := Cursors{10, 5, -1, 3}
	c.Advance(Cursors{9, 6, -1, 4})
	if diff := cmp.Diff(Cursors{10, 6, -1, 4}, c); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestHorizon(t *testing.T) {
	t.Parallel()
	const day = 24 * 60 * 60 * 1000
	now := time.UnixMilli(2 * day)
	for _, tt := range []struct {
		name string
		q    Queue
		want []float64
	}{
		{"on", Queue{Enabled: true}, []float64{2 * day, 2*day - 120_000, 2*day - 1_800_000, day}},
		{"on, whatever Until", Queue{Enabled: true, Until: 7}, []float64{2 * day, 2*day - 120_000, 2*day - 1_800_000, day}},
		{"off for a minute", Queue{Until: 2*day - 60_000}, []float64{2*day - 60_000, 2*day - 120_000, 2*day - 1_800_000, day}},
		{"off for more than a day", Queue{Until: 7}, []float64{7, 7, 7, 7}},
	} {
		var got []float64
		for look := range rescanAges {
			got = append(got, tt.q.Horizon(look, now))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
}
