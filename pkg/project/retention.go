package project

import (
	"math"
	"strings"

	"github.com/spangrove/spangrove/pkg/fault"
)

// Retention is a project's own rule of how long its events are kept. A field that is nil is not set, and the
// server's default holds; 0 keeps for good. See RetentionRule for what each of them means.
type Retention struct {
	EventDays    *int64 `json:"event_days,omitempty"`
	PayloadDays  *int64 `json:"payload_days,omitempty"`
	Bytes        *int64 `json:"bytes,omitempty"`
	PayloadFirst *bool  `json:"payload_first,omitempty"`
}

// RetentionRule is the rule of a project that applies: its own, and the server's where it has none. The zero value
// keeps everything.
//
// Days are whole days in UTC: with n of them, what happened today and on the n days before is kept.
type RetentionRule struct {
	// EventDays is for how many days sessions are kept, with their events and all that is recorded of these. A session
	// goes as a whole, when its last event is older.
	EventDays int64 `json:"event_days"`
	// PayloadDays is for how many days the payload of an event is kept: inputs, outputs, config, and the attributes of
	// its span that are stored with them. The rest of the event stays.
	PayloadDays int64 `json:"payload_days"`
	// Bytes is how many bytes the project's events may take, as Usage counts them. Past it, sessions go, those whose last
	// events are the oldest first.
	Bytes int64 `json:"bytes"`
	// PayloadFirst says that for Bytes the oldest payloads go before any session.
	PayloadFirst bool `json:"payload_first"`
}

// Keeps reports whether the rule keeps everything.
func (r RetentionRule) Keeps() bool { return r.EventDays == 0 && r.PayloadDays == 0 && r.Bytes == 0 }

// Over returns the rule that applies, with that of defaults where r says nothing.
func (r *Retention) Over(defaults RetentionRule) RetentionRule {
	rule := defaults
	override(&rule.EventDays, r.EventDays)
	override(&rule.PayloadDays, r.PayloadDays)
	override(&rule.Bytes, r.Bytes)
	override(&rule.PayloadFirst, r.PayloadFirst)
	return rule
}

// retentionNames are the names of the members of a rule in requests, in the order in which they are shown.
var retentionNames = []string{"event_days", "payload_days", "bytes"}

// maxRetentionDays is a hundred years.
const maxRetentionDays = 36_500

// Set sets the number of this name, which is all but PayloadFirst; nil resets it to the server's default. fault.Invalid if there is no such member or
// the value cannot be one.
func (r *Retention) Set(name string, value *float64) error {
	switch name {
	case "event_days":
		return setDays(&r.EventDays, value)
	case "payload_days":
		return setDays(&r.PayloadDays, value)
	case "bytes":
		return setLimit(&r.Bytes, value)
	}
	return fault.New(fault.Invalid, "unknown; must be one of %s, payload_first", strings.Join(retentionNames, ", "))
}

func setDays(to **int64, value *float64) error {
	if value != nil && !(*value >= 0 && *value <= maxRetentionDays) {
		return fault.New(fault.Invalid, "must be between 0 and %d", maxRetentionDays)
	}
	return setLimit(to, value)
}

// Validate reports the first member that cannot be one, as a fault.Invalid naming the field.
func (r *RetentionRule) Validate() error {
	for i, days := range []int64{r.EventDays, r.PayloadDays} {
		if days < 0 || days > maxRetentionDays {
			return fault.InvalidField(retentionNames[i], "must be between 0 and %d", maxRetentionDays)
		}
	}
	if r.Bytes < 0 || r.Bytes > maxLimit {
		return fault.InvalidField("bytes", "must be between 0 and %d", int64(maxLimit))
	}
	if r.EventDays > 0 && r.PayloadDays > r.EventDays {
		return fault.InvalidField("payload_days", "must not be more than event_days, which is %d", r.EventDays)
	}
	return nil
}

// dayMillis is the length of a day.
const dayMillis = 86_400_000

// KeptFrom returns the begin, in Unix milliseconds, of the first day that is kept if days are kept until now, also in
// Unix milliseconds. What is older goes.
func KeptFrom(days int64, now float64) float64 {
	return (math.Floor(now/dayMillis) - float64(days)) * dayMillis
}
