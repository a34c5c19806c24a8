package store_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store"
)

// An event that was changed has left a payload that it shared with others. What it had there goes with it, by each way in which an event is
// deleted, also where that payload was packed in between.
func TestErasedOfChanged(t *testing.T) {
	t.Parallel()
	for _, packed := range []bool{false, true} {
		name := "/"
		if packed {
			name = " packed/"
		}
		t.Run("SQLite"+name, func(t *testing.T) {
			t.Parallel()
			place := sqlitePlace{dir: t.TempDir()}
			erasedOfChanged(t, place.Open(t, store.Options{PackAfter: -1}), packed, func() []string {
				waitErased(t, place)
				return append(filesWith(t, place.dir, []byte(mark)), place.chunksWith(t, mark)...)
			})
		})
		t.Run("PostgreSQL"+name, func(t *testing.T) {
			t.Parallel()
			place := newPostgresPlace(t)
			erasedOfChanged(t, place.Open(t, store.Options{PackAfter: -1}), packed, func() []string {
				waitDeleted(t, place)
				return rowsWith(t, place, mark)
			})
		})
	}
}

func erasedOfChanged(t *testing.T, s *store.Store, packed bool, found func() []string) {
	t.Helper()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	p, err := s.EnsureProject(t.Context(), "default")
	ok(err)
	session := uuid.New()
	kept, gone := marked("kept", session, 3), marked(mark, session, 3)
	ok(s.Put(t.Context(), p.ID, event.Batch{Events: slices.Concat(kept[:1], gone, kept[1:])})) // in one chunk
	if packed {
		ok(s.Pack(t.Context()))
	}
	for _, e := range slices.Concat(gone, kept[2:]) {
		for _, text := range []string{"first", "second"} {
			_, err := s.Update(t.Context(), p.ID, event.Update{EventID: e.ID, Inputs: []byte(`{"x":"` + text + `"}`), Outputs: []byte(`"` + text + `"`)})
			ok(err)
		}
	}

	ok(s.DeleteEvent(t.Context(), p.ID, gone[0].ID))
	filters, err := query.ParseFilters([]byte(`[{"field":"source","operator":"is","type":"string","value":"`+mark+`"}]`), "filters")
	ok(err)
	q := query.Search{Filters: filters}
	n, err := s.CountEventDeletion(t.Context(), p.ID, q)
	ok(err)
	if n.Events != 2 {
		t.Fatalf("%d events are to be deleted, want 2", n.Events)
	}
	_, done, err := s.DeleteEvents(t.Context(), p.ID, q, n)
	ok(err)
	<-done
	if found := found(); found != nil {
		t.Errorf("the mark is still in %s", found)
	}
	for i, want := range []event.Event{kept[0].Event, kept[1].Event, {Inputs: []byte(`{"x":"second"}`), Outputs: []byte(`"second"`)}} {
		got, err := s.Event(t.Context(), p.ID, kept[i].ID)
		ok(err)
		if string(got.Inputs) != string(want.Inputs) || string(got.Outputs) != string(want.Outputs) {
			t.Errorf("event %d of the same session has inputs %s and outputs %s", i, got.Inputs, got.Outputs)
		}
	}
}
