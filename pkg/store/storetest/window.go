package storetest

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store"
)

var windowTests = []test{
	{"Window/a native event outside of it is refused", windowNative},
	{"Window/a span outside of it is stored at its arrival", windowSpan},
	{"Window/both ends can be set", windowSet},
	{"Window/the duration follows the end", durationFollows},
}

// beginning returns a step that begins at ms, Unix milliseconds.
func beginning(name string, ms float64) event.Incoming {
	x := step("s", name, 0)
	x.Start, x.End = ms, ms+x.Duration
	return x
}

func (e *env) refusedStart(x event.Incoming) {
	e.Helper()
	err := e.s.Put(e.ctx, e.project, event.Batch{Events: []event.Incoming{step("s", "good", 0), x}})
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Invalid || f.Field != "events[1].start_time" {
		e.Errorf("start %v: got %v, want a refusal of events[1].start_time", x.Start, err)
	}
}

func windowNative(e *env) {
	e.reopen(store.Options{Now: func() time.Time { return arrival }})
	for _, ms := range []float64{0, noon / 1000, 1420070399999, noon + dayMillis + 1, 253402300000000} {
		e.refusedStart(beginning("x", ms))
	}
	e.equal("events", 0, e.place.Count(e.T, `SELECT count(*) FROM event`))
	for i, ms := range []float64{1420070400000, noon + dayMillis} {
		x := beginning([]string{"oldest", "latest"}[i], ms)
		e.put(x)
		e.holds(x)
	}
}

func windowSpan(e *env) {
	clock := NewClock(arrival)
	e.reopen(store.Options{Now: clock.Now})
	far := beginning("x", noon/1000)
	far.TraceID = uuid.UUID{1}
	far.Metadata = text(`{"a":1}`)
	want := far
	want.Start, want.End, want.Metadata = noon, noon+1000, text(`{"a":1,"original_start_time":1767355200}`)
	e.put(far)
	e.holds(want)
	for range 3 { // sent again, days later
		clock.Add(26 * time.Hour)
		e.put(far, beginning("near", noon+5))
		e.holds(want)
	}
	e.wantRollup("s", "num_events=2 num_model_events=0 has_feedback=false cost= total_tokens=0 prompt_tokens=0 completion_tokens=0")
	e.reopen(store.Options{Now: clock.Now})
	e.put(far)
	e.holds(want)
	e.equal("rows", 3, e.place.Count(e.T, `SELECT count(*) FROM event`))
}

func windowSet(e *env) {
	e.reopen(store.Options{Now: func() time.Time { return arrival },
		Window: event.Window{Oldest: time.UnixMilli(0), Ahead: time.Hour}})
	x := beginning("first", 0)
	e.put(x)
	e.holds(x)
	e.refusedStart(beginning("x", noon+2*3600_000))
}

func durationFollows(e *env) {
	open, given, span := step("s", "open", 0), step("s", "given", 0), step("s", "span", 0)
	open.Duration, open.End, open.DurationGiven = 0, open.Start, false
	span.DurationGiven = false
	span.TraceID = uuid.UUID{2}
	e.put(start("s", "session", 0, 0), open, given, span)
	for _, name := range []string{"open", "given", "span", "s"} {
		e.update(event.Update{EventID: id(name), EndTime: pointer(noon + 250)})
	}
	for name, want := range map[string]float64{"open": 250, "given": 1000, "span": 250, "s": 250} {
		if got := e.event(id(name)); got.Duration != want || got.End != noon+250 {
			e.Errorf("%s: duration %v, end %v, want %v, %v", name, got.Duration, got.End, want, noon+250)
		}
	}
}
