package event

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
)

func TestWindow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	ms := float64(now.UnixMilli())
	for _, tt := range []struct {
		start float64
		want  string // in the message; empty: accepted
	}{
		{ms, ""},
		{1420070400000, ""},
		{1420070399999, "must be between 2015-01-01T00:00:00Z and 2026-03-05T05:06:07Z"},
		{ms + 86_400_000, ""},
		{ms + 86_400_001, "must be between 2015"},
		{0, "must be between 2015"},
		{ms / 1000, "looks like seconds; Unix milliseconds are expected; must be between 2015"},
	} {
		e := Event{Start: tt.start}
		err := DefaultWindow.Check(&e, now)
		var f *fault.Error
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%v: %v", tt.start, err)
		case tt.want != "" && (!errors.As(err, &f) || f.Kind != fault.Invalid || f.Field != "start_time" || !strings.HasPrefix(f.Msg, tt.want)):
			t.Errorf("%v: got %v, want start_time: %s", tt.start, err, tt.want)
		}
	}
	for unit, factor := range map[string]float64{"seconds": 1e-3, "microseconds": 1e3, "nanoseconds": 1e6} {
		if got, want := UnitHint(ms*factor), "looks like "+unit+"; Unix milliseconds are expected; "; got != want {
			t.Errorf("%v: got %q, want %q", ms*factor, got, want)
		}
	}
	if got := UnitHint(-5); got != "" {
		t.Errorf("-5: got %q", got)
	}
}

func TestWindowAdjust(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	ms := float64(now.UnixMilli())
	near := Incoming{Event: Event{Start: ms - 5, End: ms, Duration: 5}}
	if DefaultWindow.Adjust(&near, now); near.Start != ms-5 || near.Metadata != nil || near.DefaultTime {
		t.Errorf("an event of now is changed: %+v", near)
	}
	far := Incoming{Event: Event{Start: 86_400_000.25, End: 86_400_010.25, Duration: 10, Metadata: json.RawMessage(`{"a":1}`)}}
	DefaultWindow.Adjust(&far, now)
	if far.Start != ms || far.End != ms+10 || far.Duration != 10 || !far.DefaultTime || string(far.Metadata) != `{"a":1,"original_start_time":86400000.25}` {
		t.Errorf("got %v to %v, duration %v, metadata %s", far.Start, far.End, far.Duration, far.Metadata)
	}
	// Its finished copy, which comes later, begins when the first one did.
	stored := far
	stored.Unfinished = true
	late := Incoming{Event: Event{Start: 86_400_000.25, End: 86_400_030.25, Duration: 30}}
	DefaultWindow.Adjust(&late, now.Add(time.Minute))
	if stored.Repeat(&late); stored.Start != ms || stored.End != ms+30 || stored.Duration != 30 || stored.Unfinished {
		t.Errorf("finished: %v to %v, duration %v", stored.Start, stored.End, stored.Duration)
	}
}

func TestCompleteStartOfZero(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	given, left := Incoming{StartGiven: true, Event: Event{End: 7}}, Incoming{}
	given.Complete(now)
	left.Complete(now)
	if given.Start != 0 || given.Duration != 7 || given.DefaultTime {
		t.Errorf("0 that was given: %+v", given)
	}
	if left.Start != float64(now.UnixMilli()) || !left.DefaultTime {
		t.Errorf("left out: %+v", left)
	}
}

func TestDurationFollowsEnd(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	ms := float64(now.UnixMilli())
	for _, tt := range []struct {
		name     string
		e        Incoming
		u        Update
		duration float64
	}{
		{"open event", Incoming{Event: Event{Start: ms}}, Update{EndTime: new(ms + 250)}, 250},
		{"open session", Incoming{Event: Event{Start: ms, Type: TypeSession}}, Update{EndTime: new(ms + 250)}, 250},
		{"end again", Incoming{Event: Event{Start: ms, End: ms + 9}}, Update{EndTime: new(ms + 250)}, 250},
		{"end before the start", Incoming{Event: Event{Start: ms, End: ms + 9}}, Update{EndTime: new(ms - 1)}, 0},
		{"given at creation", Incoming{Event: Event{Start: ms, Duration: 5}}, Update{EndTime: new(ms + 250)}, 5},
		{"given with the end", Incoming{Event: Event{Start: ms}}, Update{EndTime: new(ms + 250), Duration: new(3.0)}, 3},
		{"nothing of times", Incoming{Event: Event{Start: ms, End: ms + 9}}, Update{}, 9},
	} {
		tt.e.Complete(now)
		tt.e.Apply(&tt.u)
		if tt.e.Duration != tt.duration {
			t.Errorf("%s: duration %v, want %v", tt.name, tt.e.Duration, tt.duration)
		}
	}
	e := Incoming{Event: Event{Start: ms}}
	e.Complete(now)
	e.Apply(&Update{Duration: new(4.0)})
	e.Apply(&Update{EndTime: new(ms + 250)})
	if e.Duration != 4 || e.End != ms+250 {
		t.Errorf("given by an update: duration %v, end %v", e.Duration, e.End)
	}
}
