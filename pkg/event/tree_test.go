package event

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

func TestBelow(t *testing.T) {
	t.Parallel()
	id := func(n byte) uuid.UUID { return uuid.UUID{15: n} }
	session := id(1)
	// 1 the session, 2(3(5) 4), 6 below an unknown event, 7 and 8 below each other.
	var list []Event
	for _, e := range []struct{ id, parent byte }{{3, 2}, {5, 3}, {1, 0}, {4, 2}, {2, 1}, {6, 99}, {7, 8}, {8, 7}} {
		list = append(list, Event{ID: id(e.id), ParentID: id(e.parent), SessionID: session, Start: float64(e.id)})
	}
	for _, tt := range []struct {
		events []Event
		at     uuid.UUID
		want   string
	}{
		{list, session, "12354678"},
		{list, uuid.Nil, "12354678"},
		{list, id(2), "2354"},
		{list, id(5), "5"},
		{list, id(7), "78"},
		{list, id(8), "8"},
		{list, id(99), ""},
		{list[:2], uuid.Nil, "35"},
		{list[:2], session, ""},
		{nil, uuid.Nil, ""},
	} {
		got := ""
		for _, i := range Below(tt.events, tt.at) {
			got += string('0' + rune(tt.events[i].ID[15]))
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%d events at %s (-want +got):\n%s", len(tt.events), tt.at, d)
		}
	}
}
