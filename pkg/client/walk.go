package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"
)

// maxEvents is the largest page of events that the server gives.
const maxEvents = 1000

// All walks over all events that a query chooses, newest first. Each page begins behind the last event of the page before, so that events that come
// in or are deleted meanwhile neither move nor hide others: each event that was there at the beginning and is not deleted comes once;
// one that comes in meanwhile comes if it starts before the place where the walk is.
//
// Limit is how many events are read at a time; a page that is too large for the client's bound
// is read in smaller ones. The number of the page does not count. Last is taken by this
// machine's clock when the walk begins.
func (s *EventService) All(ctx context.Context, q EventQuery) iter.Seq2[Event, error] {
	return walk(q, pages[Event](ctx, s.c))
}

// AllRaw is All with each event as the JSON text that the server sent.
func (s *EventService) AllRaw(ctx context.Context, q EventQuery) iter.Seq2[json.RawMessage, error] {
	return walk(q, pages[json.RawMessage](ctx, s.c))
}

func walk[T any](q EventQuery, read func(EventSearch) (*pageOf[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		from, to, err := q.DateRange.Bounds(time.Now())
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		search := EventSearch{EventQuery: q}
		search.DateRange = DateRange{From: from, To: to} // which no longer moves with the time
		search.Page.Page = 0
		inOrder(search, read)(yield)
	}
}

// inOrder walks over all events of a search from its cursor on.
func inOrder[T any](q EventSearch, read func(EventSearch) (*pageOf[T], error)) iter.Seq2[T, error] {
	q.Uncounted = true
	if q.Limit <= 0 || q.Limit > maxEvents {
		q.Limit = maxEvents
	}
	return func(yield func(T, error) bool) {
		page := q
		follow(q.Cursor, func(cursor string) ([]T, string, error) {
			page.Cursor = cursor
			got, err := read(page)
			for errors.Is(err, ErrTooLarge) && page.Limit > 1 {
				page.Limit /= 2
				got, err = read(page)
			}
			if err != nil {
				return nil, "", err
			}
			page.Limit = min(q.Limit, 2*page.Limit)
			return got.Events, got.NextCursor, nil
		})(yield)
	}
}

// Bounds returns the ends of the range, with Last counted back from now; zero where it is open.
func (r DateRange) Bounds(now time.Time) (from, to time.Time, err error) {
	if r.Last == "" {
		return r.From, r.To, nil
	}
	unit := r.Last[len(r.Last)-1]
	about, known := lastUnits[unit]
	n, err := strconv.Atoi(r.Last[:len(r.Last)-1])
	if err != nil && !errors.Is(err, strconv.ErrRange) || n < 0 || !known {
		return from, to, r.wrong()
	}
	n = min(n, int((maxLastYears+1)*366*24*time.Hour/about)) // a time.Duration ends at 292 years
	switch unit {
	case 'm', 'h':
		from = now.Add(-time.Duration(n) * about)
	case 'd':
		from = now.AddDate(0, 0, -n)
	case 'w':
		from = now.AddDate(0, 0, -7*n)
	case 'M':
		// The same day, or the last of a month that is shorter.
		if from = now.AddDate(0, -n, 0); from.Day() != now.Day() {
			from = from.AddDate(0, 0, -from.Day())
		}
	}
	if from.Before(now.AddDate(-maxLastYears, 0, 0)) {
		return time.Time{}, to, fmt.Errorf("client: the date range %q is longer than %d years", r.Last, maxLastYears)
	}
	return from, to, nil
}

// maxLastYears is how far back the server lets a range up to now reach.
const maxLastYears = 10

// lastUnits are the units of a range up to now, and about how long they are.
var lastUnits = map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour, 'M': 30 * 24 * time.Hour}

func (r DateRange) wrong() error {
	return fmt.Errorf("client: the date range %q is not a whole number with m, h, d, w or M, such as 7d", r.Last)
}
