package storetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/store"
)

var chartTests = []test{
	{"Chart/buckets, values and totals", chartBuckets},
	{"Chart/percentiles interpolate", chartPercentiles},
	{"Chart/groups beyond the bound are one", chartManyGroups},
	{"Chart/more groups than are summed up at once", chartTooManyGroups},
	{"Chart/gaps are filled", chartFill},
	{"Chart/days where clocks change", chartClocks},
	{"Chart/days that begin late, and one that is missing", chartMidnight},
	{"Chart/sums of sessions are not counted twice", chartSessions},
	{"Chart/true is 1 and false 0", chartBooleans},
	{"Chart/runs", chartRuns},
	{"Charts/of one range, beside the period before", chartsTogether},
	{"Charts/the largest groups, the same before", chartsGroups},
	{"Charts/one that cannot be answered leaves the others", chartsBroken},
	{"Charts/all time begins with the first event", chartsAllTime},
	{"Chart/every field and way, beside a plain sum", chartRandom},
}

// chart makes one of words: metric, group ("" for none), bucket and aggregation.
func (e *env) chart(metric, group, bucket, aggregation string) *query.Chart {
	e.Helper()
	c := &query.Chart{Zone: time.UTC}
	var err error
	c.Metric, err = query.NewFieldReader(metric)
	e.ok(err)
	if group != "" {
		g, err := query.NewFieldReader(group)
		e.ok(err)
		c.Group = &g
	}
	c.Bucket, err = query.ParseBucket(bucket)
	e.ok(err)
	c.Aggregation, err = query.ParseAggregation(aggregation, "aggregation")
	e.ok(err)
	return c
}

// chartLines writes a chart's answer as lines: start, group, value, count.
func (e *env) chartLines(c *query.Chart) []string {
	e.Helper()
	a, err := e.s.Chart(e.ctx, e.project, c)
	e.ok(err)
	lines := []string{fmt.Sprintf("total %d", a.Total)}
	for _, p := range a.Points {
		group, value := "-", "-"
		if p.Group != nil {
			group = *p.Group
		}
		if p.Value != nil {
			value = fmt.Sprintf("%.9g", *p.Value)
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %d", p.Start.Format("2006-01-02T15:04Z07:00"), group, value, p.Count))
	}
	return lines
}

func (e *env) wantChart(c *query.Chart, want ...string) {
	e.Helper()
	if diff := cmp.Diff(want, e.chartLines(c)); diff != "" {
		e.Errorf("points (-want +got):\n%s", diff)
	}
}

// at returns a tool event some hours after noon that carries metadata.
func at(hours float64, name, metadata string) event.Incoming {
	x := step("s", name, hours*3600)
	x.Metadata = raw(metadata)
	return x
}

func chartBuckets(e *env) {
	e.put(
		at(0, "a", `{"n":1,"k":"x"}`),
		at(0.5, "b", `{"n":2,"k":"y"}`),
		at(0.9, "c", `{"n":"3","k":"x"}`),
		at(26, "d", `{"n":4.5}`),
		at(50, "f", `{"n":-1,"k":null}`),
	)
	e.put(start("t", "not a tool", 0, 1))
	c := e.chart("metadata.n", "", "hour", "sum")
	e.wantChart(c, "total 4", "2026-01-02T12:00Z - 3 2", "2026-01-03T14:00Z - 4.5 1", "2026-01-04T14:00Z - -1 1")
	c = e.chart("metadata.n", "metadata.k", "day", "max")
	e.wantChart(c, "total 4", "2026-01-02T00:00Z x 1 1", "2026-01-02T00:00Z y 2 1", "2026-01-03T00:00Z - 4.5 1", "2026-01-04T00:00Z - -1 1")
	c = e.chart("metadata.n", "", "week", "count")
	c.Filters = []query.Filter{e.filter("event_type", "is", "", `"tool"`)}
	e.wantChart(c, "total 5", "2025-12-29T00:00Z - 5 5")
	c = e.chart("metadata.n", "event_name", "month", "min")
	from, to := noon, noon+60*60*1000
	c.From, c.To = &from, &to
	e.wantChart(c, "total 2", "2026-01-01T00:00Z a 1 1", "2026-01-01T00:00Z b 2 1")
	c = e.chart("duration", "", "minute", "average")
	c.Filters = []query.Filter{e.filter("metadata.k", "is", "", `"x"`)}
	e.wantChart(c, "total 2", "2026-01-02T12:00Z - 1000 1", "2026-01-02T12:54Z - 1000 1")
	c = e.chart("metadata.nothing", "", "hour", "p95")
	e.wantChart(c, "total 0")
}

func chartPercentiles(e *env) {
	var all []event.Incoming
	for i := range 10 {
		all = append(all, at(0, fmt.Sprint("e", i), fmt.Sprintf(`{"n":%d}`, i*10)))
	}
	e.put(all...)
	for aggregation, want := range map[string]string{"median": "45", "p50": "45", "p75": "67.5", "p90": "81", "p95": "85.5", "p99": "89.1", "avg": "45", "mean": "45"} {
		c := e.chart("metadata.n", "", "day", aggregation)
		e.wantChart(c, "total 10", "2026-01-02T00:00Z - "+want+" 10")
	}
}

func chartManyGroups(e *env) {
	var all []event.Incoming
	for i := range query.MaxGroups + 5 {
		all = append(all, at(0, fmt.Sprintf("g%02d", i), fmt.Sprintf(`{"n":%d}`, i)))
		if i < query.MaxGroups-1 {
			all = append(all, at(1, fmt.Sprintf("again %d", i), `{"n":1}`))
			all[len(all)-1].Name = fmt.Sprintf("g%02d", i)
		}
	}
	e.put(all...)
	got := e.chartLines(e.chart("metadata.n", "event_name", "day", "sum"))
	// 49 groups have two events; of the six with one, the first by name stays.
	want := []string{fmt.Sprintf("total %d", len(all))}
	for i := range query.MaxGroups {
		n := 2
		if i == query.MaxGroups-1 {
			n = 1
		}
		want = append(want, fmt.Sprintf("2026-01-02T00:00Z g%02d %d %d", i, i+n-1, n))
	}
	want = append(want, fmt.Sprintf("2026-01-02T00:00Z other %d 5", 50+51+52+53+54))
	if diff := cmp.Diff(want, got); diff != "" {
		e.Errorf("points (-want +got):\n%s", diff)
	}
}

func chartTooManyGroups(e *env) {
	var all []event.Incoming
	for i := range 90 {
		all = append(all, at(float64(i%3), fmt.Sprintf("e%02d", i), `{"n":1}`))
	}
	e.put(all...)
	c := e.chart("metadata.n", "event_id", "month", "sum")
	c.MaxPoints = 60
	got := e.chartLines(c)
	if len(got) != 1+query.MaxGroups+1 || !strings.HasSuffix(got[len(got)-1], " other 40 40") {
		e.Errorf("%d lines, the last %q; want %d groups and the 40 others as one", len(got), got[len(got)-1], query.MaxGroups)
	}
	c = e.chart("metadata.n", "metadata.trace_id", "month", "sum")
	e.wantChart(c, "total 90", "2026-01-01T00:00Z - 90 90")
	// Those with most events that have the metric, however many points there are.
	var without []event.Incoming
	for i := range 6 {
		without = append(without, at(0, fmt.Sprint("without ", i), `{}`))
		without[i].Name = fmt.Sprint("a", i/2)
	}
	e.put(without...)
	c = e.chart("metadata.n", "event_name", "month", "sum")
	c.MaxGroups = 2
	want := []string{"total 90", "2026-01-01T00:00Z e00 1 1", "2026-01-01T00:00Z e01 1 1", "2026-01-01T00:00Z other 88 88"}
	e.wantChart(c, want...)
	c.MaxPoints = 60
	e.wantChart(c, want...)
	c = e.chart("metadata.n", "", "minute", "sum")
	c.MaxPoints = 2
	if _, err := e.s.Chart(e.ctx, e.project, c); fault.Of(err) != fault.Invalid {
		e.Errorf("three buckets where two are allowed: %v, want an error of kind Invalid", err)
	}
}

// chartSet asks for several charts of one range and writes the answer as lines: one a row, with what there was before.
func (e *env) chartSet(set *query.ChartSet) []string {
	e.Helper()
	set.Zone = time.UTC
	t, err := e.s.Charts(e.ctx, e.project, set)
	e.ok(err)
	times := func(list []time.Time) string {
		if len(list) == 0 {
			return "none"
		}
		return fmt.Sprintf("%d from %s to %s", len(list), list[0].Format("2006-01-02T15:04"), list[len(list)-1].Format("2006-01-02T15:04"))
	}
	lines := []string{fmt.Sprintf("%s %s, before %s", t.Bucket, times(t.Times), times(t.Previous))}
	values := func(list []query.SeriesValue) string {
		text := ""
		for _, v := range list {
			value := "-"
			if v.Value != nil {
				value = fmt.Sprintf("%.9g", *v.Value)
			}
			text += fmt.Sprintf(" %s/%d", value, v.Count)
		}
		return text
	}
	for i, x := range t.Series {
		lines = append(lines, fmt.Sprintf("%d: total %d, before %d", i, x.Total, x.Previous))
		if x.Err != nil {
			lines = append(lines, "error "+x.Err.Error())
		}
		for _, r := range x.Rows {
			group := "-"
			if r.Group != nil {
				group = *r.Group
			}
			if r.Rest {
				group += " (rest)"
			}
			lines = append(lines, group+values(r.Values)+" |"+values(r.Before))
		}
	}
	return lines
}

func (e *env) wantCharts(set *query.ChartSet, want ...string) {
	e.Helper()
	for _, when := range []string{"rows", "segments"} {
		if diff := cmp.Diff(want, e.chartSet(set)); diff != "" {
			e.Errorf("%s (-want +got):\n%s", when, diff)
		}
		e.ok(e.s.Seal(e.ctx))
	}
}

// minutes is a range of minutes after noon.
func minutes(from, to float64) (*float64, float64) {
	first := noon + from*60_000
	return &first, noon + to*60_000
}

func chartsTogether(e *env) {
	e.put(
		at(-2, "a", `{"n":1}`), at(-1.5, "b", `{"n":3}`), at(-1, "c", `{"n":5}`),
		at(0, "d", `{"n":10}`), at(0.2, "e", `{"n":20}`), at(1.5, "f", `{"n":30}`), at(1.9, "g", `{}`),
	)
	tools := []query.Filter{e.filter("event_type", "is", "", `"tool"`)}
	count, sum, median := e.chart("duration", "", "hour", "count"), e.chart("metadata.n", "", "hour", "sum"), e.chart("metadata.n", "", "hour", "median")
	count.Filters = tools
	set := &query.ChartSet{Bucket: query.Hour, Series: []*query.Chart{count, sum, median}, Previous: true}
	// Two whole hours.
	set.From, set.To = minutes(0, 119.9)
	e.wantCharts(set, "hour 2 from 2026-01-02T12:00 to 2026-01-02T13:00, before 2 from 2026-01-02T10:00 to 2026-01-02T11:00",
		"0: total 4, before 3", "- 2/2 2/2 | 2/2 1/1",
		"1: total 3, before 3", "- 30/2 30/1 | 4/2 5/1",
		"2: total 3, before 3", "- 15/2 30/1 | 2/2 5/1")
	// The last two hours at half past one: the first and the last bucket are cut where those before are.
	set.From, set.To = minutes(-30, 90)
	e.wantCharts(set, "hour 3 from 2026-01-02T11:00 to 2026-01-02T13:00, before 3 from 2026-01-02T09:00 to 2026-01-02T11:00",
		"0: total 3, before 3", "- 0/0 2/2 1/1 | 0/0 2/2 1/1",
		"1: total 3, before 3", "- 0/0 30/2 30/1 | 0/0 4/2 5/1",
		"2: total 3, before 3", "- -/0 15/2 30/1 | -/0 2/2 5/1")
	// A part of a day: what was before is the same part of the day before.
	set.From, set.To = minutes(10, 100)
	set.Bucket = query.Day
	set.Series = set.Series[:1]
	e.wantCharts(set, "day 1 from 2026-01-02T00:00 to 2026-01-02T00:00, before 1 from 2026-01-01T00:00 to 2026-01-01T00:00",
		"0: total 2, before 0", "- 2/2 | 0/0")
}

func chartsGroups(e *env) {
	var all []event.Incoming
	for i, k := range []string{"a", "a", "a", "b", "b", "c", "d"} {
		all = append(all, at(0.1, fmt.Sprint("now", i), fmt.Sprintf(`{"n":%d,"k":%q}`, i, k)))
	}
	for i, k := range []string{"d", "d", "d", "c", "b", "e"} {
		all = append(all, at(-0.9, fmt.Sprint("before", i), fmt.Sprintf(`{"n":%d,"k":%q}`, i, k)))
	}
	all = append(all, at(0.1, "none", `{"n":7}`))
	e.put(all...)
	for _, aggregation := range []string{"sum", "p50"} {
		c := e.chart("metadata.n", "metadata.k", "hour", aggregation)
		c.MaxGroups = 2
		set := &query.ChartSet{Bucket: query.Hour, Series: []*query.Chart{c}, Previous: true}
		set.From, set.To = minutes(0, 30)
		want := []string{"hour 1 from 2026-01-02T12:00 to 2026-01-02T12:00, before 1 from 2026-01-02T11:00 to 2026-01-02T11:00", "0: total 8, before 6",
			"a 3/3 | 0/0", "b 7/2 | 4/1", "other (rest) 11/2 | 11/5", "- 7/1 | 0/0"}
		if aggregation == "p50" {
			want = append(want[:2], "a 1/3 | -/0", "b 3.5/2 | 4/1", "other (rest) 5.5/2 | 2/5", "- 7/1 | -/0")
		}
		e.wantCharts(set, want...)
	}
}

func chartsBroken(e *env) {
	var all []event.Incoming
	for i := range 30 {
		all = append(all, at(float64(i)/60, fmt.Sprint("e", i), `{"n":1}`))
	}
	e.put(all...)
	whole, broken := e.chart("metadata.n", "", "minute", "sum"), e.chart("metadata.n", "", "minute", "sum")
	broken.MaxPoints = 10
	set := &query.ChartSet{Bucket: query.Hour, Series: []*query.Chart{broken, whole}}
	set.From, set.To = minutes(0, 59)
	e.wantCharts(set, "hour 1 from 2026-01-02T12:00 to 2026-01-02T12:00, before none",
		"0: total 30, before 0", "- 30/30 |", "1: total 30, before 0", "- 30/30 |")
	set.Bucket = query.Minute
	set.To = noon + 29*60_000
	t, err := e.s.Charts(e.ctx, e.project, &query.ChartSet{From: set.From, To: set.To, Bucket: query.Minute, Zone: time.UTC, Series: set.Series})
	e.ok(err)
	if fault.Of(t.Series[0].Err) != fault.Invalid || len(t.Series[0].Rows) != 0 || t.Series[1].Err != nil || t.Series[1].Total != 30 {
		e.Errorf("%v with %d rows, and %v with %d events; want an error of kind Invalid, and 30 events", t.Series[0].Err, len(t.Series[0].Rows), t.Series[1].Err, t.Series[1].Total)
	}
	set.From, set.To = new(float64), event.MaxMillis
	if _, err := e.s.Charts(e.ctx, e.project, set); fault.Of(err) != fault.Invalid {
		e.Errorf("minutes of all time: %v, want an error of kind Invalid", err)
	}
}

func chartsAllTime(e *env) {
	set := &query.ChartSet{Bucket: query.Auto, Series: []*query.Chart{e.chart("duration", "", "hour", "count")}, To: noon + 30*dayMillis}
	e.wantCharts(set, "second 1 from 2026-02-01T12:00 to 2026-02-01T12:00, before none", "0: total 0, before 0", "- 0/0 |")
	e.put(at(0, "a", `{}`), at(24, "b", `{}`))
	got := e.chartSet(set)
	if want := "6h 121 from 2026-01-02T12:00 to 2026-02-01T12:00, before none"; got[0] != want {
		e.Errorf("%s, want %s", got[0], want)
	}
}

func chartFill(e *env) {
	e.put(at(0, "a", `{"n":1,"k":"x"}`), at(2, "b", `{"n":2,"k":"y"}`))
	c := e.chart("metadata.n", "metadata.k", "hour", "average")
	c.Fill = true
	e.wantChart(c, "total 2", "2026-01-02T12:00Z x 1 1", "2026-01-02T12:00Z y - 0", "2026-01-02T13:00Z x - 0", "2026-01-02T13:00Z y - 0",
		"2026-01-02T14:00Z x - 0", "2026-01-02T14:00Z y 2 1")
	c = e.chart("metadata.n", "", "hour", "count")
	c.Filters = []query.Filter{e.filter("event_type", "is", "", `"tool"`)}
	c.Fill = true
	from, to := noon-3_600_000, noon+60_000
	c.From, c.To = &from, &to
	e.wantChart(c, "total 1", "2026-01-02T11:00Z - 0 0", "2026-01-02T12:00Z - 1 1")
	from, to = noon+40*dayMillis, noon+41*dayMillis
	c.Bucket = query.Day
	e.wantChart(c, "total 0", "2026-02-11T00:00Z - 0 0", "2026-02-12T00:00Z - 0 0")
	from, to = 0, event.MaxMillis
	c.Bucket = query.Minute
	if _, err := e.s.Chart(e.ctx, e.project, c); fault.Of(err) != fault.Invalid {
		e.Errorf("minutes of all time: %v, want an error of kind Invalid", err)
	}
}

func chartClocks(e *env) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	e.ok(err)
	kathmandu, err := time.LoadLocation("Asia/Kathmandu")
	e.ok(err)
	when := func(name string, t time.Time) event.Incoming {
		x := step("s", name, 0)
		x.Start = float64(t.UnixMilli())
		x.End = x.Start + x.Duration
		return x
	}
	// On 25 October 2026, 02:30 comes twice in Berlin, and the day has 25 hours.
	first := time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC)
	e.put(when("a", first), when("b", first.Add(time.Hour)), when("c", first.Add(22*time.Hour)), when("d", first.Add(23*time.Hour)))
	c := e.chart("duration", "", "hour", "count")
	c.Filters = []query.Filter{e.filter("event_type", "is", "", `"tool"`)}
	c.Zone = berlin
	e.wantChart(
		c,
		"total 4",
		"2026-10-25T02:00+02:00 - 1 1",
		"2026-10-25T02:00+01:00 - 1 1",
		"2026-10-25T23:00+01:00 - 1 1",
		"2026-10-26T00:00+01:00 - 1 1",
	)
	c.Bucket = query.Day
	e.wantChart(c, "total 4", "2026-10-25T00:00+02:00 - 3 3", "2026-10-26T00:00+01:00 - 1 1")
	c.Zone = kathmandu // three quarters of an hour off
	e.wantChart(c, "total 4", "2026-10-25T00:00+05:45 - 2 2", "2026-10-26T00:00+05:45 - 2 2")
}

func chartMidnight(e *env) {
	e.reopen(store.Options{Window: event.Window{Oldest: time.UnixMilli(0), Ahead: 24 * time.Hour}}) // it goes back to 2011
	when := func(name, at string) event.Incoming {
		t, err := time.Parse(time.RFC3339, at)
		e.ok(err)
		x := step("s", name, 0)
		x.Start = float64(t.UnixMilli())
		x.End = x.Start + x.Duration
		return x
	}
	chart := func(zone string, bucket query.Bucket, from, to string) *query.Chart {
		c := e.chart("duration", "", string(bucket), "count")
		var err error
		c.Zone, err = time.LoadLocation(zone)
		e.ok(err)
		c.Filters = []query.Filter{e.filter("event_type", "is", "", `"tool"`)}
		c.Fill = true
		c.From, c.To = pointer(when("", from).Start), pointer(when("", to).Start)
		return c
	}
	e.put(when("a", "2025-09-06T22:30:00-04:00"), when("b", "2025-09-07T01:30:00-03:00"), when("c", "2025-09-08T12:00:00-03:00"),
		when("f", "2025-10-05T02:40:00+11:00"))
	e.wantChart(chart("America/Santiago", query.Day, "2025-09-06T00:00:00-04:00", "2025-09-09T00:00:00-03:00"), "total 3",
		"2025-09-06T00:00-04:00 - 1 1", "2025-09-07T01:00-03:00 - 1 1", "2025-09-08T00:00-03:00 - 1 1", "2025-09-09T00:00-03:00 - 0 0")
	e.wantChart(chart("Pacific/Apia", query.Day, "2011-12-29T00:00:00-10:00", "2012-01-01T01:00:00+14:00"), "total 0",
		"2011-12-29T00:00-10:00 - 0 0", "2011-12-31T00:00+14:00 - 0 0", "2012-01-01T00:00+14:00 - 0 0")
	e.wantChart(chart("Australia/Lord_Howe", query.Hour, "2025-10-05T01:30:00+10:30", "2025-10-05T03:10:00+11:00"), "total 1",
		"2025-10-05T01:00+10:30 - 0 0", "2025-10-05T02:30+11:00 - 1 1", "2025-10-05T03:00+11:00 - 0 0")
}

// chartSessions has an implicit session, one with an end and figures of its own, and an inner
// event of type session.
func chartSessions(e *env) {
	model := func(session, name string) event.Incoming {
		x := step(session, name, 0)
		x.Type, x.Metadata = event.TypeModel, raw(`{"cost":1,"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}`)
		return x
	}
	own := start("own", "own", 0, 7)
	own.Metadata = raw(`{"cost":99}`)
	inner := step("implied", "inner", 0)
	inner.Type = event.TypeSession
	e.put(model("implied", "a"), model("implied", "b"), inner, own, model("own", "c"))
	day := "2026-01-02T00:00Z "
	for _, tt := range []struct{ metric, events, sessions string }{
		{"metadata.cost", "102 4", "101 2"},
		{"metadata.total_tokens", "45 3", "45 2"},
		{"metadata.prompt_tokens", "30 3", "30 2"},
		{"metadata.completion_tokens", "15 3", "15 2"},
		{"metadata.num_events", "", "4 2"},
		{"metadata.num_model_events", "", "3 2"},
		{"duration", "11000 5", "8000 2"}, // of the events and of the session that has an end
	} {
		for _, group := range []string{"", "inputs.nothing"} { // in the database, and on events as they are read
			c := e.chart(tt.metric, group, "day", "sum")
			want := []string{"total 0"}
			if tt.events != "" {
				_, n, _ := strings.Cut(tt.events, " ")
				want = []string{"total " + n, day + "- " + tt.events}
			}
			e.wantChart(c, want...)
			// An inner event of type session has no sums of its session.
			c.Filters = []query.Filter{e.filter("event_type", "is", "", `"session"`), e.filter("parent_id", "not exists", "", "")}
			_, n, _ := strings.Cut(tt.sessions, " ")
			e.wantChart(c, "total "+n, day+"- "+tt.sessions)
		}
	}
	c := e.chart("metadata.cost", "event_type", "day", "sum")
	e.wantChart(c, "total 4", day+"model 3 3", day+"session 99 1")
	c.Filters = []query.Filter{e.filter("event_type", "is", "", `"session"`)}
	e.wantChart(c, "total 2", day+"session 101 2")
	c.Filters = []query.Filter{e.filter("event_type", "is not", "", `"session"`)}
	e.wantChart(c, "total 3", day+"model 3 3")
	c = e.chart("duration", "event_type", "day", "count")
	e.wantChart(c, "total 6", day+"model 3 3", day+"session 3 3")
}

func chartBooleans(e *env) {
	e.put(
		at(0, "a", `{"ok":true}`),
		at(0, "b", `{"ok":false}`),
		at(0, "c", `{"ok":true,"x":{"ok":false}}`),
		at(0, "d", `{"ok":"true"}`),
		at(0, "e", `{"ok":null}`),
		at(0, "f", `{"ok":3}`),
	)
	for aggregation, want := range map[string]string{"avg": "1.25 4", "sum": "5 4", "min": "0 4", "max": "3 4", "median": "1 4"} {
		for _, group := range []string{"", "inputs.nothing"} {
			c := e.chart("metadata.ok", group, "day", aggregation)
			e.wantChart(c, "total 4", "2026-01-02T00:00Z - "+want)
		}
	}
	e.wantChart(e.chart("metadata.x.ok", "", "day", "sum"), "total 1", "2026-01-02T00:00Z - 0 1")
	c := e.chart("metadata.ok", "", "day", "count")
	c.Filters = []query.Filter{e.filter("event_type", "is", "", `"tool"`)}
	e.wantChart(c, "total 6", "2026-01-02T00:00Z - 6 6")
}

func chartRuns(e *env) {
	in := start("s", "of the run", 0, 10)
	in.Metadata = raw(`{"run_id":"r1"}`)
	own := step("t", "own", 1)
	own.Metadata = raw(`{"run_id":"r2"}`)
	e.put(in, step("s", "below", 1), own, step("t", "none", 2))
	c := e.chart("duration", "event_name", "day", "count")
	c.RunID = "r1"
	e.wantChart(c, "total 2", "2026-01-02T00:00Z below 1 1", "2026-01-02T00:00Z of the run 1 1")
	c.RunID, c.InRuns = "", true
	c.Filters = []query.Filter{e.filter("event_name", "is not", "", `"none"`)}
	e.wantChart(
		c,
		"total 4",
		"2026-01-02T00:00Z below 1 1",
		"2026-01-02T00:00Z of the run 1 1",
		"2026-01-02T00:00Z own 2 2",
	) // and its session
}

// chartRandom holds charts of many kinds against a plain sum over all events as they are read.
func chartRandom(e *env) {
	r := rand.New(rand.NewPCG(7, 7))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	for s := range 12 {
		session := fmt.Sprint("s", s)
		var batch []event.Incoming
		for i := range 1 + r.IntN(15) {
			name := fmt.Sprintf("%s-%d", session, i)
			x := call(session, name, r.Float64()*3e6, r.IntN(9), r.IntN(9), float64(r.IntN(9))/4)
			x.Name = pick("a", "b", "ü \"q\"")
			x.Metadata = text(
				`{"n":%s,"a":{"b":%s},"a.b":%s,"d":{"e.f":%s},"d.e":{"g":%s},"list":[%s],"cost":%s,"big":"%s"}`,
				pick("1", "2.50", "1e1", "null", `"7"`, "true"),
				pick(
					"3",
					"null",
					`"x"`,
					"{}",
				),
				pick("4", `"y"`, "null"),
				pick("5", "null"),
				pick("6", `"g"`),
				pick("1", `"z"`, ""),
				pick("0.25", "0.5", "null"),
				strings.Repeat("b", r.IntN(2)*r.IntN(2)*9000),
			)
			x.Inputs, x.Outputs = text(`{"q":%s}`, pick(`"one"`, `"two"`, "5")), text(`{"len":%d}`, r.IntN(5))
			if r.IntN(3) == 0 {
				x.ParentID = id(fmt.Sprintf("%s-%d", session, r.IntN(i+1)))
			}
			batch = append(batch, x)
		}
		e.put(batch...)
	}
	set := e.search(query.Search{})
	all := e.load(set)
	berlin, err := time.LoadLocation("Europe/Berlin")
	e.ok(err)
	for range 250 {
		metric := pick(
			"duration",
			"metadata.n",
			"metadata.a.b",
			"metadata.cost",
			"metadata.num_events",
			"metadata.list.0",
			"outputs.len",
			"start_time",
			"metadata.a",
			"metadata.d.e.f",
			"metadata.d.e.g",
		)
		c := e.chart(
			metric,
			pick(
				"",
				"event_name",
				"event_type",
				"metadata.n",
				"metadata.a.b",
				"session_id",
				"parent_id",
				"source",
				"inputs.q",
				"duration",
				"metadata.num_events",
				"metadata.list",
				"error",
				"metadata.d.e.g",
				"metadata.d.e.f.x",
			),
			pick("hour", "day", "week", "month"),
			pick("avg", "sum", "count", "min", "max", "median", "p95"),
		)
		if r.IntN(2) == 0 {
			c.Zone = berlin
		}
		if r.IntN(5) == 0 {
			c.Bucket = query.Whole
		}
		var fs []query.Filter
		switch r.IntN(5) {
		case 4:
			fs = append(fs, e.filter("event_type", "is", "", `"session"`))
		case 0:
			fs = append(fs, e.filter("metadata.n", "greater than", "number", "1"))
		case 1:
			fs = append(fs, e.filter("inputs.q", "is", "", `"one"`))
		case 2:
			fs = append(fs, e.filter("event_type", "is not", "", `"session"`))
		}
		c.Filters = fs
		got, err := e.s.Chart(e.ctx, e.project, c)
		e.ok(err)
		want := plainChart(all, c, metric)
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 1e-9), cmpopts.EquateEmpty()); diff != "" {
			e.Fatalf("chart of %v by %v, %s, %s, filters %+v (-want +got):\n%s", c.Metric, c.Group, c.Bucket, c.Aggregation, fs, diff)
		}
	}
}

// plainChart returns what a chart means, without bounds.
func plainChart(all []event.Event, c *query.Chart, name string) *query.ChartAnswer {
	type key struct {
		start int64
		group string
		null  bool
	}
	values := map[key][]float64{}
	answer := &query.ChartAnswer{}
	for i := range all {
		x := &all[i]
		if !query.Match(x, c.Filters) {
			continue
		}
		v, ok := c.Metric.Number(x)
		if x.IsSession() && !query.AsksForSessions(c.Filters) { // its figures are those of its events
			ok = ok && name != "duration" && !strings.HasPrefix(name, "metadata.")
		}
		if !ok && c.Aggregation != query.Count {
			continue
		}
		k := key{start: c.Bucket.Start(time.UnixMilli(int64(math.Floor(x.Start))), c.Zone).UnixMilli(), null: true}
		if c.Group != nil {
			if text, ok := c.Group.Text(x); ok {
				k.group, k.null = text, false
			}
		}
		values[k] = append(values[k], v)
		answer.Total++
	}
	var keys []key
	for k := range values {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int {
		switch {
		case a.start != b.start:
			return int(a.start/1000 - b.start/1000)
		case a.null != b.null:
			return map[bool]int{true: 1, false: -1}[a.null]
		}
		return strings.Compare(a.group, b.group)
	})
	for _, k := range keys {
		list := values[k]
		slices.Sort(list)
		sum := 0.0
		for _, v := range list {
			sum += v
		}
		v := 0.0
		switch c.Aggregation {
		case query.Average:
			v = sum / float64(len(list))
		case query.Sum:
			v = sum
		case query.Count:
			v = float64(len(list))
		case query.Min:
			v = list[0]
		case query.Max:
			v = list[len(list)-1]
		default:
			q, _ := c.Aggregation.Quantile()
			v = run.Quantile(list, q)
		}
		p := query.ChartPoint{Start: time.UnixMilli(k.start).In(c.Zone), Value: &v, Count: int64(len(list))}
		if !k.null {
			p.Group = pointer(k.group)
		}
		answer.Points = append(answer.Points, p)
	}
	return answer
}
