package query

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/fault"
)

var testNow = time.Date(2026, 3, 31, 12, 0, 0, 500_000_000, time.UTC)

func ms(year int, month time.Month, day, hour, minute int) *float64 {
	f := millis(time.Date(year, month, day, hour, minute, 0, 0, time.UTC))
	return &f
}

// back from testNow
func ago(d time.Duration) *float64 {
	f := millis(testNow.Add(-d))
	return &f
}

func number(f float64) *float64 { return &f }

func TestParseRange(t *testing.T) {
	t.Parallel()
	endOfDay := math.Nextafter(*ms(2026, 1, 3, 0, 0), 0)
	for _, tt := range []struct {
		in       string
		from, to *float64
	}{
		{``, nil, nil},
		{`null`, nil, nil},
		{`{}`, nil, nil},
		{`""`, nil, nil},
		{`{"$gte":null,"$lte":null}`, nil, nil},
		{`{"relative":null}`, nil, nil},
		{`{"$gte":1000,"$lte":2000.5}`, number(1000), number(2000.5)},
		{`{"$gte":"1000"}`, number(1000), nil},
		{`{"$lte":"1795213764357.0"}`, nil, number(1795213764357)},
		{`{"gte":1000,"lte":2000.5}`, number(1000), number(2000.5)},
		{`{"$gte":2000,"$lte":1000}`, number(2000), number(1000)},
		{`{"$gte":"2026-01-02","$lte":"2026-01-02"}`, ms(2026, 1, 2, 0, 0), &endOfDay},
		{`{"$lte":"2026-01-02T00:00:00Z"}`, nil, ms(2026, 1, 2, 0, 0)},
		{`{"start_time":"2026-01-02T03:04:00Z","end_time":"2026-01-02T04:04:00+01:00"}`, ms(2026, 1, 2, 3, 4), ms(2026, 1, 2, 3, 4)},
		{`{"start_time":"2026-01-02 03:04"}`, ms(2026, 1, 2, 3, 4), nil},
		{`{"end_time":"2026-01-02t03:04:00.000000z"}`, nil, ms(2026, 1, 2, 3, 4)},
		{`{"$gte":"1969-12-31"}`, ms(1969, 12, 31, 0, 0), nil},
		{`"24h"`, ago(24 * time.Hour), nil},
		{`" 24h "`, ago(24 * time.Hour), nil},
		{`"90m"`, ago(90 * time.Minute), nil},
		{`{"relative":"7d"}`, ago(7 * 24 * time.Hour), nil},
		{`{"relative":"2w"}`, ago(14 * 24 * time.Hour), nil},
		{`"1M"`, number(millis(time.Date(2026, 2, 28, 12, 0, 0, 500_000_000, time.UTC))), nil},
		{`"13M"`, number(millis(time.Date(2025, 2, 28, 12, 0, 0, 500_000_000, time.UTC))), nil},
		{`"120M"`, number(millis(testNow.AddDate(-10, 0, 0))), nil},
		{`"0d"`, ago(0), nil},
		{`"007d"`, ago(7 * 24 * time.Hour), nil},
		{`"3652d"`, ago(3652 * 24 * time.Hour), nil},
		{`"{\"$gte\":1000}"`, number(1000), nil},
	} {
		from, to, err := ParseRange(json.RawMessage(tt.in), "dateRange", testNow)
		if err != nil {
			t.Errorf("ParseRange(%s): %v", tt.in, err)
			continue
		}
		if diff := cmp.Diff([]*float64{tt.from, tt.to}, []*float64{from, to}); diff != "" {
			t.Errorf("ParseRange(%s) (-want +got)\n%s", tt.in, diff)
		}
	}
}

func TestParseRangeErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, field string }{
		{`5`, "dateRange"},
		{`true`, "dateRange"},
		{`[]`, "dateRange"},
		{`{"$gt":1}`, "dateRange"},
		{`{"$gte":1,"x":2}`, "dateRange"},
		{`{"$gte":1,"lte":2}`, "dateRange.lte"},
		{`{"$gte":1,"end_time":2}`, "dateRange.end_time"},
		{`{"relative":"7d","$gte":1}`, "dateRange.$gte"},
		{`{"relative":7}`, "dateRange.relative"},
		{`{"relative":""}`, "dateRange.relative"},
		{`{"relative":"7 d"}`, "dateRange.relative"},
		{`{"relative":"7y"}`, "dateRange.relative"},
		{`{"relative":"-7d"}`, "dateRange.relative"},
		{`{"relative":"1.5d"}`, "dateRange.relative"},
		{`{"relative":"d"}`, "dateRange.relative"},
		{`{"relative":"7"}`, "dateRange.relative"},
		{`{"relative":"7D"}`, "dateRange.relative"},
		{`{"relative":"121M"}`, "dateRange.relative"},
		{`{"relative":"3654d"}`, "dateRange.relative"},
		{`{"relative":"99999999999999999999m"}`, "dateRange.relative"},
		{`"last week"`, "dateRange"},
		{`"2026-01-02"`, "dateRange"},
		{`"{"`, "dateRange"},
		{`"{\"$gte\":}"`, "dateRange"},
		{`{"$gte":true}`, "dateRange.$gte"},
		{`{"$gte":{}}`, "dateRange.$gte"},
		{`{"$gte":""}`, "dateRange.$gte"},
		{`{"$gte":"soon"}`, "dateRange.$gte"},
		{`{"$lte":"2026-02-30"}`, "dateRange.$lte"},
		{`{"$lte":"2026-02-01T25:00"}`, "dateRange.$lte"},
		{`{"$lte":"2026-02-01T05:00:00+1"}`, "dateRange.$lte"},
		{`{"$lte":"2026-02-01x05:00"}`, "dateRange.$lte"},
		{`{"$lte":"2026-02-01T5:00:0"}`, "dateRange.$lte"},
		{`{"start_time":"NaN"}`, "dateRange.start_time"},
		{`{"$gte":1e999}`, "dateRange"},
		{`{"$gte":`, "dateRange"},
	} {
		from, to, err := ParseRange(json.RawMessage(tt.in), "dateRange", testNow)
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || f.Field != tt.field {
			t.Errorf("ParseRange(%s) = %v, %v, %v; want an Invalid of %s", tt.in, from, to, err, tt.field)
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		limit, page string
		clamp       bool
		wantLimit   int
		wantPage    int
		field       string // of the error
	}{
		{"", "", false, 1000, 1, ""},
		{"null", "null", true, 1000, 1, ""},
		{"1", "1", false, 1, 1, ""},
		{"1000", "3", false, 1000, 3, ""},
		{"10.0", `"2"`, false, 10, 2, ""},
		{`"50"`, "1e1", false, 50, 10, ""},
		{"1001", "", false, 0, 0, "limit"},
		{"1001", "", true, 1000, 1, ""},
		{"7500", "", true, 1000, 1, ""},
		{"1e300", "", true, 1000, 1, ""},
		{"0", "", true, 0, 0, "limit"},
		{"-1", "", false, 0, 0, "limit"},
		{"1.5", "", true, 0, 0, "limit"},
		{`"ten"`, "", false, 0, 0, "limit"},
		{`""`, "", false, 0, 0, "limit"},
		{"true", "", false, 0, 0, "limit"},
		{"[1]", "", false, 0, 0, "limit"},
		{"", "0", true, 0, 0, "page"},
		{"", "2.5", false, 0, 0, "page"},
		{"", "1e13", true, 0, 0, "page"},
		{"", "{}", true, 0, 0, "page"},
	} {
		rule := SearchPages
		if tt.clamp {
			rule = ExportPages
		}
		limit, page, err := rule.Parse(json.RawMessage(tt.limit), json.RawMessage(tt.page))
		if tt.field != "" {
			var f *fault.Error
			if !errors.As(err, &f) || f.Kind != fault.Invalid || f.Field != tt.field {
				t.Errorf("Parse(%s, %s) = %d, %d, %v; want an Invalid of %s", tt.limit, tt.page, limit, page, err, tt.field)
			}
			continue
		}
		if err != nil || limit != tt.wantLimit || page != tt.wantPage {
			t.Errorf("Parse(%s, %s), clamp %v: %d, %d, %v; want %d, %d", tt.limit, tt.page, tt.clamp, limit, page, err, tt.wantLimit, tt.wantPage)
		}
	}
}

// FuzzRange holds that nothing panics, errors are the caller's, and bounds are numbers.
func FuzzRange(f *testing.F) {
	for _, s := range []string{`{"$gte":"2026-01-02","$lte":1e3}`, `{"relative":"7d"}`, `"24h"`, `{"start_time":"2026-01-02T03:04:05.678+02:00"}`, `"{\"$gte\":1}"`, `"99999M"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		from, to, err := ParseRange(in, "dateRange", testNow)
		if err != nil {
			var fe *fault.Error
			if !errors.As(err, &fe) || fe.Kind != fault.Invalid || !strings.HasPrefix(fe.Field, "dateRange") {
				t.Fatalf("%q: %v", in, err)
			}
			return
		}
		for _, b := range []*float64{from, to} {
			if b != nil && (math.IsNaN(*b) || math.IsInf(*b, 0)) {
				t.Fatalf("%q: bound %v", in, *b)
			}
		}
	})
}
