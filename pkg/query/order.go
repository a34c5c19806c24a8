package query

import (
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Place is an event's or a session's place in an order: what it is sorted by, and its id, which decides among equals.
type Place struct {
	Value float64
	ID    uuid.UUID
}

// EventSort is what events are sorted by.
type EventSort string

// The orders of events, by the names that the orders of sessions have. An event without a cost or a number of tokens counts as 0; so
// does a session's event, since its totals are no fields of its own.
const (
	EventsByStart    = EventSort(SortStart)
	EventsByDuration = EventSort(SortDuration)
	EventsByCost     = EventSort(SortCost)
	EventsByTokens   = EventSort(SortTokens)
)

// EventSorts lists the orders.
func EventSorts() []EventSort {
	return []EventSort{EventsByStart, EventsByDuration, EventsByCost, EventsByTokens}
}

// Column returns the column of event e that has the order; "" if none has: the value is in the metadata then.
func (s EventSort) Column() string {
	switch s {
	case "", EventsByStart:
		return "e.start_ms"
	case EventsByDuration:
		return "e.duration"
	}
	return ""
}

// Value returns what an event is sorted by. Its metadata must be whole where the order has no column.
func (s EventSort) Value(e *event.Event) float64 {
	switch s {
	case "", EventsByStart:
		return e.Start
	case EventsByDuration:
		return e.Duration
	}
	if e.IsSession() {
		return 0
	}
	key := "cost"
	if s == EventsByTokens {
		key = "total_tokens"
	}
	n, _ := rawjson.Number(rawjson.Get(e.Metadata, key))
	return n
}
