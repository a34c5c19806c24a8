package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"time"
)

// question is a read of a load at scale whose answer is known.
type question struct {
	name   string
	about  string
	method string
	path   string
	body   any
	// expect scans the columns for the answer and returns what checks an answer of the server.
	expect func(c *smallColumns) func(answer []byte) error
}

const (
	dayMicros  = int64(24 * time.Hour / time.Microsecond)
	hourMicros = int64(time.Hour / time.Microsecond)

	manyTokens    = 5000  // what the question about tokens asks for
	slowCall      = 9000  // ms
	pageNumber    = 5000  // what the question about a late page asks for,
	pageSize      = 20    // with pages so short that a small load has it too
	valueEvents   = 50000 // newest events that the server counts values among where it does not count all, see reads::value_events
	shownValues   = 20
	askedUser     = 100  // of 6,300 events in 10 million: too many to be read by the index
	ordinaryUser  = 3800 // of some 550: four in five have fewer
	askedModel    = "o3"
	sessionsShown = 50
)

// scope is the range of time that questions ask about.
type scope struct{ from, to int64 } // µs, to left out

func (s scope) dateRange() map[string]any {
	// Both ends belong to a range; events start at whole microseconds.
	return map[string]any{"$gte": s.from / 1000, "$lte": float64(s.to-1) / 1000}
}

func (s scope) has(at int64) bool { return at >= s.from && at < s.to }

// list is a search of events with a known answer: those that match, newest first.
type list struct {
	filters []filter
	limit   int
	page    int
	total   bool // the exact number of all is asked for, too
	match   func(c *smallColumns, i int) bool
}

// newest keeps the latest starts of those that it is given.
type newest struct {
	keep   int
	starts []int64 // a heap, the earliest first
}

func (h *newest) add(at int64) {
	if len(h.starts) < h.keep {
		h.starts = append(h.starts, at)
		if len(h.starts) == h.keep {
			slices.Sort(h.starts) // a sorted list is a heap
		}
		return
	}
	if at <= h.starts[0] {
		return
	}
	i := 0
	for {
		k := 2*i + 1
		if k >= h.keep {
			break
		}
		if k+1 < h.keep && h.starts[k+1] < h.starts[k] {
			k++
		}
		if h.starts[k] >= at {
			break
		}
		h.starts[i], i = h.starts[k], k
	}
	h.starts[i] = at
}

// sorted returns the starts, the latest first.
func (h *newest) sorted() []int64 {
	slices.Sort(h.starts)
	slices.Reverse(h.starts)
	return h.starts
}

func (l list) question(name, about string, in scope) question {
	body := map[string]any{"filters": l.filters, "limit": l.limit, "dateRange": in.dateRange(), "projections": headFields}
	if l.filters == nil {
		body["filters"] = []filter{}
	}
	if l.page > 0 {
		body["page"] = l.page
	}
	if !l.total {
		body["total"] = "none"
	}
	return question{name: name, about: about, method: http.MethodPost, path: "/v1/events/search", body: body,
		expect: func(c *smallColumns) func([]byte) error {
			skip := max(l.page-1, 0) * l.limit
			top, total := newest{keep: skip + l.limit}, int64(0)
			for i := len(c.start) - 1; i >= 0; i-- {
				if in.has(c.start[i]) && (l.match == nil || l.match(c, i)) {
					total++
					top.add(c.start[i])
				}
			}
			want := top.sorted()
			want = want[min(skip, len(want)):]
			return func(answer []byte) error {
				var got struct {
					Events []struct {
						Start float64 `json:"start_time"`
					} `json:"events"`
					Total *int64 `json:"totalEvents"`
				}
				if err := json.Unmarshal(answer, &got); err != nil {
					return err
				}
				if l.total && (got.Total == nil || *got.Total != total) {
					return fmt.Errorf("totalEvents is %s, want %d", show(got.Total), total)
				}
				if len(got.Events) != len(want) {
					return fmt.Errorf("%d events, want %d", len(got.Events), len(want))
				}
				for i, at := range want {
					if !same(got.Events[i].Start, float64(at)/1000, 0.001) {
						return fmt.Errorf("event %d starts at %f, want %f", i, got.Events[i].Start, float64(at)/1000)
					}
				}
				return nil
			}
		}}
}

func show(n *int64) string {
	if n == nil {
		return "null"
	}
	return fmt.Sprint(*n)
}

// same reports whether a number is as expected, but for how it was rounded.
func same(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance }

// samePoint reports whether a point of a chart is as expected, but for the order in which its numbers were added.
func samePoint(got, want float64) bool { return same(got, want, 1e-6*max(1, math.Abs(want))) }

// chartOf is a chart with a known answer.
type chartOf struct {
	metric, aggregation, bucket, group string
	filters                            []filter
	width                              int64 // µs, of a bucket
	match                              func(c *smallColumns, i int) bool
	groupOf                            func(c *smallColumns, i int) string // nil without a group
	value                              func(c *smallColumns, i int) float64
}

// cell is where a chart has a number.
type cell struct {
	at    int64 // µs
	group string
}

func (ch chartOf) question(name, about string, in scope) question {
	text := func(v any) string {
		b, _ := json.Marshal(v)
		return string(b)
	}
	ask := url.Values{"metric": {ch.metric}, "aggregation": {ch.aggregation}, "bucket": {ch.bucket}, "dateRange": {text(in.dateRange())}}
	if ch.group != "" {
		ask.Set("groupBy", ch.group)
	}
	if ch.filters != nil {
		ask.Set("filters", text(ch.filters))
	}
	return question{name: name, about: about, method: http.MethodGet, path: "/v1/events/chart?" + ask.Encode(),
		expect: func(c *smallColumns) func([]byte) error {
			want := ch.expected(c, in)
			return func(answer []byte) error { return checkChart(answer, want) }
		}}
}

// board is a dashboard: charts of one range by day, each with the period before.
type board []chartOf

func (b board) question(name, about string, in scope) question {
	series := make([]map[string]any, len(b))
	for i, ch := range b {
		series[i] = map[string]any{"metric": ch.metric, "aggregation": ch.aggregation}
		if ch.group != "" {
			series[i]["groupBy"] = ch.group
		}
		if ch.filters != nil {
			series[i]["filters"] = ch.filters
		}
	}
	body := map[string]any{"series": series, "bucket": "day", "previous": true, "dateRange": in.dateRange()}
	return question{name: name, about: about, method: http.MethodPost, path: "/v1/events/chart", body: body,
		expect: func(c *smallColumns) func([]byte) error {
			want := make([]map[cell]float64, len(b))
			for i, ch := range b {
				want[i] = ch.expected(c, scope{2*in.from - in.to, in.to})
			}
			return func(answer []byte) error { return checkBoard(answer, want) }
		}}
}

func checkBoard(answer []byte, want []map[cell]float64) error {
	var got struct {
		Buckets  []time.Time `json:"buckets"`
		Previous []time.Time `json:"previous_buckets"`
		Series   []struct {
			Rows []struct {
				Group    string     `json:"group"`
				Values   []*float64 `json:"values"`
				Previous []*float64 `json:"previous"`
			} `json:"rows"`
		} `json:"series"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return err
	}
	if len(got.Series) != len(want) {
		return fmt.Errorf("%d charts, want %d", len(got.Series), len(want))
	}
	for i, series := range got.Series {
		found := 0
		check := func(group string, times []time.Time, values []*float64) error {
			if len(values) != len(times) {
				return fmt.Errorf("chart %d: %d values of %d buckets", i, len(values), len(times))
			}
			for k, value := range values {
				expected, ok := want[i][cell{times[k].UnixMicro(), group}]
				if ok {
					found++
				}
				if (value == nil && ok) || (value != nil && !samePoint(*value, expected)) {
					return fmt.Errorf("chart %d, %s %q is %v, want %v", i, times[k], group, value, expected)
				}
			}
			return nil
		}
		for _, row := range series.Rows {
			if err := cmp.Or(check(row.Group, got.Buckets, row.Values), check(row.Group, got.Previous, row.Previous)); err != nil {
				return err
			}
		}
		if found != len(want[i]) {
			return fmt.Errorf("chart %d: %d points, want %d", i, found, len(want[i]))
		}
	}
	return nil
}

func (ch chartOf) expected(c *smallColumns, in scope) map[cell]float64 {
	want, values := map[cell]float64{}, map[cell][]float64{}
	for i := range c.start {
		if !in.has(c.start[i]) || !ch.match(c, i) {
			continue
		}
		at := cell{at: c.start[i] / ch.width * ch.width}
		if ch.groupOf != nil {
			at.group = ch.groupOf(c, i)
		}
		switch ch.aggregation {
		case "count":
			want[at]++
		case "sum":
			want[at] += ch.value(c, i)
		default:
			values[at] = append(values[at], ch.value(c, i))
		}
	}
	for at, list := range values {
		want[at] = percentile(list, 0.95)
	}
	return want
}

// percentile returns a percentile, between the closest values.
func percentile(values []float64, p float64) float64 {
	sort.Float64s(values)
	place := p * float64(len(values)-1)
	low := int(place)
	if low+1 >= len(values) {
		return values[len(values)-1]
	}
	return values[low] + (place-float64(low))*(values[low+1]-values[low])
}

func checkChart(answer []byte, want map[cell]float64) error {
	var got struct {
		Events []struct {
			Bucket time.Time `json:"bucket"`
			Group  *string   `json:"group"`
			Value  float64   `json:"value"`
		} `json:"events"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return err
	}
	if len(got.Events) != len(want) {
		return fmt.Errorf("%d points, want %d", len(got.Events), len(want))
	}
	for _, e := range got.Events {
		at := cell{at: e.Bucket.UnixMicro()}
		if e.Group != nil {
			at.group = *e.Group
		}
		value, ok := want[at]
		if !ok || !samePoint(e.Value, value) {
			return fmt.Errorf("%s %q is %v, want %v", e.Bucket, at.group, e.Value, value)
		}
	}
	return nil
}

// sessionList is a list of sessions by a total, the largest first, with a known answer.
type sessionList struct {
	sort   string
	events []filter                               // an event in the session meets them all
	match  func(c *smallColumns, i int) bool      // the same of a row
	value  func(c *smallColumns, row int) float64 // of the session's row
}

func (l sessionList) question(name, about string, in scope) question {
	body := map[string]any{"sort": l.sort, "order": "desc", "limit": sessionsShown, "dateRange": in.dateRange()}
	if l.events != nil {
		body["event_filters"] = l.events
	}
	return question{name: name, about: about, method: http.MethodPost, path: "/v1/sessions/search", body: body,
		expect: func(c *smallColumns) func([]byte) error {
			var want []float64
			for row := 0; row < len(c.kind); row += smallRows {
				if !in.has(c.start[row]) || !l.any(c, row) {
					continue
				}
				want = append(want, l.value(c, row))
			}
			slices.SortFunc(want, func(a, b float64) int { return cmp.Compare(b, a) })
			want = want[:min(sessionsShown, len(want))]
			return func(answer []byte) error { return checkSessions(answer, l.sort, want) }
		}}
}

// any reports whether an event of a session matches.
func (l sessionList) any(c *smallColumns, row int) bool {
	if l.match == nil {
		return true
	}
	for i := row; i < row+smallRows; i++ {
		if l.match(c, i) {
			return true
		}
	}
	return false
}

func checkSessions(answer []byte, by string, want []float64) error {
	var got struct {
		Sessions []struct {
			Start    float64 `json:"start_time"`
			Duration float64 `json:"duration"`
			Cost     float64 `json:"cost"`
			Errors   float64 `json:"num_errors"`
		} `json:"sessions"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return err
	}
	if len(got.Sessions) != len(want) {
		return fmt.Errorf("%d sessions, want %d", len(got.Sessions), len(want))
	}
	for i, s := range got.Sessions {
		value := map[string]float64{"start": s.Start, "duration": s.Duration, "cost": s.Cost, "errors": s.Errors}[by]
		// The duration of a session is the difference of two times in milliseconds since 1970.
		if !same(value, want[i], map[string]float64{"start": 0.001, "duration": 0.001, "cost": 1e-9}[by]) {
			return fmt.Errorf("session %d has %s %v, want %v", i, by, value, want[i])
		}
	}
	return nil
}

// valuesOf asks for the values of a field of calls of models.
func valuesOf(name, about, field string, in scope, value func(c *smallColumns, i int) string) question {
	body := map[string]any{"field": field, "dateRange": in.dateRange(), "filters": []filter{typeIs("model")}, "limit": shownValues}
	return question{name: name, about: about, method: http.MethodPost, path: "/v1/events/values", body: body,
		expect: func(c *smallColumns) func([]byte) error {
			var rows []int
			for i := range c.start {
				if c.kind[i] == rowModel && in.has(c.start[i]) {
					rows = append(rows, i)
				}
			}
			slices.SortFunc(rows, func(a, b int) int { return cmp.Compare(c.start[b], c.start[a]) })
			countsOf := func(rows []int) map[string]int64 {
				counts := map[string]int64{}
				for _, i := range rows {
					counts[value(c, i)]++
				}
				return counts
			}
			all, newest := countsOf(rows), countsOf(rows[:min(valueEvents, len(rows))])
			return func(answer []byte) error {
				var got struct {
					Values []struct {
						Value string `json:"value"`
						Count int64  `json:"count"`
					} `json:"values"`
					LookedAt int  `json:"looked_at"`
					Complete bool `json:"complete"`
				}
				if err := json.Unmarshal(answer, &got); err != nil {
					return err
				}
				counts, rows := all, rows
				if !got.Complete {
					counts, rows = newest, rows[:min(valueEvents, len(rows))]
				}
				if got.LookedAt != len(rows) || len(got.Values) != min(shownValues, len(counts)) {
					return fmt.Errorf("%d values of %d events, want %d of %d", len(got.Values), got.LookedAt, min(shownValues, len(counts)), len(rows))
				}
				for k, v := range got.Values {
					if counts[v.Value] != v.Count || k > 0 && v.Count > got.Values[k-1].Count {
						return fmt.Errorf("value %q has %d events, want %d", v.Value, v.Count, counts[v.Value])
					}
				}
				return nil
			}
		}}
}
