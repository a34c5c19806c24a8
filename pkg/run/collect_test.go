package run

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

func at(start float64, n byte) Place { return Place{Start: start, ID: id(n)} }

func TestCollectorOrdersByStart(t *testing.T) {
	t.Parallel()
	chat := Kind{Name: "chat", Type: "model"}
	root := Kind{Name: "root", Type: sessionType}
	c := NewCollector()
	c.Add(at(30, 1), Scored{id(101), chat, raw(`{"m":3}`)}, nil, true)
	c.Add(at(10, 2), Scored{id(102), chat, raw(`{"m":1}`)}, nil, true)
	c.Add(at(5, 3), Scored{id(101), root, nil}, nil, false) // the session is the earlier one by this
	c.Add(at(10, 0), Scored{id(102), chat, raw(`{"m":0}`)}, nil, true)
	c.Add(at(20, 4), Scored{id(103), root, raw(`{}`)}, nil, true)      // in the run, but without scores
	c.Add(at(1, 5), Scored{id(104), chat, raw(`{"m":9}`)}, nil, false) // does not match
	got := c.Scores()
	want := &Scores{
		Events:     []Scored{{id(102), chat, raw(`{"m":0}`)}, {id(102), chat, raw(`{"m":1}`)}, {id(101), chat, raw(`{"m":3}`)}},
		Sessions:   []uuid.UUID{id(101), id(102), id(103)},
		Datapoints: map[uuid.UUID]string{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestCollectorCopiesMetrics(t *testing.T) {
	t.Parallel()
	c := NewCollector()
	buffer := raw(`{"m":1}`)
	c.Add(at(1, 1), Scored{id(101), Kind{}, buffer}, nil, true)
	buffer[5] = '2'
	if got := string(c.Scores().Events[0].Metrics); got != `{"m":1}` {
		t.Errorf("the metrics became %s", got)
	}
}

func TestCollectorNamesDatapoints(t *testing.T) {
	t.Parallel()
	chat, root := Kind{Type: "model"}, Kind{Type: sessionType}
	c := NewCollector()
	// The session event decides, before and after others; a number is no name.
	c.Add(at(1, 1), Scored{Session: id(101), Kind: chat}, raw(`{"datapoint_id":"other"}`), true)
	c.Add(at(2, 101), Scored{Session: id(101), Kind: root}, raw(`{"datapoint_id":"its own"}`), true)
	c.Add(at(3, 3), Scored{Session: id(101), Kind: chat}, raw(`{"datapoint_id":"other"}`), true)
	c.Add(at(4, 4), Scored{Session: id(102), Kind: root}, raw(`{"datapoint_id":7}`), true)
	c.Add(at(6, 6), Scored{Session: id(103), Kind: chat}, raw(`{"datapoint_id":"scored later"}`), true)
	c.Add(at(5, 5), Scored{Session: id(103), Kind: chat}, raw(`{"datapoint_id":"scored"}`), false)
	c.Add(at(7, 7), Scored{Session: id(103), Kind: chat}, raw(`{"datapoint_id":"scored later"}`), true)
	sessions := []uuid.UUID{id(101), id(102), id(103), id(104)}
	if got, want := c.Unnamed(sessions), []uuid.UUID{id(102), id(104)}; !slices.Equal(got, want) {
		t.Errorf("without a datapoint are %v, want %v", got, want)
	}
	// Of the events without scores, the earliest that names one, whichever comes first.
	c.AddUnscored(at(9, 6), id(102), raw(`{"datapoint_id":"late"}`))
	c.AddUnscored(at(7, 7), id(102), raw(`{"datapoint_id":"early"}`))
	c.AddUnscored(at(8, 8), id(102), raw(`{"datapoint_id":"between"}`))
	c.AddUnscored(at(6, 9), id(102), raw(`{}`))
	want := map[uuid.UUID]string{id(101): "its own", id(102): "early", id(103): "scored"}
	if diff := cmp.Diff(want, c.Scores().Datapoints); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestPairs(t *testing.T) {
	t.Parallel()
	chat := Kind{Name: "chat", Type: "model"}
	newEvents := []Pairable{
		{at(5, 4), id(4), "a", Kind{Name: "new run", Type: sessionType}},
		{at(3, 2), id(101), "a", chat},
		{at(1, 1), id(101), "a", chat},
		{at(4, 3), id(101), "a", chat}, // a third, which the old run has not
		{at(2, 5), id(101), "b", chat},
		{at(6, 6), id(101), "c", chat},                             // not in the old run
		{at(7, 7), id(102), "b", Kind{Name: "chat", Type: "tool"}}, // of another type
	}
	oldEvents := []Pairable{
		{at(2, 12), id(101), "a", chat},
		{at(2, 11), id(101), "a", chat}, // at the same time: by id
		{at(9, 15), id(101), "b", chat},
		{at(1, 10), id(10), "a", Kind{Name: "old run", Type: sessionType}}, // the name of a session plays no part
	}
	all := []Pair{{"a", id(1), id(11)}, {"b", id(5), id(15)}, {"a", id(2), id(12)}, {"a", id(4), id(10)}}
	for _, tt := range []struct {
		limit, page int
		want        []Pair
	}{{10, 1, all}, {3, 1, all[:3]}, {3, 2, all[3:]}, {3, 3, nil}} {
		q := PairQuery{Limit: tt.limit, Page: tt.page}
		got, total := q.Pairs(slices.Clone(newEvents), slices.Clone(oldEvents))
		if diff := cmp.Diff(tt.want, got); diff != "" || total != len(all) {
			t.Errorf("page %d of %d: %d pairs in all, want %d (-want +got)\n%s", tt.page, tt.limit, total, len(all), diff)
		}
	}
}

func TestPairQueryType(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, typ, want string }{
		{"", "", "session"}, {"chat", "", ""}, {"", "model", "model"}, {"chat", "tool", "tool"},
	} {
		q := PairQuery{EventName: tt.name, EventType: tt.typ}
		if got := q.Type(); got != tt.want {
			t.Errorf("name %q and type %q pair the type %q, want %q", tt.name, tt.typ, got, tt.want)
		}
	}
}
