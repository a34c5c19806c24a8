package mcpserver

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/spangrove/spangrove/pkg/client"
)

// condition is a condition on a field of events, as the API has it.
type condition struct {
	Field    string `json:"field,omitempty"`
	Operator string `json:"operator,omitempty"`
	Value    any    `json:"value,omitempty"`
	Type     string `json:"type,omitempty"`
}

// filter is a condition, or an alternative of lists of conditions.
type filter struct {
	condition
	Any [][]condition `json:"any,omitempty"`
}

// filterSchema describes a filter. It is written out here since it is the same for all tools.
func filterSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "object",
		Properties: map[string]*jsonschema.Schema{
			"field": {Type: "string", Description: "dotted path, such as event_name, duration (ms), metadata.cost, config.model, inputs.question; text is name, error, inputs and outputs together"},
			"operator": {Type: "string", Enum: list([]string{"is", "is not", "is any of", "contains", "not contains", "matches words", "greater than", "less than", "exists", "not exists",
				"after", "before"})},
			"value": {Description: "what to compare with; of is any of an array; none for exists and not exists"},
			"type":  {Type: "string", Enum: list([]string{"string", "number", "boolean", "id", "datetime"}), Description: "how to compare; told from the value if left out"},
			"any": {
				Type: "array", Description: "instead of all else: one of these lists of filters must hold",
				Items: &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "object", Required: []string{"field", "operator"}}},
			},
		},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
}

func (c *condition) of() client.Filter {
	f := client.Filter{Field: c.Field, Operator: client.Operator(c.Operator), Value: c.Value, Type: client.Type(c.Type)}
	if f.Type != "" {
		return f
	}
	switch f.Operator {
	case client.After, client.Before:
		f.Type = client.TypeDatetime
		return f
	}
	sample := c.Value
	if list, ok := sample.([]any); ok && len(list) > 0 {
		sample = list[0]
	}
	switch sample.(type) {
	case float64, json.Number, int, int64:
		f.Type = client.TypeNumber
	case bool:
		f.Type = client.TypeBoolean
	default:
		switch {
		case c.Field == "event_id" || c.Field == "session_id" || c.Field == "parent_id":
			f.Type = client.TypeID
		case f.Operator == client.GreaterThan || f.Operator == client.LessThan:
			f.Type = client.TypeNumber
		}
	}
	return f
}

func filters(list []filter) []client.Filter {
	var all []client.Filter
	for i := range list {
		if list[i].Any == nil {
			all = append(all, list[i].of())
			continue
		}
		lists := make([][]client.Filter, len(list[i].Any))
		for j, alternative := range list[i].Any {
			lists[j] = []client.Filter{}
			for k := range alternative {
				lists[j] = append(lists[j], alternative[k].of())
			}
		}
		all = append(all, client.AnyOf(lists...))
	}
	return all
}

// is and holds are filters that tools make of their simple arguments.
func is(field, value string) client.Filter {
	return client.Filter{Field: field, Operator: client.Is, Value: value}
}

func holds(field, text string) client.Filter {
	return client.Filter{Field: field, Operator: client.Contains, Value: text}
}

// span is the range of time of a search.
type span struct {
	Since string `json:"since,omitempty" jsonschema:"only what began in this time up to now (30m, 24h, 7d, 4w, 6M), or from this date or time on (2026-01-31, 2026-01-31T12:00:00Z)"`
	Until string `json:"until,omitempty" jsonschema:"only what began up to this date, its end, or time; 2026-01-31 as since and until is that day"`
}

var upToNow = regexp.MustCompile(`^([1-9][0-9]{0,8})([mhdwM])$`)

// dateRange returns the range, for a search that goes up to now at the latest.
func (s span) dateRange(now time.Time) (r client.DateRange, err error) {
	if s.Until == "" && upToNow.MatchString(s.Since) {
		return client.Last(s.Since), nil
	}
	if r.From, err = moment(s.Since, now, false); err != nil {
		return r, fmt.Errorf("since: %w", err)
	}
	if r.To, err = moment(s.Until, now, true); err != nil {
		return r, fmt.Errorf("until: %w", err)
	}
	if !r.From.IsZero() && !r.To.IsZero() && r.To.Before(r.From) {
		return r, fmt.Errorf("since: %s is after until, %s", s.Since, s.Until)
	}
	return r, nil
}

// moment reads a date or time, in UTC if it names no zone, or a time before now. Of a date that ends a range it is the last millisecond.
func moment(text string, now time.Time, end bool) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if m := upToNow.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // digits that fit
		switch m[2] {
		case "m":
			return now.Add(-time.Duration(n) * time.Minute), nil
		case "h":
			return now.Add(-time.Duration(n) * time.Hour), nil
		case "d":
			return now.AddDate(0, 0, -n), nil
		case "w":
			return now.AddDate(0, 0, -7*n), nil
		}
		return now.AddDate(0, -n, 0), nil
	}
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		if end {
			t = t.AddDate(0, 0, 1).Add(-time.Millisecond)
		}
		return t, nil
	}
	text = strings.Replace(text, " ", "T", 1)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time; write 24h, 7d, 2026-01-31 or 2026-01-31T12:00:00Z", line(text, 60))
}

// offset reads a cursor that is a number of things to skip.
func offset(cursor string) (int, error) {
	if cursor == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(cursor)
	if err != nil || n < 0 || n > 10_000_000 {
		return 0, fmt.Errorf("cursor: %q is not one that this tool gave; leave it out to begin anew", line(cursor, 40))
	}
	return n, nil
}

// pageOf reads limit things from a place on, of a list that has pages.
func pageOf[T any](from, limit int, read func(client.Page) (*client.List[T], error)) (list []T, total int, err error) {
	for skip := from % limit; len(list) < limit; {
		page, err := read(client.Page{Limit: limit, Page: (from+len(list))/limit + 1})
		if err != nil {
			return nil, 0, err
		}
		total = page.Total
		if skip >= len(page.Items) {
			break
		}
		list = append(list, page.Items[skip:]...)
		if len(page.Items) < limit {
			break
		}
		skip = 0
	}
	return list[:min(len(list), limit)], total, nil
}

// after returns the cursor of a list whose cursors are numbers, after so many of the things from a place on.
func after(from, shown, total int) string {
	if from+shown >= total || shown == 0 {
		return ""
	}
	return strconv.Itoa(from + shown)
}
