package run

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/google/uuid"
)

// PairQuery asks for a page of pairs of events of two runs.
type PairQuery struct {
	EventName, EventType string // "" for any
	ByFilter             bool   // filters say by name or type which events are meant
	Limit, Page          int
}

// Type returns the type of the events to pair, "" for any: sessions where neither the query nor a filter names any.
func (q *PairQuery) Type() string {
	if q.EventType == "" && q.EventName == "" && !q.ByFilter {
		return sessionType
	}
	return q.EventType
}

// Pair is an event of a new run and its like in an old one, about one datapoint.
type Pair struct {
	Datapoint string
	New, Old  uuid.UUID
}

// Place is an event's place among those of a run, which are in order of start time.
type Place struct {
	Start float64 // Unix milliseconds
	ID    uuid.UUID
}

// Compare orders places by start time, those of the same time by id.
func (a Place) Compare(b Place) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), bytes.Compare(a.ID[:], b.ID[:]))
}

// Pairable is an event of a run that may be paired.
type Pairable struct {
	Place
	Session   uuid.UUID // the event's own id for a session event
	Datapoint string
	Kind      Kind
}

// pairKey is what two events of a pair have in common.
type pairKey struct {
	datapoint string
	kind      Kind
}

func (e *Pairable) key() pairKey {
	k := pairKey{e.Datapoint, e.Kind}
	if e.ID == e.Session {
		k.kind.Name = "" // that of a session is its run's
	}
	return k
}

// Pairs pairs the events of two runs that are about the same datapoint and of the same kind, the
// first with the first and so on, in the order of the new run. It returns the query's page of the
// pairs and counts all. It sorts both lists.
func (q *PairQuery) Pairs(newEvents, oldEvents []Pairable) (pairs []Pair, total int) {
	byPlace := func(a, b Pairable) int { return a.Place.Compare(b.Place) }
	slices.SortFunc(newEvents, byPlace)
	slices.SortFunc(oldEvents, byPlace)
	waiting := map[pairKey][]uuid.UUID{}
	for i := range oldEvents {
		k := oldEvents[i].key()
		waiting[k] = append(waiting[k], oldEvents[i].ID)
	}
	skip := (q.Page - 1) * q.Limit
	for i := range newEvents {
		e := &newEvents[i]
		k := e.key()
		others := waiting[k]
		if len(others) == 0 {
			continue
		}
		waiting[k] = others[1:]
		if total >= skip && len(pairs) < q.Limit {
			pairs = append(pairs, Pair{Datapoint: e.Datapoint, New: e.ID, Old: others[0]})
		}
		total++
	}
	return pairs, total
}
