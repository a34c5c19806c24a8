package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/store"
)

// TestPostgresDoctor damages what PostgreSQL alone has, and mends beside a server that goes on storing events.
func TestPostgresDoctor(t *testing.T) {
	t.Parallel()
	place := newPostgresPlace(t)
	s := place.Open(t, store.Options{})
	p, err := s.EnsureProject(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	put := func() error {
		e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeTool, Name: "a", Inputs: []byte(`{"q":"text"}`), Start: float64(time.Now().UnixMilli())}}
		e.Complete(time.Now())
		return s.Put(t.Context(), p.ID, event.Batch{Events: []event.Incoming{e}})
	}
	for range 20 {
		if err := put(); err != nil {
			t.Fatal(err)
		}
	}
	found := func(o store.DoctorOptions) (list []string) {
		t.Helper()
		o.Full = true
		report, err := place.Doctor(t, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range report.Findings {
			if line := fmt.Sprint(f.Severity, " ", f.Check); f.Severity != diagnosis.OK && !slices.Contains(list, line) && f.Check != "connections" {
				list = append(list, line)
			}
		}
		return list
	}
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			case <-time.After(10 * time.Millisecond):
			}
			if err := put(); err != nil {
				stopped <- err
				return
			}
		}
	}()
	want := func(what string, want ...string) {
		t.Helper()
		if list := found(store.DoctorOptions{}); !slices.Equal(list, want) {
			t.Errorf("%s: found %q, want %q", what, list, want)
		}
	}
	mended := func(what string) {
		t.Helper()
		if list := found(store.DoctorOptions{Mend: true}); len(list) > 0 {
			t.Errorf("%s: left after mending: %q", what, list)
		}
	}
	want("nothing wrong")
	place.Exec(t, `UPDATE session SET num_events = num_events + 5`)
	want("totals", "error totals")
	mended("totals")
	place.Exec(t, `UPDATE event_count SET count = count + 5 WHERE type = 4`)
	want("counts", "error counts")
	mended("counts")
	place.Exec(t, `UPDATE segment_column SET data = '\x00'`)
	// An event that is being stored may wake the background, which builds what it finds damaged.
	if list := found(store.DoctorOptions{Mend: true}); len(list) > 0 {
		t.Errorf("segments: left after mending: %q", list)
	}
	place.Exec(t, `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'session_run'::regclass`)
	want("an index that is not valid", "error objects")
	mended("an index that is not valid")
	place.Exec(t, `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'event_run'::regclass`)
	want("a partitioned index that is not valid", "error objects")
	mended("a partitioned index that is not valid")
	place.Exec(t, `ALTER TABLE event DISABLE TRIGGER USER`)
	want("triggers that are switched off", "error objects")
	mended("triggers that are switched off")
	close(stop)
	if err := <-stopped; err != nil {
		t.Errorf("events could not be stored meanwhile: %v", err)
	}

	// A partition that nobody uses.
	old := place.Count(t, `SELECT (value::int + 28) FROM setting WHERE name = 'archive_before'`)
	place.Exec(t, fmt.Sprintf(`CREATE TABLE event_d%[1]d PARTITION OF event FOR VALUES FROM (%[1]d) TO (%[1]d + 28)`, old))
	want("a partition of events alone", "error partitions")
	mended("a partition of events alone")
	place.Exec(t, fmt.Sprintf(`ALTER TABLE event DETACH PARTITION event_d%d`, old))
	want("a detached partition", "error partitions")
	place.Exec(t, fmt.Sprintf(`DROP TABLE event_d%[1]d; DROP TABLE chunk_d%[1]d`, old))
	place.Exec(t, `CREATE TABLE event_rest PARTITION OF event DEFAULT`)
	want("a default partition", "warn partitions")
	place.Exec(t, `DROP TABLE event_rest`)
	place.Exec(t, `ALTER SEQUENCE event_seq MAXVALUE 1000000`)
	place.Exec(t, `SELECT setval('event_seq', 900000)`)
	want("a sequence near its end", "error sequences")
	place.Exec(t, `ALTER SEQUENCE event_seq NO MAXVALUE`)

	// The settings of the doctor's own connections show what a server would meet.
	dsn := place.dsn + "&synchronous_commit=off"
	report, err := store.DoctorPostgres(t.Context(), dsn, store.DoctorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(report.Findings, func(f diagnosis.Finding) bool { return f.Check == "settings" })
	if f := report.Findings[i]; f.Severity != diagnosis.Warn || !strings.Contains(f.Text, "synchronous_commit is off") {
		t.Errorf("synchronous_commit off: %+v", f)
	}
	if strings.Contains(report.Place, "synchronous") || !strings.HasPrefix(report.Place, "PostgreSQL ") {
		t.Errorf("place %q", report.Place)
	}
}
