// Package chart holds saved charts: which chart of events somebody wants to see again. It knows
// how a change applies and how a chart is written down, and does no I/O; what may be asked of
// events, and so stand in a chart, is known by who reads and answers charts.
package chart

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Bounds of a chart.
const (
	MaxName   = 200      // characters, also of owner_id
	MaxSeries = 8        // beside the first
	MaxBytes  = 64 << 10 // of every other field: a chart is a question, no data
)

// Chart is one. ID, Created and Updated are the store's to set.
type Chart struct {
	ID          string
	Name        string          `doc:"name"`
	Description *string         `doc:"description,omitzero"`
	Metric      string          `doc:"metric"`             // the field that is summed up
	Func        string          `doc:"func"`               // how, by any name of an aggregation
	GroupBy     string          `doc:"groupBy"`            // the field whose values split the events; "": they are not split
	Bucketing   string          `doc:"bucketing"`          // the length of time summed up, by any of its names
	DateRange   json.RawMessage `doc:"dateRange,omitzero"` // an object, or nil
	Query       json.RawMessage `doc:"query"`              // an array of filters
	OwnerID     *string         `doc:"owner_id,omitzero"`  // whose it is, as callers call people
	Display     string          `doc:"display,omitzero"`   // how it is drawn; "": as lines
	Series      json.RawMessage `doc:"series,omitzero"`    // an array of what is drawn beside the first, or nil
	Created     int64           // Unix milliseconds
	Updated     int64           // of the last change, Unix milliseconds; 0: there was none
}

// Displays are the ways in which a chart is drawn.
var Displays = []string{"lines", "bars", "number"}

var fields = rawjson.FieldsOf[Chart]()

// Fields returns the names and values of all that callers set, as JSON and in the order in which they are
// written; those that are absent are nil.
func (c *Chart) Fields() iter.Seq2[string, json.RawMessage] { return fields.All(c) }

// Complete fills in what a chart was not given: what a chart of events does without it.
func (c *Chart) Complete() {
	if c.Func == "" {
		c.Func = "average"
	}
	if c.Bucketing == "" {
		c.Bucketing = "hour"
	}
	if c.Query == nil {
		c.Query = json.RawMessage("[]")
	}
}

// Validate reports the first broken rule as a fault.Invalid that names the field.
func (c *Chart) Validate() error {
	switch {
	case c.Name == "":
		return fault.InvalidField("name", "is required")
	case utf8.RuneCountInString(c.Name) > MaxName:
		return fault.InvalidField("name", "must be at most %d characters", MaxName)
	case c.Metric == "":
		return fault.InvalidField("metric", "is required")
	case c.OwnerID != nil && utf8.RuneCountInString(*c.OwnerID) > MaxName:
		return fault.InvalidField("owner_id", "must be at most %d characters", MaxName)
	case c.Description != nil && len(*c.Description) > MaxBytes:
		return fault.InvalidField("description", "must be at most %d bytes", MaxBytes)
	case len(c.DateRange) > MaxBytes:
		return fault.InvalidField("dateRange", "must be at most %d bytes", MaxBytes)
	case len(c.Query) > MaxBytes:
		return fault.InvalidField("query", "must be at most %d bytes", MaxBytes)
	case len(c.Series) > MaxBytes:
		return fault.InvalidField("series", "must be at most %d bytes", MaxBytes)
	case c.Display != "" && !slices.Contains(Displays, c.Display):
		return fault.InvalidField("display", "must be one of %s", strings.Join(Displays, ", "))
	}
	return nil
}

// Update changes the fields that are set. An empty text, range or list of filters takes away
// what was there.
type Update struct {
	ID          string
	Name        *string
	Description *string
	Metric      *string
	Func        *string
	GroupBy     *string
	Bucketing   *string
	DateRange   json.RawMessage
	Query       json.RawMessage
	OwnerID     *string
	Display     *string
	Series      json.RawMessage
}

// Apply changes a chart by an update and completes it.
func (c *Chart) Apply(u *Update) {
	for _, field := range []struct{ to, from *string }{
		{&c.Name, u.Name}, {&c.Metric, u.Metric}, {&c.Func, u.Func}, {&c.GroupBy, u.GroupBy}, {&c.Bucketing, u.Bucketing}, {&c.Display, u.Display},
	} {
		if field.from != nil {
			*field.to = *field.from
		}
	}
	if u.Description != nil {
		c.Description = u.Description
	}
	if u.OwnerID != nil {
		c.OwnerID = u.OwnerID
	}
	switch {
	case u.DateRange == nil:
	case rawjson.Empty(u.DateRange):
		c.DateRange = nil
	default:
		c.DateRange = u.DateRange
	}
	if u.Query != nil {
		c.Query = u.Query
	}
	switch {
	case u.Series == nil:
	case rawjson.Empty(u.Series):
		c.Series = nil
	default:
		c.Series = u.Series
	}
	c.Complete()
}

// Doc writes down all but what the store sets, with the names that the API has for it.
func (c *Chart) Doc() json.RawMessage { return fields.Object(c) }

// FromDoc reads what Doc wrote.
func FromDoc(doc json.RawMessage) (c Chart) {
	fields.Read(doc, &c)
	return c
}
