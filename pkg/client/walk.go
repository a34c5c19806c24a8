package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"time"
)

// maxEvents is the largest page of events that the server gives.
const maxEvents = 1000

// All walks over all events that a query chooses, newest first. It goes on from the start time
// it has come to and not by the number of a page, so that events that come in meanwhile neither
// move nor hide others: each event that was there at the beginning and is not deleted comes once;
// one that comes in meanwhile comes if it starts before the place where the walk is.
//
// Limit is how many events are read at a time; a page that is too large for the client's bound
// is read in smaller ones. The number of the page does not count. Last is taken by this
// machine's clock when the walk begins. Projections have start_time in any case.
func (s *EventService) All(ctx context.Context, q EventQuery) iter.Seq2[Event, error] {
	return walk(q, pages[Event](ctx, s.c), func(e *Event) (string, float64, error) { return e.EventID, e.StartTime, nil })
}

// AllRaw is All with each event as the JSON text that the server sent.
func (s *EventService) AllRaw(ctx context.Context, q EventQuery) iter.Seq2[json.RawMessage, error] {
	return walk(q, pages[json.RawMessage](ctx, s.c), func(text *json.RawMessage) (string, float64, error) {
		var e struct {
			ID    string  `json:"event_id"`
			Start float64 `json:"start_time"`
		}
		err := json.Unmarshal(*text, &e)
		return e.ID, e.Start, err
	})
}

// pages reads pages of events, newest first.
func pages[T any](ctx context.Context, c *Client) func(wireQuery) ([]T, error) {
	return func(q wireQuery) ([]T, error) {
		list, err := events[T](ctx, c, "/v1/events/export", q)
		if err != nil {
			return nil, err
		}
		return list.Items, nil
	}
}

// walk reads pages that end where the one before came to. place gives an event's id and start.
func walk[T any](q EventQuery, read func(wireQuery) ([]T, error), place func(*T) (string, float64, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		fail := func(err error) { var none T; yield(none, err) }
		body := q.wire()
		if len(q.Projections) > 0 && !slices.Contains(q.Projections, "start_time") {
			body.Projections = append(slices.Clone(q.Projections), "start_time")
		}
		from, to, err := q.DateRange.Bounds(time.Now())
		if err != nil {
			fail(err)
			return
		}
		r := bounds{Millis(from), Millis(to)} // which no longer move with the time
		full := q.Limit
		if full <= 0 || full > maxEvents {
			full = maxEvents
		}
		body.Limit, body.Page = full, 1
		at := math.Inf(1)         // where the walk is: no event after it is to come
		done := map[string]bool{} // events that start at this time and have come
		for {
			body.DateRange = r
			list, err := read(body)
			if errors.Is(err, ErrTooLarge) && body.Limit > 1 {
				body.Limit, body.Page = body.Limit/2, 1
				continue
			}
			if err != nil {
				fail(err)
				return
			}
			for i := range list {
				id, start, err := place(&list[i])
				if err != nil {
					fail(err)
					return
				}
				if start > at || done[id] {
					continue
				}
				if start < at {
					at = start
					clear(done)
				}
				done[id] = true
				if !yield(list[i], nil) {
					return
				}
			}
			switch {
			case len(list) < body.Limit:
				return
			case r.To == 0 || at < r.To:
				r.To, body.Page, body.Limit = at, 1, min(full, 2*body.Limit)
			default: // there are more at this time than a page holds
				body.Page++
			}
		}
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
