package wire

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spangrove/spangrove/pkg/alert"
	"github.com/spangrove/spangrove/pkg/chart"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// alertFields are the fields of an alert that may be set.
var alertFields = []string{"name", "description", "enabled", "chart_id", "metric", "func", "query", "compare", "op", "threshold", "window_minutes",
	"every_minutes", "for_minutes", "min_events", "timezone", "notify_no_data", "silenced_until", "channels"}

// DecodeAlert reads the body of an alert's creation or of its update. What it asks for must be what an events chart can answer
// (DecodeChart). Errors are fault.Invalid naming the field, for an unknown one the nearest that an alert has.
func DecodeAlert(body []byte) (u alert.Update, err error) {
	unknown := ""
	texts := map[string]**string{"name": &u.Name, "description": &u.Description, "chart_id": &u.ChartID, "metric": &u.Metric, "func": &u.Func,
		"compare": &u.Compare, "op": &u.Op, "timezone": &u.Timezone}
	flags := map[string]**bool{"enabled": &u.Enabled, "notify_no_data": &u.TellNoData}
	numbers := map[string]**int64{"window_minutes": &u.Window, "every_minutes": &u.Every, "for_minutes": &u.For, "min_events": &u.MinEvents}
	err = eachMember(body, func(key string, raw []byte) (err error) {
		switch {
		case texts[key] != nil:
			if err = setTextPointer(texts[key], raw); err == nil {
				err = checkAlertText(key, **texts[key])
			}
		case flags[key] != nil:
			err = setBoolPointer(flags[key], raw)
		case numbers[key] != nil:
			var n int64
			n, err = readWhole(raw)
			*numbers[key] = &n
		case key == "threshold":
			var f float64
			f, err = readDouble(raw)
			u.Threshold = &f
		case key == "query":
			u.Query, err = readFilters(raw)
		case key == "silenced_until":
			u.SilencedUntil, err = readSilence(raw)
		case key == "channels":
			u.Channels, err = readChannels(raw)
		case slices.Contains([]string{"id", "status", "condition", "next_at", "created_at", "updated_at"}, key): // who sends back an alert as it was read
		default:
			unknown = key
		}
		return err
	})
	if err == nil && unknown != "" {
		err = notKnown("field", unknown, alertFields)
	}
	return u, err
}

// checkAlertText checks the texts that say what is measured.
func checkAlertText(key, text string) (err error) {
	switch {
	case text == "":
	case key == "metric":
		_, err = chartMetric(text)
	case key == "func":
		_, err = query.ParseAggregation(text, "")
	}
	return rename("", err)
}

// readSilence reads until when an alert is silent: a time, 0 for no longer.
func readSilence(raw []byte) (*int64, error) {
	if text, ok := rawjson.Text(raw); ok {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return nil, fault.New(fault.Invalid, "must be a time such as 2026-01-31T12:00:00Z, or 0")
		}
		ms := max(at.UnixMilli(), 0)
		return &ms, nil
	}
	ms, err := readMillis(raw)
	if err != nil {
		return nil, err
	}
	n := int64(*ms)
	return &n, nil
}

func readChannels(raw []byte) (*[]alert.NewChannel, error) {
	if rawjson.KindOf(raw) != '[' {
		return nil, wrong("an array of channels", raw)
	}
	list := []alert.NewChannel{}
	for i, one := range rawjson.Array(raw) {
		if i == alert.MaxChannels {
			return nil, fault.New(fault.Invalid, "must have at most %d elements", alert.MaxChannels)
		}
		if rawjson.KindOf(one) != '{' {
			return nil, fault.In(indexed("", i), wrong("an object", one))
		}
		c, err := readChannel(one)
		if err != nil {
			return nil, fault.In(indexed("", i), err)
		}
		list = append(list, c)
	}
	return &list, nil
}

// channelFields are the fields of a channel that may be set.
var channelFields = []string{"id", "type", "url", "secret", "to"}

func readChannel(raw []byte) (c alert.NewChannel, err error) {
	unknown := ""
	fields := map[string]*string{"id": &c.ID, "type": &c.Type, "url": &c.URL, "secret": &c.Secret}
	err = eachOf(raw, func(key string, raw []byte) (err error) {
		switch {
		case fields[key] != nil:
			*fields[key], err = readText(raw)
		case key == "to":
			c.Mail, err = readTexts(raw, 100)
		case key == "host", key == "signed": // as answers show it
		default:
			unknown = key
		}
		return err
	})
	if err == nil && unknown != "" {
		err = notKnown("field", unknown, channelFields)
	}
	return c, err
}

// asked returns what an alert asks for itself, or by the chart that it names, nil if it names none.
func asked(a *alert.Alert, saved *chart.Chart) (metric, how string, filters json.RawMessage) {
	if saved != nil {
		return saved.Metric, saved.Func, saved.Query
	}
	return a.Metric, a.Func, a.Query
}

// AlertChart returns the chart that an alert asks for, of all time: its one point is the figure that is watched. saved is the chart that
// it names, nil if it names none. Its groups are not told apart, and its range is the caller's to set.
func AlertChart(a *alert.Alert, saved *chart.Chart) (*query.Chart, error) {
	metric, how, filters := asked(a, saved)
	c := &query.Chart{Bucket: query.Whole, Zone: time.UTC}
	var err error
	if c.Metric, err = chartMetric(metric); err != nil {
		return nil, fault.In("metric", err)
	}
	if c.Aggregation, err = query.ParseAggregation(how, "func"); err != nil {
		return nil, err
	}
	if filters == nil {
		filters = json.RawMessage("[]")
	}
	if c.Filters, err = query.ParseFilters(filters, "query"); err != nil {
		return nil, err
	}
	c.Filters = query.OmitEvaluators(c.Filters)
	return c, nil
}

// maxFilterText bounds the text of filters in notices, in characters.
const maxFilterText = 300

// AlertMeasures says what an alert measures, for people. saved is the chart that it names, nil if it names none.
func AlertMeasures(a *alert.Alert, saved *chart.Chart) (m alert.Measures) {
	metric, how, filters := asked(a, saved)
	if saved != nil {
		m.Name = saved.Name + ": "
	}
	if how == "" {
		how = "average"
	}
	if list, err := query.ParseFilters(filters, "query"); err == nil { // else nothing is measured, and the reading says why
		m.Filter = query.FilterText(list)
		if runes := []rune(m.Filter); len(runes) > maxFilterText {
			m.Filter = string(runes[:maxFilterText]) + "…"
		}
	}
	if how == "count" {
		m.Name += "number of events"
		return m
	}
	m.Name += how + " of " + strings.TrimPrefix(metric, "metrics.")
	field := metricField(metric)
	if name, ok := strings.CutPrefix(field, "metrics."); ok && slices.Contains([]string{"average", "avg", "mean"}, how) {
		m.Metric = name
	}
	switch {
	case field == "duration":
		m.Unit = alert.Milliseconds
	case strings.HasSuffix(field, ".cost"):
		m.Unit = alert.Dollars
	}
	return m
}

// AlertPath returns the path of the field that an alert sums up, if events may have it or not; "" if each has it, or the alert counts events.
// saved is the chart that it names, nil if it names none.
func AlertPath(a *alert.Alert, saved *chart.Chart) string {
	metric, how, _ := asked(a, saved)
	if how == "count" {
		return ""
	}
	path := metricField(metric)
	for _, full := range chartNames {
		if path == full {
			return ""
		}
	}
	if !strings.Contains(path, ".") {
		return ""
	}
	return path
}

// AlertWarnings returns what is wrong with the field of AlertPath, for people: nothing if it is among the known ones.
func AlertWarnings(path string, known []string) []string {
	if slices.Contains(known, path) {
		return nil
	}
	text := "no event has had " + path + " so far"
	if name, ok := strings.CutPrefix(path, "metrics."); ok {
		text += ", and no metric of the project is called " + name
	}
	text += ": until an event has it, the alert has no data"
	if near := nearest(path, known); near != "" {
		text += "; did you mean " + near + "?"
	}
	return []string{text}
}

// WindowWarning returns why an alert on how long events last can never fire, for people; "" if it can. An event is stored once it has ended, so
// that none which has begun in a window lasted longer than that. saved is the chart that it names, nil if it names none.
func WindowWarning(a *alert.Alert, saved *chart.Chart) string {
	metric, how, _ := asked(a, saved)
	lasts := metricField(metric) == "duration" && !slices.Contains([]string{"count", "sum"}, how)
	if window := float64(a.Window * 60_000); !lasts || a.Compare != alert.Value || a.Op != alert.Above || a.Threshold < window {
		return ""
	}
	return "it can never fire: an event is stored once it has ended, so none that began within the window lasted longer than that; take a longer window"
}

// AppendAlert appends an alert as answers show it. Addresses of webhooks are shown by their hosts, secrets not at all.
func AppendAlert(dst []byte, a *alert.Alert) []byte {
	b := itemOf(a.ID, V1)
	b.String("name", a.Name)
	b.String("description", a.Description)
	b.Bool("enabled", a.Enabled)
	textOrNull(b, "chart_id", a.ChartID)
	textOrNull(b, "metric", a.Metric)
	textOrNull(b, "func", a.Func)
	filters := a.Query
	if filters == nil {
		filters = json.RawMessage("[]")
	}
	b.Raw("query", filters)
	b.String("compare", a.Compare)
	b.String("op", a.Op)
	b.Number("threshold", a.Threshold)
	b.Int("window_minutes", a.Window)
	b.Int("every_minutes", a.EveryMinutes())
	b.Int("for_minutes", a.For)
	b.Int("min_events", a.MinEvents)
	b.String("timezone", a.Timezone)
	b.Bool("notify_no_data", a.TellNoData)
	timeOrNull(b, "silenced_until", a.SilencedUntil)
	b.Raw("channels", alertChannels(a.To))
	b.String("condition", a.Condition())
	b.Raw("status", alertStatus(&a.Status, a.Compare))
	timeOrNull(b, "next_at", a.Next)
	addTimes(b, a.Created, a.Updated, V1)
	return append(dst, b.Bytes()...)
}

func textOrNull(b *rawjson.Builder, name, text string) {
	if text == "" {
		b.Raw(name, []byte("null"))
		return
	}
	b.String(name, text)
}

func timeOrNull(b *rawjson.Builder, name string, ms int64) {
	if ms == 0 {
		b.Raw(name, []byte("null"))
		return
	}
	b.String(name, isoTime(ms))
}

func alertChannels(list []alert.Channel) json.RawMessage {
	out := []byte{'['}
	for i := range list {
		c := &list[i]
		var b rawjson.Builder
		b.String("id", c.ID)
		b.String("type", c.Type)
		if c.Type == alert.Email {
			b.Raw("to", stringArray(c.Mail))
		} else {
			b.String("host", c.Host)
			b.Bool("signed", c.Secret != nil)
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, b.Bytes()...)
	}
	return append(out, ']')
}

func stringArray(list []string) json.RawMessage {
	out := []byte{'['}
	for i, t := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = rawjson.AppendString(out, t)
	}
	return append(out, ']')
}

// addReading adds what was measured.
func addReading(b *rawjson.Builder, r *alert.Record, compare string) {
	numberOrNull(b, "value", r.Value)
	b.Int("events", r.Events)
	if compare == alert.WeekBefore {
		numberOrNull(b, "before", r.Before)
		b.Int("events_before", r.EventsBefore)
		numberOrNull(b, "change_percent", r.Percent())
	}
	if r.Error != "" {
		b.String("error", r.Error)
	}
}

func alertStatus(s *alert.Status, compare string) json.RawMessage {
	var b rawjson.Builder
	textOrNull(&b, "state", s.State)
	timeOrNull(&b, "since", s.Since)
	timeOrNull(&b, "evaluated_at", s.Evaluated)
	pending := s.BreachSince
	if s.State == alert.Firing {
		pending = 0
	}
	timeOrNull(&b, "pending_since", pending)
	textOrNull(&b, "incident", s.Incident)
	addReading(&b, &s.Last, compare)
	return b.Bytes()
}

// AppendAlertChange appends an entry of an alert's history.
func AppendAlertChange(dst []byte, c *alert.Change) []byte {
	var b rawjson.Builder
	timeOrNull(&b, "at", c.At)
	textOrNull(&b, "from", c.From)
	textOrNull(&b, "to", c.To)
	textOrNull(&b, "incident", c.Incident)
	b.Bool("silenced", c.Silenced)
	compare := alert.Value
	if c.Before != nil || c.EventsBefore != 0 {
		compare = alert.WeekBefore
	}
	addReading(&b, &c.Record, compare)
	return append(dst, b.Bytes()...)
}

// AppendNotice appends a notice of an alert, and what became of it.
func AppendNotice(dst []byte, n *alert.Notice) []byte {
	b := itemOf(n.ID, V1)
	b.String("kind", n.Kind)
	b.String("state", string(n.State))
	b.String("channel_id", n.ChannelID)
	b.String("type", n.Type)
	b.String("where", n.Host)
	textOrNull(b, "incident", n.Incident)
	b.String("title", n.Title())
	b.String("text", n.Text())
	b.Int("attempts", int64(n.Attempts))
	if n.Status == 0 {
		b.Raw("status", []byte("null"))
	} else {
		b.Int("status", int64(n.Status))
	}
	textOrNull(b, "error", n.Error)
	timeOrNull(b, "next_at", n.Due)
	timeOrNull(b, "created_at", n.Created)
	timeOrNull(b, "finished_at", n.Finished)
	return append(dst, b.Bytes()...)
}

// AlertTest is the answer to a test of an alert: what it measures now, whether it would fire, and what became of the notices.
func AlertTest(a *alert.Alert, r *alert.Reading, notices []alert.Notice) json.RawMessage {
	var b, reading rawjson.Builder
	out, known := a.Breach(r)
	state := alert.OK
	switch {
	case !known:
		state = alert.NoData
	case out:
		state = alert.Firing
	}
	reading.String("state", state)
	addReading(&reading, &alert.Record{Value: r.Value, Events: r.Events, Before: r.Before, EventsBefore: r.EventsBefore, Error: r.Error}, a.Compare)
	b.Bool("success", !slices.ContainsFunc(notices, func(n alert.Notice) bool { return n.State != alert.Sent || n.Error != "" }))
	b.Raw("reading", reading.Bytes())
	list := []byte{'['}
	for i := range notices {
		if i > 0 {
			list = append(list, ',')
		}
		list = AppendNotice(list, &notices[i])
	}
	b.Raw("notices", append(list, ']'))
	return b.Bytes()
}
