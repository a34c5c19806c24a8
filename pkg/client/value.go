package client

import (
	"encoding/json"
	"math"
	"reflect"
	"time"

	"github.com/google/uuid"
)

// Object is a JSON object. In what the client reads, its numbers are json.Number, so that they
// keep all their digits; Float reads one. In what the client sends they may be anything that
// encoding/json takes.
type Object = map[string]any

// Float returns the number that v is: a json.Number, or any of Go's numbers.
func Float(v any) (float64, bool) {
	if n, ok := v.(json.Number); ok {
		f, err := n.Float64()
		return f, err == nil
	}
	switch n := reflect.ValueOf(v); {
	case n.CanInt():
		return float64(n.Int()), true
	case n.CanUint():
		return float64(n.Uint()), true
	case n.CanFloat():
		return n.Float(), true
	}
	return 0, false
}

// Millis returns t as the API has times: Unix milliseconds with a fraction. 0 for the zero time.
func Millis(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) + float64(t.Nanosecond()%1e6)/1e6
}

// Time returns the time of Unix milliseconds, in UTC and whole microseconds, which is as exact as
// today's milliseconds are in a double; the zero time for 0, which the API has for no time.
func Time(millis float64) time.Time {
	if millis == 0 {
		return time.Time{}
	}
	whole, fraction := math.Modf(millis)
	return time.UnixMilli(int64(whole)).Add(time.Duration(math.Round(fraction*1e3)) * time.Microsecond).UTC()
}

// Ptr returns a pointer to v, for the fields of updates.
func Ptr[T any](v T) *T { return &v }

// newID returns an id for what the client creates, so that a repeated request is known as the same.
// It begins with the time, so that ids made one after the other lie together in the store.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// newSessionID returns an id for a session that the client starts: a UUID of version 4.
func newSessionID() string { return uuid.NewString() }
