package metric

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Threshold says which scores pass. What is nil does not count; a score must meet all that does.
type Threshold struct {
	Min, Max   *float64        // bounds of a number, both included
	PassWhen   json.RawMessage // a boolean or a number that the score must be
	Categories []string        // the strings that pass
}

// ThresholdOf reads the field threshold, {"min", "max", "pass_when", "passing_categories"}, of
// which all may be absent or null; nothing is the threshold that says nothing. Errors name the
// place below it.
func ThresholdOf(raw json.RawMessage) (t Threshold, err error) {
	if rawjson.Null(raw) {
		return t, nil
	}
	if rawjson.KindOf(raw) != '{' {
		return t, fault.New(fault.Invalid, "must be an object")
	}
	if t.Min, err = number(raw, "min"); err != nil {
		return t, err
	}
	if t.Max, err = number(raw, "max"); err != nil {
		return t, err
	}
	if t.Min != nil && t.Max != nil && *t.Min > *t.Max {
		return t, fault.InvalidField("min", "must not be more than max")
	}
	if when := rawjson.Get(raw, "pass_when"); !rawjson.Null(when) {
		switch rawjson.KindOf(when) {
		case 't', 'f', '0':
			t.PassWhen = when
		default:
			return t, fault.InvalidField("pass_when", "must be a boolean or a number")
		}
	}
	list := rawjson.Get(raw, "passing_categories")
	if rawjson.Null(list) {
		return t, nil
	}
	if rawjson.KindOf(list) != '[' {
		return t, fault.InvalidField("passing_categories", "must be an array of strings")
	}
	t.Categories = []string{}
	for i, item := range rawjson.Array(list) {
		name, ok := rawjson.Text(item)
		if !ok {
			return t, fault.InvalidField(fmt.Sprintf("passing_categories[%d]", i), "must be a string")
		}
		if i == MaxCategories {
			return t, fault.InvalidField("passing_categories", "must have at most %d elements", MaxCategories)
		}
		t.Categories = append(t.Categories, name)
	}
	return t, nil
}

// Passes reports whether a score passes. says is false if the threshold does not apply to a
// score of this kind. A boolean counts as 1 or 0 among numbers.
func (t Threshold) Passes(score json.RawMessage) (passes, says bool) {
	passes = true
	add := func(holds bool) { passes, says = passes && holds, true }
	if n, ok := Value(score); ok {
		if t.Min != nil {
			add(n >= *t.Min)
		}
		if t.Max != nil {
			add(n <= *t.Max)
		}
		if when, ok := Value(t.PassWhen); ok {
			add(n == when)
		}
	}
	if s, ok := rawjson.Text(score); ok && t.Categories != nil {
		add(slices.Contains(t.Categories, s))
	}
	return passes && says, says
}

// Value returns what a score counts for: a number as it is, true 1 and false 0. Anything else counts
// for nothing.
func Value(score json.RawMessage) (float64, bool) {
	switch rawjson.KindOf(score) {
	case 't':
		return 1, true
	case 'f':
		return 0, true
	}
	return rawjson.Number(score)
}

// String describes for a person which scores pass; it is empty if there is no bound.
func (t Threshold) String() string {
	var s string
	add := func(format string, args ...any) {
		if s != "" {
			s += ", and "
		}
		s += fmt.Sprintf(format, args...)
	}
	switch {
	case t.Min != nil && t.Max != nil:
		add("from %s to %s", short(*t.Min), short(*t.Max))
	case t.Min != nil:
		add("%s or more", short(*t.Min))
	case t.Max != nil:
		add("%s or less", short(*t.Max))
	}
	if t.PassWhen != nil {
		add("exactly %s", t.PassWhen)
	}
	if t.Categories != nil {
		add("one of %q", t.Categories)
	}
	return s
}

func short(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
