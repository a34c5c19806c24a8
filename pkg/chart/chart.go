// Package chart holds saved charts: which chart of events somebody wants to see again. It knows
// how a change applies and how a chart is written down, and does no I/O; what may be asked of
// events, and so stand in a chart, is known by who reads and answers charts.
package chart

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Bounds of a chart.
const (
	MaxName  = 200      // characters, also of owner_id
	MaxBytes = 64 << 10 // of every other field: a chart is a question, no data
)

// Chart is one. ID, Created and Updated are the store's to set.
type Chart struct {
	ID          string
	Name        string
	Description *string
	Metric      string          // the field that is summed up
	Func        string          // how, by any name of an aggregation
	GroupBy     string          // the field whose values split the events; "": they are not split
	Bucketing   string          // the length of time summed up, by any of its names
	DateRange   json.RawMessage // an object, or nil
	Query       json.RawMessage // an array of filters
	OwnerID     *string         // whose it is, as callers call people
	Created     int64           // Unix milliseconds
	Updated     int64           // of the last change, Unix milliseconds; 0: there was none
}

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
}

// Apply changes a chart by an update and completes it.
func (c *Chart) Apply(u *Update) {
	for _, field := range []struct{ to, from *string }{
		{&c.Name, u.Name}, {&c.Metric, u.Metric}, {&c.Func, u.Func}, {&c.GroupBy, u.GroupBy}, {&c.Bucketing, u.Bucketing},
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
	c.Complete()
}

// Doc writes down all but what the store sets, with the names that the API has for it.
func (c *Chart) Doc() json.RawMessage {
	var b rawjson.Builder
	b.String("name", c.Name)
	if c.Description != nil {
		b.String("description", *c.Description)
	}
	b.String("metric", c.Metric)
	b.String("func", c.Func)
	b.String("groupBy", c.GroupBy)
	b.String("bucketing", c.Bucketing)
	if c.DateRange != nil {
		b.Raw("dateRange", c.DateRange)
	}
	b.Raw("query", c.Query)
	if c.OwnerID != nil {
		b.String("owner_id", *c.OwnerID)
	}
	return b.Bytes()
}

// FromDoc reads what Doc wrote.
func FromDoc(doc json.RawMessage) Chart {
	var c Chart
	texts := map[string]*string{"name": &c.Name, "metric": &c.Metric, "func": &c.Func, "groupBy": &c.GroupBy, "bucketing": &c.Bucketing}
	for key, raw := range rawjson.Object(doc) {
		text, isText := rawjson.Text(raw)
		switch {
		case texts[key] != nil:
			*texts[key] = text
		case key == "description" && isText:
			c.Description = &text
		case key == "owner_id" && isText:
			c.OwnerID = &text
		case key == "dateRange":
			c.DateRange = raw
		case key == "query":
			c.Query = raw
		}
	}
	return c
}
