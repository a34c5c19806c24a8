// Package alert holds alerts: which figure of a project's events is watched, when it is out of bounds, and who is told. It knows when an
// alert is due, what a measurement makes of its state (Status.Step), and what a notice says, and does no I/O.
package alert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Bounds of alerts.
const (
	MaxPerProject = 200
	MaxName       = 200      // characters, also of a metric's name
	MaxText       = 2000     // bytes of a description, an address or a secret
	MaxQuery      = 64 << 10 // bytes of filters
	MaxWindow     = 7 * 24 * 60
	MaxEvery      = 24 * 60
	MaxFor        = 7 * 24 * 60
	MaxEvents     = 1_000_000_000
)

// Alert is one. ID, Created and Updated are the store's to set.
type Alert struct {
	ID          string
	Name        string `doc:"name"`
	Description string `doc:"description,omitzero"`
	Enabled     bool   `doc:"enabled"`

	// What is measured: a saved chart, or a metric, as a chart would show it. Groups of a chart are not told apart, and of its range
	// nothing counts: the window stands for it.
	ChartID string          `doc:"chart_id,omitzero"`
	Metric  string          `doc:"metric,omitzero"` // a field that has numbers, or the name of a metric
	Func    string          `doc:"func,omitzero"`   // an aggregation
	Query   json.RawMessage `doc:"query,omitzero"`  // an array of filters

	Compare   string  `doc:"compare"`   // Value or WeekBefore
	Op        string  `doc:"op"`        // Above or Below
	Threshold float64 `doc:"threshold"` // of WeekBefore percent
	Window    int64   `doc:"window_minutes"`
	Every     int64   `doc:"every_minutes,omitzero"` // 0: see EveryMinutes
	For       int64   `doc:"for_minutes,omitzero"`   // how long it must be out of bounds
	MinEvents int64   `doc:"min_events"`             // with fewer there is no data
	Timezone  string  `doc:"timezone,omitzero"`      // whose clocks say what a week before is; empty: UTC

	TellNoData    bool            `doc:"notify_no_data,omitzero"`
	SilencedUntil int64           `doc:"silenced_until,omitzero"` // Unix milliseconds
	Channels      json.RawMessage `doc:"channels,omitzero"`       // a list of Channel, as Doc writes it

	To      []Channel // what Channels holds
	Status  Status    // the store's to set
	Next    int64     // when it is due, Unix milliseconds; 0: never
	Created int64     // Unix milliseconds
	Updated int64     // of the last change, Unix milliseconds; 0: there was none
}

// What the figure is compared with.
const (
	Value      = "value"       // the threshold
	WeekBefore = "week_before" // the figure of the same window a week earlier; the threshold is a change in percent
)

// The sides of the threshold.
const (
	Above = "above"
	Below = "below"
)

var fields = rawjson.FieldsOf[Alert]()

// New returns an alert with the defaults of a new one.
func New() Alert {
	return Alert{Enabled: true, Compare: Value, Op: Above, Window: 60, MinEvents: -1}
}

// Complete fills in what an alert was not given.
func (a *Alert) Complete() {
	if a.ChartID != "" {
		a.Metric, a.Func, a.Query = "", "", nil
	} else if a.Func == "" {
		a.Func = "average"
	}
	if a.MinEvents < 0 {
		a.MinEvents = MinEventsOf(a.Func)
	}
}

// MinEventsOf returns the default of Alert.MinEvents for an aggregation: 1, or 0 for counts.
func MinEventsOf(how string) int64 {
	if how == "count" {
		return 0 // that nothing came is what it counts
	}
	return 1
}

// Validate reports the first broken rule as a fault.Invalid that names the field.
func (a *Alert) Validate() error {
	switch {
	case strings.TrimSpace(a.Name) == "":
		return fault.InvalidField("name", "is required")
	case utf8.RuneCountInString(a.Name) > MaxName:
		return fault.InvalidField("name", "must be at most %d characters", MaxName)
	case len(a.Description) > MaxText:
		return fault.InvalidField("description", "must be at most %d bytes", MaxText)
	case a.ChartID == "" && a.Metric == "":
		return fault.InvalidField("metric", "is required, or chart_id")
	case utf8.RuneCountInString(a.Metric) > MaxName:
		return fault.InvalidField("metric", "must be at most %d characters", MaxName)
	case len(a.Query) > MaxQuery:
		return fault.InvalidField("query", "must be at most %d bytes", MaxQuery)
	case a.Compare != Value && a.Compare != WeekBefore:
		return fault.InvalidField("compare", "must be %s or %s, not %.40q", Value, WeekBefore, a.Compare)
	case a.Op != Above && a.Op != Below:
		return fault.InvalidField("op", "must be %s or %s, not %.40q", Above, Below, a.Op)
	case math.IsNaN(a.Threshold) || math.IsInf(a.Threshold, 0):
		return fault.InvalidField("threshold", "must be a number")
	case a.Compare == WeekBefore && a.Threshold < 0:
		return fault.InvalidField("threshold", "is a change in percent and must not be negative; op says to which side")
	}
	for _, n := range []struct {
		name          string
		is, from, max int64
	}{
		{"window_minutes", a.Window, 1, MaxWindow},
		{"every_minutes", a.Every, 0, MaxEvery},
		{"for_minutes", a.For, 0, MaxFor},
		{"min_events", a.MinEvents, 0, MaxEvents},
		{"silenced_until", a.SilencedUntil, 0, 1 << 50},
	} {
		if n.is < n.from || n.is > n.max {
			return fault.InvalidField(n.name, "must be between %d and %d, not %d", n.from, n.max, n.is)
		}
	}
	if _, err := a.zone(); err != nil {
		return fault.InvalidField("timezone", "unknown time zone %.60q; names are such as \"Europe/Berlin\"", a.Timezone)
	}
	if len(a.To) > MaxChannels {
		return fault.InvalidField("channels", "must be at most %d", MaxChannels)
	}
	for i := range a.To {
		if err := a.To[i].Validate(); err != nil {
			return fault.In(fmt.Sprintf("channels[%d]", i), err)
		}
	}
	return nil
}

func (a *Alert) zone() (*time.Location, error) {
	if a.Timezone == "Local" {
		return nil, fmt.Errorf("the zone of this machine has no name there")
	}
	return time.LoadLocation(a.Timezone) // UTC for ""
}

// EveryMinutes returns how often the alert is evaluated: as it says, else each minute for a window of an hour or less, and sixty times
// a window for longer ones.
func (a *Alert) EveryMinutes() int64 {
	if a.Every > 0 {
		return a.Every
	}
	return max(1, a.Window/60)
}

// NextDue returns the first time after now at which the alert is due, 0 for never; LastDue the last one that is not after now. Both
// are Unix milliseconds. The times lie on a grid that does not depend on who asks or when.
func (a *Alert) NextDue(now int64) int64 {
	if !a.Enabled {
		return 0
	}
	return a.LastDue(now) + a.EveryMinutes()*minute
}

// LastDue: see NextDue.
func (a *Alert) LastDue(now int64) int64 {
	step := a.EveryMinutes() * minute
	return now - now%step
}

const minute = 60_000 // milliseconds

// Range is a time from From on, before To, in Unix milliseconds.
type Range struct{ From, To int64 }

// Measured returns the window that is measured at a due time, and, if the alert compares weeks, the one a week before: on the clocks of
// its zone, so that it is the same hour of the day also where they were changed since.
func (a *Alert) Measured(at int64) (now Range, before *Range) {
	now = Range{at - a.Window*minute, at}
	if a.Compare != WeekBefore {
		return now, nil
	}
	zone, err := a.zone()
	if err != nil {
		zone = time.UTC
	}
	to := time.UnixMilli(at).In(zone).AddDate(0, 0, -7).UnixMilli()
	return now, &Range{to - a.Window*minute, to}
}

// Reading is what was measured.
type Reading struct {
	At           int64    // the due time, Unix milliseconds
	Value        *float64 // nil: no event has a value
	Events       int64    // that entered
	Before       *float64 // a week before
	EventsBefore int64
	Error        string // why nothing could be measured; empty: it was
}

// Change returns the change against the week before in percent; infinite from 0. ok is false if there is nothing to compare.
func (r *Reading) Change() (percent float64, ok bool) {
	if r.Value == nil || r.Before == nil {
		return 0, false
	}
	diff := *r.Value - *r.Before
	if diff == 0 {
		return 0, true
	}
	if *r.Before == 0 {
		return math.Inf(int(math.Copysign(1, diff))), true
	}
	return diff / math.Abs(*r.Before) * 100, true
}

// Breach reports whether a reading is out of the alert's bounds. known is false if there is no data to tell by.
func (a *Alert) Breach(r *Reading) (out, known bool) {
	if r.Error != "" || r.Value == nil || r.Events < a.MinEvents {
		return false, false
	}
	v, threshold := *r.Value, a.Threshold
	if a.Compare == WeekBefore {
		if r.EventsBefore < a.MinEvents {
			return false, false
		}
		var ok bool
		if v, ok = r.Change(); !ok {
			return false, false
		}
		if a.Op == Below {
			threshold = -threshold
		}
	}
	if a.Op == Below {
		return v < threshold, true
	}
	return v > threshold, true
}

// Condition says in words when the alert fires, with the threshold as a plain number.
func (a *Alert) Condition() string { return a.ConditionIn("") }

// ConditionIn says in words when the alert fires, with the threshold in the unit of what is measured.
func (a *Alert) ConditionIn(u Unit) string {
	s := a.Op + " " + u.Figure(a.Threshold)
	if a.Compare == WeekBefore {
		s = "more than " + number(a.Threshold) + " % " + a.Op + " the week before"
	}
	s += " over " + span(a.Window)
	if a.For > 0 {
		s += ", for " + span(a.For)
	}
	return s
}

// number returns a number for people: at most six digits that count.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// span returns a length of time for people.
func span(minutes int64) string {
	for _, unit := range []struct {
		minutes int64
		name    string
	}{{24 * 60, "day"}, {60, "hour"}, {1, "minute"}} {
		if minutes%unit.minutes == 0 {
			n := minutes / unit.minutes
			if n == 1 {
				return "1 " + unit.name
			}
			return strconv.FormatInt(n, 10) + " " + unit.name + "s"
		}
	}
	return ""
}

// Update changes the fields that are set. Channels replace all that there were; one that names the id of an old one and has
// no address or secret of its own keeps the old one's.
type Update struct {
	Name, Description  *string
	Enabled            *bool
	ChartID, Metric    *string
	Func               *string
	Query              json.RawMessage
	Compare, Op        *string
	Threshold          *float64
	Window, Every, For *int64
	MinEvents          *int64
	Timezone           *string
	TellNoData         *bool
	SilencedUntil      *int64
	Channels           *[]NewChannel
}

// Apply changes an alert by an update, all but its channels, and completes it.
func (a *Alert) Apply(u *Update) {
	set(&a.Name, u.Name)
	set(&a.Description, u.Description)
	set(&a.Enabled, u.Enabled)
	set(&a.ChartID, u.ChartID)
	if u.Metric != nil {
		a.Metric = *u.Metric
		if *u.Metric != "" && u.ChartID == nil {
			a.ChartID = ""
		}
	}
	if u.Func != nil && *u.Func != a.Func && u.MinEvents == nil {
		a.MinEvents = -1
	}
	set(&a.Func, u.Func)
	if u.Query != nil {
		a.Query = u.Query
	}
	set(&a.Compare, u.Compare)
	set(&a.Op, u.Op)
	set(&a.Threshold, u.Threshold)
	set(&a.Window, u.Window)
	set(&a.Every, u.Every)
	set(&a.For, u.For)
	set(&a.MinEvents, u.MinEvents)
	set(&a.Timezone, u.Timezone)
	set(&a.TellNoData, u.TellNoData)
	set(&a.SilencedUntil, u.SilencedUntil)
	a.Complete()
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// SameQuestion reports whether two alerts would be evaluated alike: one that changes in this is evaluated anew at once. Who sends an alert back as
// it was read asks the same, also where that names what the alert left to its defaults, or writes its filters in another spelling.
func (a *Alert) SameQuestion(b *Alert) bool {
	plain := func(a Alert) string {
		a.Name, a.Description, a.SilencedUntil, a.TellNoData, a.To = "", "", 0, false, nil
		a.Every, a.Query = a.EveryMinutes(), plainFilters(a.Query)
		return string(a.Doc())
	}
	return plain(*a) == plain(*b)
}

// plainFilters returns filters in one spelling, and none as nil. Numbers stay as they are written.
func plainFilters(raw json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var list []any
	if d.Decode(&list) != nil {
		return raw
	}
	if len(list) == 0 {
		return nil
	}
	plain, err := json.Marshal(list)
	if err != nil {
		return raw
	}
	return plain
}

// SameNotices reports whether what follows an evaluation of two alerts goes to the same channels, and is kept back for as long.
func (a *Alert) SameNotices(b *Alert) bool {
	return a.SilencedUntil == b.SilencedUntil && a.TellNoData == b.TellNoData && bytes.Equal(writeChannels(a.To), writeChannels(b.To))
}

// Doc writes down all but what the store sets, with the names that the API has for it.
func (a *Alert) Doc() json.RawMessage {
	b := *a
	b.Channels = writeChannels(a.To)
	return fields.Object(&b)
}

// FromDoc reads what Doc wrote.
func FromDoc(doc json.RawMessage) (a Alert) {
	fields.Read(doc, &a)
	a.To, a.Channels = readChannels(a.Channels), nil
	return a
}
