package project

import (
	"math"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/fault"
)

// Limits are a project's own bounds on what it may use. A field that is nil is not set, and the
// server's default holds; 0 lifts the bound. See Bounds for what each of them means.
type Limits struct {
	RequestsPerSecond    *float64 `json:"requests_per_second,omitempty"`
	RequestBurst         *int64   `json:"request_burst,omitempty"`
	KeyRequestsPerSecond *float64 `json:"key_requests_per_second,omitempty"`
	KeyRequestBurst      *int64   `json:"key_request_burst,omitempty"`
	BytesPerSecond       *int64   `json:"bytes_per_second,omitempty"`
	ByteBurst            *int64   `json:"byte_burst,omitempty"`
	StoredBytes          *int64   `json:"stored_bytes,omitempty"`
	EvaluationSlots      *int64   `json:"evaluation_slots,omitempty"`
	JudgeUSDPerDay       *float64 `json:"judge_usd_per_day,omitempty"`
}

// Bounds are the limits of a project that apply: its own, and the server's where it has
// none. 0 is no bound, and for a burst as many as one second brings. What is over a bound is
// refused as fault.Limited: for the rates and for stored bytes until there is room again.
type Bounds struct {
	// RequestsPerSecond is how many requests a second the keys of the project may make together,
	// of every sort, on every listener; RequestBurst is how many may come at once.
	RequestsPerSecond float64 `json:"requests_per_second"`
	RequestBurst      int64   `json:"request_burst"`
	// KeyRequestsPerSecond and KeyRequestBurst are the same for each single key.
	KeyRequestsPerSecond float64 `json:"key_requests_per_second"`
	KeyRequestBurst      int64   `json:"key_request_burst"`
	// BytesPerSecond is how many bytes of request bodies a second the project may send, counted
	// after decompression; ByteBurst is how many may come at once.
	BytesPerSecond int64 `json:"bytes_per_second"`
	ByteBurst      int64 `json:"byte_burst"`
	// StoredBytes is how much the project may have stored. Past it nothing more is stored, while
	// reading and deleting go on.
	StoredBytes int64 `json:"stored_bytes"`
	// EvaluationSlots is how many evaluations of the project may run at once, those that
	// requests wait for included. Others wait for their turn.
	EvaluationSlots int64 `json:"evaluation_slots"`
	// JudgeUSDPerDay is what the models that judge for the project may cost a UTC day, in US
	// dollars, all providers together.
	JudgeUSDPerDay float64 `json:"judge_usd_per_day"`
}

// DefaultBounds returns the limits of a project where neither it nor the server's configuration says
// anything: more than an honest application needs, and too little to stop the others.
func DefaultBounds() Bounds {
	return Bounds{
		RequestsPerSecond: 5000, RequestBurst: 20_000,
		BytesPerSecond: 64 << 20, ByteBurst: 512 << 20,
		StoredBytes:    100 << 30,
		JudgeUSDPerDay: 100,
	}
}

// Over returns the limits that apply, with those of defaults where l has none.
func (l *Limits) Over(defaults Bounds) Bounds {
	b := defaults
	override(&b.RequestsPerSecond, l.RequestsPerSecond)
	override(&b.RequestBurst, l.RequestBurst)
	override(&b.KeyRequestsPerSecond, l.KeyRequestsPerSecond)
	override(&b.KeyRequestBurst, l.KeyRequestBurst)
	override(&b.BytesPerSecond, l.BytesPerSecond)
	override(&b.ByteBurst, l.ByteBurst)
	override(&b.StoredBytes, l.StoredBytes)
	override(&b.EvaluationSlots, l.EvaluationSlots)
	override(&b.JudgeUSDPerDay, l.JudgeUSDPerDay)
	return b
}

func override[T any](bound *T, own *T) {
	if own != nil {
		*bound = *own
	}
}

// limitNames are the names of the limits in requests, in the order in which they are shown.
var limitNames = []string{"requests_per_second", "request_burst", "key_requests_per_second", "key_request_burst",
	"bytes_per_second", "byte_burst", "stored_bytes", "evaluation_slots", "judge_usd_per_day"}

// LimitNames lists the names that Set knows.
func LimitNames() []string { return slices.Clone(limitNames) }

// maxLimit is the largest value of a limit: up to it doubles are exact.
const maxLimit = 1 << 53

// Set sets the limit of this name; nil resets it to the server's default. fault.Invalid if
// there is no such limit or the value cannot be one.
func (l *Limits) Set(name string, value *float64) error {
	switch name {
	case "requests_per_second":
		return setLimit(&l.RequestsPerSecond, value)
	case "request_burst":
		return setLimit(&l.RequestBurst, value)
	case "key_requests_per_second":
		return setLimit(&l.KeyRequestsPerSecond, value)
	case "key_request_burst":
		return setLimit(&l.KeyRequestBurst, value)
	case "bytes_per_second":
		return setLimit(&l.BytesPerSecond, value)
	case "byte_burst":
		return setLimit(&l.ByteBurst, value)
	case "stored_bytes":
		return setLimit(&l.StoredBytes, value)
	case "evaluation_slots":
		return setLimit(&l.EvaluationSlots, value)
	case "judge_usd_per_day":
		return setLimit(&l.JudgeUSDPerDay, value)
	}
	return fault.New(fault.Invalid, "unknown limit; must be one of %s", strings.Join(limitNames, ", "))
}

func setLimit[T int64 | float64](to **T, value *float64) error {
	if value == nil {
		*to = nil
		return nil
	}
	n := T(*value)
	switch {
	case math.IsNaN(*value), *value < 0, *value > maxLimit:
		return fault.New(fault.Invalid, "must be between 0 and %d", int64(maxLimit))
	case float64(n) != *value:
		return fault.New(fault.Invalid, "must be a whole number")
	}
	*to = &n
	return nil
}

// Validate reports the first bound that cannot be one, as a fault.Invalid naming the field.
func (b *Bounds) Validate() error {
	for i, v := range []float64{b.RequestsPerSecond, float64(b.RequestBurst), b.KeyRequestsPerSecond, float64(b.KeyRequestBurst),
		float64(b.BytesPerSecond), float64(b.ByteBurst), float64(b.StoredBytes), float64(b.EvaluationSlots), b.JudgeUSDPerDay} {
		if math.IsNaN(v) || v < 0 || v > maxLimit {
			return fault.InvalidField(limitNames[i], "must be between 0 and %d", int64(maxLimit))
		}
	}
	return nil
}
