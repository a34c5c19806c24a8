package alert

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func ptr[T any](v T) *T { return &v }

// valid returns an alert that breaks no rule.
func valid() Alert {
	a := New()
	a.ID, a.Name, a.Metric = "x", "slow", "duration"
	a.Complete()
	return a
}

// Stored documents are read by later versions: neither names nor order may change.
func TestStoredDocument(t *testing.T) {
	a := valid()
	a.Description, a.ChartID, a.Query = "why", "c", json.RawMessage(`[{"field":"é"}]`)
	a.Compare, a.Op, a.Threshold, a.Every, a.For, a.MinEvents, a.Timezone = WeekBefore, Below, 2.5, 5, 10, 3, "Europe/Berlin"
	a.TellNoData, a.SilencedUntil = true, 7
	a.To = []Channel{{ID: "1", Type: Webhook, Host: "https://a.example/…", URL: []byte("u"), Secret: []byte("s")}, {ID: "2", Type: Email, Mail: []string{"a@b.c"}}}
	const want = `{"name":"slow","description":"why","enabled":true,"chart_id":"c","metric":"duration","func":"average","query":[{"field":"é"}],` +
		`"compare":"week_before","op":"below","threshold":2.5,"window_minutes":60,"every_minutes":5,"for_minutes":10,"min_events":3,` +
		`"timezone":"Europe/Berlin","notify_no_data":true,"silenced_until":7,"channels":[{"id":"1","type":"webhook","host":"https://a.example/…",` +
		`"url":"dQ==","secret":"cw=="},{"id":"2","type":"email","to":["a@b.c"]}]}`
	if got := string(a.Doc()); got != want {
		t.Errorf("stored\n%s, want\n%s", got, want)
	}
	a.ID = ""
	if diff := cmp.Diff(a, FromDoc(json.RawMessage(want))); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func TestValidate(t *testing.T) {
	if a := valid(); a.Validate() != nil {
		t.Fatal(a.Validate())
	}
	for want, change := range map[string]func(*Alert){
		"name: is required":                  func(a *Alert) { a.Name = " " },
		"name: must be at most":              func(a *Alert) { a.Name = strings.Repeat("é", 201) },
		"description:":                       func(a *Alert) { a.Description = strings.Repeat("x", MaxText+1) },
		"metric: is required":                func(a *Alert) { a.Metric = "" },
		"query:":                             func(a *Alert) { a.Query = json.RawMessage(strings.Repeat(" ", MaxQuery+1)) },
		"compare:":                           func(a *Alert) { a.Compare = "month" },
		"op:":                                func(a *Alert) { a.Op = "" },
		"threshold: must be a number":        func(a *Alert) { a.Threshold = math.NaN() },
		"threshold: is a change in percent":  func(a *Alert) { a.Compare, a.Threshold = WeekBefore, -1 },
		"window_minutes: must be between 1":  func(a *Alert) { a.Window = 0 },
		"every_minutes:":                     func(a *Alert) { a.Every = MaxEvery + 1 },
		"for_minutes:":                       func(a *Alert) { a.For = -1 },
		"timezone: unknown":                  func(a *Alert) { a.Timezone = "Mars" },
		"timezone: unknown time zone \"Loca": func(a *Alert) { a.Timezone = "Local" },
		"channels: must be at most 10":       func(a *Alert) { a.To = make([]Channel, 11) },
		"channels[0].type:":                  func(a *Alert) { a.To = []Channel{{Type: "fax"}} },
		"channels[0].url: is required":       func(a *Alert) { a.To = []Channel{{Type: Slack}} },
		"channels[0].secret: is required":    func(a *Alert) { a.To = []Channel{{Type: Webhook, URL: []byte("u")}} },
		"channels[0].to: is required":        func(a *Alert) { a.To = []Channel{{Type: Email}} },
		"channels[0].to: \"a@b\\r\\nRCPT":    func(a *Alert) { a.To = []Channel{{Type: Email, Mail: []string{"a@b\r\nRCPT TO:<c@d>"}}} },
		"channels[0].to: \"Ann <a@b.c>\" is": func(a *Alert) { a.To = []Channel{{Type: Email, Mail: []string{"Ann <a@b.c>"}}} },
	} {
		a := valid()
		change(&a)
		if err := a.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestApply(t *testing.T) {
	a := New()
	a.Apply(&Update{Name: ptr("n"), Metric: ptr("cost"), Func: ptr("count")})
	if a.MinEvents != 0 || !a.Enabled {
		t.Errorf("a count needs no events: %+v", a)
	}
	a.Apply(&Update{Func: ptr("p95")})
	if a.MinEvents != 1 {
		t.Errorf("a percentile does: %d", a.MinEvents)
	}
	a.Apply(&Update{ChartID: ptr("c")})
	if a.ChartID != "c" || a.Metric != "" || a.Func != "" {
		t.Errorf("a chart says all: %+v", a)
	}
	a.Apply(&Update{Metric: ptr("duration")})
	if a.ChartID != "" || a.Metric != "duration" || a.Func != "average" {
		t.Errorf("and a metric takes its place: %+v", a)
	}
}

func TestDue(t *testing.T) {
	a := valid()
	at := time.Date(2026, 3, 2, 10, 0, 59, 0, time.UTC).UnixMilli()
	if got := a.NextDue(at); got != time.Date(2026, 3, 2, 10, 1, 0, 0, time.UTC).UnixMilli() {
		t.Errorf("each minute: %v", time.UnixMilli(got).UTC())
	}
	if a.NextDue(a.NextDue(at)) <= a.NextDue(at) {
		t.Error("the next due time is not later than a due time")
	}
	a.Window = 24 * 60
	if got := a.EveryMinutes(); got != 24 {
		t.Errorf("a day is measured every %d minutes", got)
	}
	a.Enabled = false
	if a.NextDue(at) != 0 {
		t.Error("a disabled alert is due")
	}
}

func TestWeekBefore(t *testing.T) {
	a := valid()
	a.Compare, a.Timezone = WeekBefore, "Europe/Berlin"
	berlin, err := time.LoadLocation(a.Timezone)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 30, 9, 0, 0, 0, berlin) // the day after clocks went forward
	now, before := a.Measured(at.UnixMilli())
	if want := (Range{at.Add(-time.Hour).UnixMilli(), at.UnixMilli()}); now != want {
		t.Errorf("now %v, want %v", now, want)
	}
	if got := time.UnixMilli(before.To).In(berlin); got.Hour() != 9 || got.Weekday() != at.Weekday() || before.To-before.From != 3_600_000 {
		t.Errorf("the week before it ends at %v", got)
	}
}

func TestBreach(t *testing.T) {
	for _, tt := range []struct {
		name       string
		change     func(*Alert)
		r          Reading
		out, known bool
	}{
		{"above", nil, Reading{Value: ptr(2.0), Events: 1}, true, true},
		{"at the threshold", nil, Reading{Value: ptr(1.0), Events: 1}, false, true},
		{"below", func(a *Alert) { a.Op = Below }, Reading{Value: ptr(0.5), Events: 1}, true, true},
		{"no value", nil, Reading{Events: 3}, false, false},
		{"an error", nil, Reading{Value: ptr(2.0), Events: 1, Error: "x"}, false, false},
		{"too few", func(a *Alert) { a.MinEvents = 5 }, Reading{Value: ptr(2.0), Events: 4}, false, false},
		{"a week: up", week(20, Above), Reading{Value: ptr(121.0), Before: ptr(100.0), Events: 1, EventsBefore: 1}, true, true},
		{"a week: not enough", week(20, Above), Reading{Value: ptr(119.0), Before: ptr(100.0), Events: 1, EventsBefore: 1}, false, true},
		{"a week: down", week(20, Below), Reading{Value: ptr(79.0), Before: ptr(100.0), Events: 1, EventsBefore: 1}, true, true},
		{"a week: up is not down", week(20, Below), Reading{Value: ptr(200.0), Before: ptr(100.0), Events: 1, EventsBefore: 1}, false, true},
		{"a week: from nothing", week(20, Above), Reading{Value: ptr(1.0), Before: ptr(0.0), Events: 1, EventsBefore: 1}, true, true},
		{"a week: nothing and nothing", week(0, Above), Reading{Value: ptr(0.0), Before: ptr(0.0), Events: 1, EventsBefore: 1}, false, true},
		{"a week: less negative", week(20, Above), Reading{Value: ptr(-50.0), Before: ptr(-100.0), Events: 1, EventsBefore: 1}, true, true},
		{"a week: too few then", week(20, Above), Reading{Value: ptr(1.0), Before: ptr(2.0), Events: 1}, false, false},
	} {
		a := valid()
		a.Threshold = 1
		if tt.change != nil {
			tt.change(&a)
		}
		if out, known := a.Breach(&tt.r); out != tt.out || known != tt.known {
			t.Errorf("%s: out %v, known %v", tt.name, out, known)
		}
	}
}

func week(percent float64, op string) func(*Alert) {
	return func(a *Alert) { a.Compare, a.Threshold, a.Op = WeekBefore, percent, op }
}

// TestStep walks an alert through its states. A step is a minute; v is the value measured, ? no data.
func TestStep(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Alert)
		values string // of each minute
		want   string // state and notice of each minute
	}{
		{"at once", nil, "0 2 2 0 0", "ok firing+firing firing ok+resolved ok"},
		{"for two minutes", func(a *Alert) { a.For = 2 }, "2 2 0 2 2 2 2 0", "ok ok ok ok ok firing+firing firing ok+resolved"},
		{"no data is no end", nil, "2 ? ? 2 0", "firing+firing no_data no_data firing ok+resolved"},
		{"no data, then within bounds", nil, "2 ? 0", "firing+firing no_data ok+resolved"},
		{"no data does not add up", func(a *Alert) { a.For = 2 }, "2 ? 2 2 2", "ok no_data ok ok firing+firing"},
		{"no data is told", func(a *Alert) { a.TellNoData = true }, "0 ? ? 0 ?", "ok no_data+no_data no_data ok no_data+no_data"},
		{"silenced", func(a *Alert) { a.SilencedUntil = 3 * minute }, "2 2 2 2 0", "firing firing firing+firing firing ok+resolved"},
		{"silenced to its end", func(a *Alert) { a.SilencedUntil = 9 * minute }, "2 2 0 2", "firing firing ok firing"},
	} {
		a := valid()
		a.Threshold = 1
		if tt.change != nil {
			tt.change(&a)
		}
		var s Status
		var got []string
		incidents := map[string]string{}
		for i, v := range strings.Fields(tt.values) {
			r := Reading{At: int64(i+1) * minute, Events: 1}
			if v != "?" {
				r.Value = ptr(float64(v[0] - '0'))
			}
			_, tell := s.Step(&a, &r)
			step := s.State
			if tell.Kind != "" {
				step += "+" + tell.Kind
			}
			switch tell.Kind {
			case KindFiring:
				incidents["open"] = tell.Incident
			case KindResolved:
				if tell.Incident == "" || tell.Incident != incidents["open"] {
					t.Errorf("%s: %q ends, %q began", tt.name, tell.Incident, incidents["open"])
				}
			}
			got = append(got, step)
			s = StatusFromDoc(s.Doc()) // as from one due time to the next
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	a := valid()
	a.Threshold, a.For = 1, 2
	ahead := Status{State: OK, BreachSince: 1000 * minute} // of a clock that was ahead
	for i, want := range []string{OK, OK, Firing} {
		ahead.Step(&a, &Reading{At: int64(i+1) * minute, Events: 1, Value: ptr(2.0)})
		if ahead.State != want {
			t.Errorf("minute %d after the clock was set back: %s, want %s", i+1, ahead.State, want)
		}
	}
	a.To = []Channel{{ID: "old"}, {ID: "new"}}
	s := Status{State: Firing, Incident: "i", Told: true, Unheard: []string{"new"}}
	if diff := cmp.Diff(Told{KindResolved, "i", a.To[:1]}, s.Stop(&a)); diff != "" {
		t.Errorf("switched off (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Status{}, s); diff != "" {
		t.Errorf("then (-want +got):\n%s", diff)
	}
}

// A channel that comes while an incident lasts hears that the alert fires once it is not silenced, and nothing if it is over before that.
func TestJoin(t *testing.T) {
	a := valid()
	a.Threshold, a.SilencedUntil = 1, 3*minute
	before := a
	before.To = []Channel{{ID: "old"}, {ID: "goes"}}
	a.To = []Channel{{ID: "old"}, {ID: "new"}}
	for _, tt := range []struct {
		values string
		want   string
	}{{"2 2 2 0", "- - firing:new resolved:old,new"}, {"2 0 2", "- resolved:old firing:old,new"}} {
		s := Status{State: Firing, Incident: "i", Told: true, Unheard: []string{"goes"}}
		if !s.Join(&a, &before) || s.Join(&a, &a) {
			t.Error("one channel was added, and then none")
		}
		var got []string
		for i, v := range strings.Fields(tt.values) {
			_, tell := s.Step(&a, &Reading{At: int64(i+1) * minute, Events: 1, Value: ptr(float64(v[0] - '0'))})
			s = StatusFromDoc(s.Doc())
			var ids []string
			for _, c := range tell.To {
				ids = append(ids, c.ID)
			}
			if tell.Kind == "" {
				got = append(got, "-")
			} else {
				got = append(got, tell.Kind+":"+strings.Join(ids, ","))
			}
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.values, diff)
		}
	}
	if (&Status{State: Firing, Incident: "i"}).Join(&a, &before) {
		t.Error("nobody was told, but one has not heard")
	}
}

func TestFigures(t *testing.T) {
	for _, tt := range []struct {
		unit Unit
		v    float64
		want string
	}{
		{"", 1576.123456, "1576.12"}, {"", -3, "-3"},
		{Milliseconds, 0, "0 ms"}, {Milliseconds, 0.42, "0.4 ms"}, {Milliseconds, 0.97, "1 ms"}, {Milliseconds, 99.6, "100 ms"}, {Milliseconds, 999.6, "1.00 s"},
		{Milliseconds, 1576.1, "1.58 s"}, {Milliseconds, 59_400, "59.4 s"}, {Milliseconds, 59_600, "1 m"}, {Milliseconds, 75_000, "1 m 15 s"},
		{Milliseconds, 3_599_900, "1 h"}, {Milliseconds, 5_400_000, "1 h 30 m"}, {Milliseconds, -1576.1, "-1.58 s"},
		{Dollars, 0, "$0"}, {Dollars, 12.3456, "$12.35"}, {Dollars, 5, "$5"}, {Dollars, 0.5, "$0.50"}, {Dollars, 0.000423, "$0.00042"}, {Dollars, 1e-12, "$0.00000000"},
		{Rate, 0.9751, "97.5%"}, {Rate, 1, "100%"}, {Rate, 0, "0%"},
	} {
		if got := tt.unit.Figure(tt.v); got != tt.want {
			t.Errorf("%g %s: %s, want %s", tt.v, tt.unit, got, tt.want)
		}
	}
	for _, tt := range []struct {
		unit     Unit
		v, other float64
		want     string
	}{
		{Milliseconds, 2001, 2000, "2001 ms"}, {Milliseconds, 2000, 2000, "2.00 s"}, {Milliseconds, 2100, 2000, "2.10 s"}, {Milliseconds, 3_600_400, 3_600_000, "3600400 ms"},
		{Dollars, 5.004, 5, "$5.004"}, {Dollars, -5.004, -5, "-$5.004"}, {Rate, 0.95004, 0.95, "95.004%"}, {Rate, 1e-9, 0, "0.0000001%"}, {"", 1000000.5, 1000000, "1000000.5"},
		{"", 0.30000000000000004, 0.3, "0.30000000000000004"},
	} {
		if got := tt.unit.FigureBeside(tt.v, tt.other); got != tt.want {
			t.Errorf("%g %s beside %g: %s, want %s", tt.v, tt.unit, tt.other, got, tt.want)
		}
	}
	a := valid()
	a.Threshold = 0.95
	if got := a.ConditionIn(Rate); !strings.HasPrefix(got, "above 95% over ") {
		t.Errorf("condition: %s", got)
	}
	a.Compare = WeekBefore
	if got := a.ConditionIn(Milliseconds); !strings.HasPrefix(got, "more than 0.95 % above the week before") {
		t.Errorf("condition of weeks: %s", got)
	}
}

func TestNotice(t *testing.T) {
	a := valid()
	a.Compare, a.Threshold, a.For = WeekBefore, 20, 10
	r := Reading{At: 10 * minute * 60, Value: ptr(1200.5), Before: ptr(1000.0), Events: 40, EventsBefore: 30}
	n := NewNotice(&a, &Channel{ID: "c", Type: Email, Mail: []string{"a@b.c"}}, &r, Told{Kind: KindFiring, Incident: "i"}, Measures{Name: "average of duration", Filter: "type:model", Unit: Milliseconds})
	if got, want := n.Title()+". "+n.Text(), "Alert: slow. Average of duration (type:model) is 1.20 s, a week before it was 1.00 s (40 events). "+
		"It fires when more than 20 % above the week before over 1 hour, for 10 minutes."; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	named := n
	if named.Measures = "überall"; !strings.HasPrefix(named.Text(), "Überall (type:model) is 1.20 s") {
		t.Errorf("a name that begins beyond ASCII: %q", named.Text())
	}
	n.Attempts = 1
	n.Tried(Outcome{Status: 500, Error: "answered 500"}, 1000)
	if n.State != Waiting || n.Due != 11_000 {
		t.Errorf("the first attempt failed: %+v", n)
	}
	n.Attempts = MaxAttempts
	n.Tried(Outcome{Error: "nobody there"}, 1000)
	if n.State != Failed || n.Finished != 1000 {
		t.Errorf("all attempts failed: %+v", n)
	}
	n.Attempts = 2
	n.Tried(Outcome{Status: 204}, 2000)
	if n.State != Sent || n.Error != "" {
		t.Errorf("taken: %+v", n)
	}
	old := n
	for attempts, want := range map[int]NoticeState{fewAttempts - 1: Waiting, fewAttempts: Failed} {
		old.Attempts, old.Created = attempts, 1
		old.Tried(Outcome{Error: "nobody there"}, (5 * time.Hour).Milliseconds())
		if old.State != want {
			t.Errorf("one of five hours ago is %s after %d attempts, want %s", old.State, attempts, want)
		}
	}
	var all time.Duration
	for i := 1; i < MaxAttempts; i++ {
		all += Pause(i)
	}
	if all < 3*time.Hour || all > 4*time.Hour {
		t.Errorf("attempts go on for %s", all)
	}
	again := NoticeFromDoc(n.Doc())
	again.AlertID, again.State, again.Attempts = n.AlertID, n.State, n.Attempts
	if diff := cmp.Diff(n, again); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}
