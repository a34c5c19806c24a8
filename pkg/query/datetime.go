package query

import (
	"encoding/json"
	"math"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// maxInstant is the end of the year 9999 in Unix milliseconds.
const maxInstant = 253402300799999

// ParseInstant reads a point in time: a string in ISO 8601, or Unix milliseconds as a number.
// A date without a time is the start of that day, UTC.
func ParseInstant(raw json.RawMessage) (time.Time, error) {
	if f, ok := rawjson.Number(raw); ok && f >= 0 && f <= maxInstant {
		return time.UnixMilli(int64(math.Round(f))), nil
	}
	text, isText := rawjson.Text(raw)
	t, _, ok := parseTime(text)
	if !isText || !ok {
		return time.Time{}, fault.New(fault.Invalid, "must be a date and time in ISO 8601, or Unix milliseconds")
	}
	return t, nil
}

// parseTime reads an ISO 8601 date, or date and time: "2026-01-31", "2026-01-31T10:00",
// "2026-01-31 10:00:00.5", with "Z", "+01:00", "+0100" or "+01" after it. Without a zone it is
// UTC. dateOnly says that there was no time of day.
func parseTime(s string) (t time.Time, dateOnly, ok bool) {
	if len(s) == len(time.DateOnly) {
		t, err := time.Parse(time.DateOnly, s)
		return t, true, err == nil
	}
	const minutes = len("2006-01-02T15:04")
	if len(s) < minutes || s[13] != ':' {
		return time.Time{}, false, false
	}
	// Go's layouts have no optional parts, so one is made for the text at hand.
	layout := ""
	switch s[10] {
	case 'T', 't', ' ':
		layout = time.DateOnly + s[10:11] + "15:04"
	default:
		return time.Time{}, false, false
	}
	if len(s) > minutes && s[minutes] == ':' {
		layout += ":05"
	}
	switch last := s[len(s)-1]; {
	case last == 'Z' || last == 'z':
		s = s[:len(s)-1]
	default:
		for i := len(s) - 1; i >= minutes; i-- {
			if s[i] != '+' && s[i] != '-' {
				continue
			}
			switch len(s) - i {
			case len("+01:00"):
				layout += "-07:00"
			case len("+0100"):
				layout += "-0700"
			case len("+01"):
				layout += "-07"
			}
			break
		}
	}
	t, err := time.Parse(layout, s)
	return t, false, err == nil
}

// millis returns an instant in Unix milliseconds, fractions kept.
func millis(t time.Time) float64 {
	return float64(t.Unix())*1000 + float64(t.Nanosecond())/1e6
}

// parseInstant reads a date and time as parseTime does, or Unix milliseconds.
func parseInstant(s string) (float64, bool) {
	if f, ok := parseNumber(s); ok {
		return f, true
	}
	t, _, ok := parseTime(s)
	return millis(t), ok
}
