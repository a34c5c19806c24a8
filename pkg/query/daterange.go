package query

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// MaxRelativeYears is how far back a relative range may reach.
const MaxRelativeYears = 10

// ParseRange reads a date range as bounds of start time in Unix milliseconds, both included;
// nil is open. Its forms:
//
//   - {"$gte": …, "$lte": …} and {"start_time": …, "end_time": …}, either of the two bounds,
//     each an ISO 8601 date or time, or Unix milliseconds as a number or a string; a date
//     without a time is the start of that day in UTC as the lower bound and its end as the upper;
//     "gte" and "lte" are $gte and $lte as generated Python clients write them;
//   - {"relative": "7d"} and the bare string "7d": a whole number of m(inutes), h(ours), d(ays),
//     w(eeks) or M(onths) before now, at most ten years, open above;
//   - a JSON string that holds one of the objects;
//   - nothing, null, "" and {}: no range.
//
// A lower bound after the upper is no error: nothing lies between them. Errors are
// fault.Invalid and name the place below field.
func ParseRange(raw json.RawMessage, field string, now time.Time) (from, to *float64, err error) {
	switch rawjson.KindOf(raw) {
	case 0, 'n':
		return nil, nil, nil
	case '"':
		text, ok := rawjson.Text(raw)
		if !ok {
			return nil, nil, fault.InvalidField(field, "must be a valid string")
		}
		text = strings.TrimSpace(text)
		switch {
		case text == "":
			return nil, nil, nil
		case text[0] == '{':
			return parseRangeText(text, field, now)
		}
		if from, err = parseRelative(text, field, now); err != nil && strings.Trim(text, "0123456789mhdwM") != "" {
			err = fault.InvalidField(field, "is neither a range such as \"7d\" (a whole number and m, h, d, w or M) nor an object with $gte and $lte")
		}
		return from, nil, err
	case '{':
		return parseRangeObject(raw, field, now)
	}
	return nil, nil, fault.InvalidField(field, "must be an object or a relative range such as \"7d\"")
}

// parseRangeText reads an object out of a string.
func parseRangeText(text, field string, now time.Time) (from, to *float64, err error) {
	if rawjson.KindOf([]byte(text)) != '{' || !json.Valid([]byte(text)) {
		return nil, nil, fault.InvalidField(field, "is neither an object nor a relative range such as \"7d\"")
	}
	return parseRangeObject(json.RawMessage(text), field, now)
}

// parseRangeObject reads a range with one pair of keys. Keys of two forms are refused.
func parseRangeObject(raw json.RawMessage, field string, now time.Time) (from, to *float64, err error) {
	if clean, _, err := rawjson.Clean(raw); err != nil {
		return nil, nil, fault.InvalidField(field, "%v", err)
	} else {
		raw = clean
	}
	// The pair of keys that was met first; all others must be of it.
	form := ""
	for key, v := range rawjson.Object(raw) {
		at, this := field+"."+key, ""
		switch key {
		case "$gte", "$lte":
			this = "$gte and $lte"
		case "gte", "lte":
			this = "gte and lte"
		case "start_time", "end_time":
			this = "start_time and end_time"
		case "relative":
			this = "relative"
		default:
			return nil, nil, fault.InvalidField(field, "unknown key %.40q; a range has $gte and $lte, start_time and end_time, or relative", key)
		}
		if form != "" && form != this {
			return nil, nil, fault.InvalidField(at, "does not go with %s", form)
		}
		form = this
		if rawjson.Null(v) {
			continue
		}
		switch key {
		case "$gte", "gte", "start_time":
			from, err = parseBound(v, at, false)
		case "$lte", "lte", "end_time":
			to, err = parseBound(v, at, true)
		default:
			text, ok := rawjson.Text(v)
			if !ok {
				return nil, nil, fault.InvalidField(at, "must be a string such as \"7d\"")
			}
			from, err = parseRelative(text, at, now)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return from, to, nil
}

// parseBound reads one end of a range.
func parseBound(raw json.RawMessage, field string, upper bool) (*float64, error) {
	if f, ok := rawjson.Number(raw); ok {
		return &f, nil
	}
	text, ok := rawjson.Text(raw)
	if !ok {
		return nil, fault.InvalidField(field, "must be an ISO 8601 date or Unix milliseconds")
	}
	if f, ok := parseNumber(text); ok {
		return &f, nil
	}
	t, dateOnly, ok := parseTime(text)
	if !ok {
		return nil, fault.InvalidField(field, "%.40q is neither an ISO 8601 date nor Unix milliseconds", text)
	}
	f := millis(t)
	if dateOnly && upper {
		// The last instant of the day: times have fractions of a millisecond.
		f = math.Nextafter(millis(t.AddDate(0, 0, 1)), f)
	}
	return &f, nil
}

// parseRelative returns the lower bound of a range such as "7d".
func parseRelative(text, field string, now time.Time) (*float64, error) {
	const wanted = "must be a whole number and m, h, d, w or M, such as \"24h\""
	if len(text) < 2 || strings.Trim(text[:len(text)-1], "0123456789") != "" {
		return nil, fault.InvalidField(field, wanted)
	}
	n, err := strconv.ParseInt(text[:len(text)-1], 10, 32)
	if err != nil {
		n = math.MaxInt32 // over ten years in every unit
	}
	now = now.UTC()
	var t time.Time
	switch text[len(text)-1] {
	case 'm':
		t = back(now, n, 60)
	case 'h':
		t = back(now, n, 60*60)
	case 'd':
		t = back(now, n, 24*60*60)
	case 'w':
		t = back(now, n, 7*24*60*60)
	case 'M':
		t = monthsBack(now, n)
	default:
		return nil, fault.InvalidField(field, wanted)
	}
	if t.Before(now.AddDate(-MaxRelativeYears, 0, 0)) {
		return nil, fault.InvalidField(field, "must be at most %d years", MaxRelativeYears)
	}
	f := millis(t)
	return &f, nil
}

// back returns the time n units of that many seconds ago. It counts in seconds, since a time.Duration ends at 292 years.
func back(now time.Time, n, seconds int64) time.Time {
	return time.Unix(now.Unix()-n*seconds, int64(now.Nanosecond())).UTC()
}

// monthsBack returns the same day n months ago, or the last of that month if it is shorter.
func monthsBack(now time.Time, n int64) time.Time {
	n = min(n, 12*(MaxRelativeYears+1))
	t := now.AddDate(0, -int(n), 0)
	if t.Day() != now.Day() {
		t = t.AddDate(0, 0, -t.Day())
	}
	return t
}
