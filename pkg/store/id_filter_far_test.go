package store_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/store"
	"github.com/spangrove/spangrove/pkg/store/storetest"
)

// onBoth runs a test on each database that there is.
func onBoth(t *testing.T, f func(t *testing.T, place storetest.Place)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, sqlitePlace{dir: t.TempDir()})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		f(t, newPostgresPlace(t))
	})
}

// watched are options of a store whose telemetry a test reads.
func watched(o store.Options) (store.Options, *sdkmetric.ManualReader) {
	reader := sdkmetric.NewManualReader()
	o.Meter = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("test")
	return o, reader
}

// observed returns the value of a metric of the store without attributes.
func observed(t *testing.T, reader *sdkmetric.ManualReader, name string) int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch data := m.Data.(type) {
			case metricdata.Gauge[int64]:
				return data.DataPoints[0].Value
			case metricdata.Sum[int64]:
				return data.DataPoints[0].Value
			}
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

const dayMillis = 86_400_000

// tools makes n events of one session each, from a time on, the next one a step later.
func tools(n int, from time.Time, step time.Duration) []event.Incoming {
	list := make([]event.Incoming, n)
	for i := range list {
		list[i] = event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeTool, Name: "x",
			Start: float64(from.Add(time.Duration(i) * step).UnixMilli())}}
		list[i].Complete(from)
	}
	return list
}

// What a project sends for far days makes another project's write no more work than before, makes
// no partition for each of its times, and leaves nothing when it is deleted.
func TestFarDaysHurtNobody(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, place storetest.Place) {
		ctx := t.Context()
		now := time.Now()
		wide := store.Options{Window: event.Window{Oldest: time.UnixMilli(0), Ahead: 24 * time.Hour}}
		watchedWide, meter := watched(wide)
		s := place.Open(t, watchedWide)
		project := func(name string) int64 {
			p, err := s.EnsureProject(ctx, name)
			if err != nil {
				t.Fatal(err)
			}
			return p.ID
		}
		a, b := project("a"), project("b")
		put := func(project int64, events []event.Incoming) {
			t.Helper()
			if err := s.Put(ctx, project, event.Batch{Events: events}); err != nil {
				t.Fatal(err)
			}
		}
		cost := func(events int) int64 {
			t.Helper()
			list := tools(events, now, time.Millisecond)
			before := observed(t, meter, "spangrove_store_statements")
			put(a, list)
			return observed(t, meter, "spangrove_store_statements") - before
		}
		// least leaves out what the store does by itself meanwhile.
		least := func() int64 {
			t.Helper()
			got := cost(50)
			for range 4 {
				got = min(got, cost(50))
			}
			return got
		}
		cost(50)
		usual := least()
		far := 10_000
		if testing.Short() {
			far = 2000
		}
		var sent []event.Incoming
		for i := 0; i < far; i += 2000 {
			list := tools(2000, time.UnixMilli(dayMillis).Add(time.Duration(i)*24*time.Hour), 24*time.Hour)
			put(b, list)
			sent = append(sent, list...)
		}
		check := func(when string) {
			t.Helper()
			// What was stored is sealed now, and not while statements are counted.
			if err := s.Seal(ctx); err != nil {
				t.Fatal(err)
			}
			cost(1) // what is kept in memory
			if got := least(); got > usual+10 {
				t.Errorf("%s: a write of the neighbour takes %d statements, %d before", when, got, usual)
			}
			again := sent[:20]
			before := observed(t, meter, "spangrove_store_statements")
			put(b, again)
			if got := observed(t, meter, "spangrove_store_statements") - before; got > 20*20 {
				t.Errorf("%s: 20 events that are known take %d statements", when, got)
			}
			for _, i := range []int{0, far / 2, far - 1} {
				if _, err := s.Event(ctx, b, sent[i].ID); err != nil {
					t.Errorf("%s: event %d: %v", when, i, err)
				}
			}
			if n := place.Count(t, fmt.Sprintf(`SELECT count(*) FROM event WHERE project_id = %d`, b)); n != 2*far {
				t.Errorf("%s: %d rows of events and their sessions, want %d", when, n, 2*far)
			}
		}
		check("stored")
		if n := observed(t, meter, "spangrove_store_id_filters"); n > 1000 {
			t.Errorf("%d filters", n)
		}
		if place.Shared() {
			if n := place.Count(t, `SELECT count(*) FROM pg_inherits WHERE inhparent = 'event'::regclass`); n > 16 {
				t.Errorf("%d partitions", n)
			}
		}
		if err := s.Close(ctx); err != nil {
			t.Fatal(err)
		}
		watchedWide, meter = watched(wide)
		s = place.Open(t, watchedWide)
		check("opened again")

		gone, err := s.DeleteProject(ctx, b)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-gone:
		case <-time.After(5 * time.Minute):
			t.Fatal("the project's data is not deleted")
		}
		s.Tidy(ctx)
		if place.Shared() {
			if n := place.Count(t, `SELECT count(*) FROM pg_inherits WHERE inhparent = 'event'::regclass`); n > 3 {
				t.Errorf("%d partitions after the deletion", n)
			}
			if n := observed(t, meter, "spangrove_store_id_filters"); n > 3*28 {
				t.Errorf("%d filters after the deletion", n)
			}
		} else {
			if n := observed(t, meter, "spangrove_store_id_filters"); n > 2 {
				t.Errorf("%d filters after the deletion", n)
			}
			if n := place.Count(t, `SELECT (SELECT count(*) FROM far_event) + (SELECT count(*) FROM id_filter_day)`); n > 2 {
				t.Errorf("%d rows that tell where events are, after the deletion", n)
			}
		}
		cost(1) // what is kept in memory
		if got := least(); got > usual+10 {
			t.Errorf("deleted: a write of the neighbour takes %d statements, %d before", got, usual)
		}
	})
}

// Days whose filters do not fit are looked at by id, and not one by one.
func TestFiltersThatDoNotFit(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	clock := storetest.NewClock(time.Now().Add(-400 * 24 * time.Hour)) // which goes on day by day
	place := sqlitePlace{dir: t.TempDir()}
	o, meter := watched(store.Options{Now: clock.Now, IDFilterBytes: 4 << 10})
	s := place.Open(t, o)
	p, err := s.EnsureProject(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	var sent []event.Incoming
	put := func(events []event.Incoming) {
		t.Helper()
		if err := s.Put(ctx, p.ID, event.Batch{Events: events}); err != nil {
			t.Fatal(err)
		}
	}
	days := 300
	if testing.Short() {
		days = 100
	}
	for range days {
		list := tools(5, clock.Now(), time.Millisecond)
		put(list)
		sent = append(sent, list...)
		clock.Add(24 * time.Hour)
	}
	s.Tidy(ctx)
	if n := place.Count(t, `SELECT count(*) FROM id_filter_day`); n > 64 {
		t.Errorf("%d days are still looked at by themselves", n)
	}
	least := int64(math.MaxInt64) // on a busy machine those of background work are among them
	for range 3 {
		before := observed(t, meter, "spangrove_store_statements")
		put(tools(10, clock.Now(), time.Millisecond))
		least = min(least, observed(t, meter, "spangrove_store_statements")-before)
	}
	if least > 10*50 {
		t.Errorf("ten events take %d statements", least)
	}
	for range 2 {
		rows := place.Count(t, `SELECT count(*) FROM event`)
		put(sent)
		if n := place.Count(t, `SELECT count(*) FROM event`); n != rows {
			t.Errorf("%d rows after a repeat, want %d", n, rows)
		}
		for i := range sent {
			if _, err := s.Event(ctx, p.ID, sent[i].ID); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(ctx); err != nil {
			t.Fatal(err)
		}
		s = place.Open(t, store.Options{Now: clock.Now})
	}
}
