package alerting

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/spangrove/spangrove/pkg/alert"
	"github.com/spangrove/spangrove/pkg/chart"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	definition "github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// secret is one that notices of tests are signed with.
var secret = "whsec_" + base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))

// noon is a Monday's.
var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// world is a store with a project, a receiver of notices, and a clock that stands.
type world struct {
	*testing.T
	s       *store.Store
	project project.Project
	r       *Runner
	hook    *receiver

	mu  sync.Mutex
	now time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, now: noon, hook: newReceiver(t)}
	var err error
	if w.s, err = store.OpenSQLite(t.Context(), t.TempDir(), store.Options{Now: w.Now, Synchronous: "normal"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if w.project, err = w.s.EnsureProject(t.Context(), "default"); err != nil {
		t.Fatal(err)
	}
	w.r = w.runner(Options{})
	return w
}

// runner returns a runner on the store. Addresses and secrets stand in the channels as they are.
func (w *world) runner(o Options) *Runner {
	w.Helper()
	o.Now, o.Allowed = w.Now, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	o.Open = func(_ int64, c *alert.Channel) (string, string, error) { return string(c.URL), string(c.Secret), nil }
	r, err := New(w.s, o)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(r.Stop)
	return r
}

func (w *world) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) move(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// put stores events that last so many milliseconds, a minute before now.
func (w *world) put(ago time.Duration, durations ...float64) {
	w.Helper()
	var b event.Batch
	for _, d := range durations {
		e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.NewSHA1(uuid.Nil, nil), Type: event.TypeTool, Name: "x", Source: "test",
			Start: float64(w.Now().Add(-ago).UnixMilli()), Duration: d}}
		e.Complete(time.Time{})
		b.Events = append(b.Events, e)
	}
	if err := w.s.Put(w.Context(), w.project.ID, b); err != nil {
		w.Fatal(err)
	}
}

// alert makes one of the average duration over an hour, with a webhook.
func (w *world) alert(change func(*alert.Alert)) alert.Alert {
	w.Helper()
	a := alert.New()
	a.Name, a.Metric, a.Threshold = "slow", "duration", 100
	a.Query = json.RawMessage(`[{"field":"event_type","operator":"is","value":"tool"}]`)
	a.To = []alert.Channel{{ID: "hook", Type: alert.Webhook, Host: "http://x/…", URL: []byte(w.hook.URL + "/hook/token"), Secret: []byte(secret)}}
	if change != nil {
		change(&a)
	}
	a.Complete()
	if err := a.Validate(); err != nil {
		w.Fatal(err)
	}
	a, err := w.s.CreateAlert(w.Context(), w.project.ID, a)
	if err != nil {
		w.Fatal(err)
	}
	return a
}

// run evaluates and sends until nothing is left to do now.
func (w *world) run() {
	w.Helper()
	w.all(w.r.claimAlerts)
	w.all(w.r.claimNotices)
}

// all works on what claim finds until it finds nothing.
func (w *world) all(claim func(context.Context, int) ([]task, error)) {
	w.Helper()
	for busy := true; busy; {
		tasks, err := claim(w.Context(), 10)
		if err != nil {
			w.Fatal(err)
		}
		for _, t := range tasks {
			if err := t(w.Context()); err != nil {
				w.Fatal(err)
			}
		}
		busy = len(tasks) > 0
	}
}

func (w *world) status(id string) alert.Status {
	w.Helper()
	a, err := w.s.Alert(w.Context(), w.project.ID, id)
	if err != nil {
		w.Fatal(err)
	}
	return a.Status
}

func (w *world) notices(id string) (list []string) {
	w.Helper()
	notices, _, err := w.s.AlertNotices(w.Context(), w.project.ID, id, 100, 1)
	if err != nil {
		w.Fatal(err)
	}
	for _, n := range notices {
		line := fmt.Sprintf("%s %s %d", n.Kind, n.State, n.Attempts)
		if n.Error != "" {
			line += " " + n.Error
		}
		list = append(list, line)
	}
	return list
}

// receiver keeps the notices that it gets.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []notice
	answer int                 // the status it answers with
	busy   func(*http.Request) // what it does before, if it is set
}

type notice struct {
	header http.Header
	body   string
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{answer: http.StatusNoContent}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		if r.busy != nil {
			r.busy(req)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got = append(r.got, notice{req.Header, string(body)})
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(r.answer)
		if r.answer >= 400 {
			_, _ = io.WriteString(w, "no service for "+req.URL.Path)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) taken() []notice {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]notice(nil), r.got...)
}

func TestFiresAndResolves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.r = w.runner(Options{URL: "https://spangrove.example/"})
	a := w.alert(nil)
	w.run()
	if s := w.status(a.ID); s.State != alert.NoData {
		t.Errorf("without events: %+v", s)
	}
	w.put(time.Minute, 50, 350)
	w.move(time.Minute)
	w.run()
	s := w.status(a.ID)
	if s.State != alert.Firing || *s.Last.Value != 200 || s.Last.Events != 2 {
		t.Fatalf("with slow ones: %+v", s)
	}
	got := w.hook.taken()
	if len(got) != 1 {
		t.Fatalf("%d notices", len(got))
	}
	if err := Verify(secret, got[0].header, []byte(got[0].body), w.Now()); err != nil {
		t.Errorf("signature: %v", err)
	}
	if Verify(secret, got[0].header, []byte(got[0].body+" "), w.Now()) == nil || Verify(secret, got[0].header, []byte(got[0].body), w.Now().Add(time.Hour)) == nil {
		t.Error("a changed or an old notice is taken")
	}
	var body map[string]any
	if err := json.Unmarshal([]byte(got[0].body), &body); err != nil {
		t.Fatal(err)
	}
	id, incident := got[0].header.Get("Webhook-Id"), body["incident"]
	want := map[string]any{
		"id": id, "type": "alert.firing", "timestamp": "2026-06-01T12:01:00.000Z", "title": "Alert: slow", "incident": incident,
		"text": "Average of duration (type:tool) is 200 ms (2 events). It fires when above 100 ms over 1 hour.",
		"alert": map[string]any{"id": a.ID, "name": "slow", "description": "", "condition": "above 100 ms over 1 hour", "measures": "average of duration",
			"filter": "type:tool", "unit": "ms"},
		"project": map[string]any{"id": w.project.PublicID, "name": "default"},
		"reading": map[string]any{"value": 200.0, "events": 2.0, "from": "2026-06-01T11:01:00.000Z", "to": "2026-06-01T12:01:00.000Z"},
		"url":     "https://spangrove.example/#/alerts?id=" + a.ID,
	}
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}

	w.move(2 * time.Hour) // the slow ones are out of the window
	w.put(time.Minute, 10)
	w.run()
	got = w.hook.taken()
	if len(got) != 2 || !strings.Contains(got[1].body, `"type":"alert.resolved"`) || !strings.Contains(got[1].body, fmt.Sprintf(`"incident":%q`, incident)) {
		t.Errorf("resolved: %v", got[1:])
	}
	if diff := cmp.Diff([]string{"resolved sent 1", "firing sent 1"}, w.notices(a.ID)); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
}

// TestMadeInBetween makes an alert of each day in the afternoon: it looks at what came until then, and its notice is not older than it.
func TestMadeInBetween(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.move(3*time.Hour + 30*time.Second)
	w.put(time.Second, 500)
	a := w.alert(func(a *alert.Alert) { a.Every = alert.MaxEvery })
	w.move(2 * time.Second)
	w.run()
	if s := w.status(a.ID); s.State != alert.Firing || s.Last.Events != 1 || s.Since != a.Created || s.Evaluated != a.Created {
		t.Errorf("made at %d: %+v", a.Created, s)
	}
	if got := w.hook.taken(); len(got) != 1 || !strings.Contains(got[0].body, `"timestamp":"2026-06-01T15:00:30.000Z"`) ||
		!strings.Contains(got[0].body, `"from":"2026-06-01T14:00:30.000Z","to":"2026-06-01T15:00:30.000Z"`) {
		t.Errorf("notices: %v", got)
	}
	w.move(time.Hour)
	w.run()
	if s := w.status(a.ID); s.Evaluated != a.Created {
		t.Errorf("it is evaluated again at %d, before the next day", s.Evaluated)
	}
	w.move(8 * time.Hour)
	w.run()
	if s := w.status(a.ID); s.Evaluated != noon.Add(12*time.Hour).UnixMilli() {
		t.Errorf("the next day: %+v", s)
	}
}

func TestRetried(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hook.answer = http.StatusInternalServerError
	a := w.alert(nil)
	w.put(time.Minute, 500)
	w.run()
	if diff := cmp.Diff([]string{"firing waiting 1 answered 500 Internal Server Error: no service for [hidden]"}, w.notices(a.ID)); diff != "" {
		t.Errorf("after one attempt (-want +got):\n%s", diff)
	}
	w.move(9 * time.Second)
	w.run()
	if n := len(w.hook.taken()); n != 1 {
		t.Errorf("too early: %d attempts", n)
	}
	w.hook.mu.Lock()
	w.hook.answer = http.StatusOK
	w.hook.mu.Unlock()
	w.move(time.Second)
	w.run()
	got := w.hook.taken()
	if len(got) != 2 || got[0].header.Get("Webhook-Id") != got[1].header.Get("Webhook-Id") || got[0].body != got[1].body {
		t.Errorf("the second attempt is another notice: %v", got)
	}
	if diff := cmp.Diff([]string{"firing sent 2"}, w.notices(a.ID)); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
}

// TestSentAgain sends a notice and ends before that is written down: the next runner sends it again with the same id.
func TestSentAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.alert(nil)
	w.put(time.Minute, 500)
	w.all(w.r.claimAlerts)
	claims, err := w.s.ClaimNotices(t.Context(), alert.Places{Free: 1, Each: 1}, noticeLease)
	if err != nil || len(claims) != 1 {
		t.Fatal(claims, err)
	}
	if o := w.r.deliver(t.Context(), w.project.ID, &claims[0].Notice, nil); o.Error != "" {
		t.Fatal(o)
	}
	w.move(noticeLease + time.Second)
	w.r = w.runner(Options{})
	w.run()
	got := w.hook.taken()
	if len(got) != 2 || got[0].header.Get("Webhook-Id") != got[1].header.Get("Webhook-Id") {
		t.Errorf("sent: %v", got)
	}
	if n := w.notices(a.ID); len(n) != 1 || n[0] != "firing sent 2" {
		t.Errorf("notices %q", n)
	}
}

func TestWeekBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.alert(func(a *alert.Alert) { a.Compare, a.Threshold, a.MinEvents = alert.WeekBefore, 50, 2 })
	w.put(7*24*time.Hour+30*time.Minute, 100, 100)
	w.put(7*24*time.Hour-time.Minute, 9000) // in the hour after it
	w.put(time.Minute, 140, 140)
	w.run()
	if s := w.status(a.ID); s.State != alert.OK || *s.Last.Value != 140 || *s.Last.Before != 100 {
		t.Errorf("40 percent more: %+v", s)
	}
	w.put(time.Second, 300)
	w.move(time.Minute)
	w.run()
	if s := w.status(a.ID); s.State != alert.Firing || s.Last.Events != 3 || s.Last.EventsBefore != 2 && s.Last.EventsBefore != 3 {
		t.Errorf("more: %+v", s)
	}
}

// TestWeekBeforeInNotices has an alert that fires by a change that no percentage says, and one that says it.
func TestWeekBeforeInNotices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.alert(func(a *alert.Alert) {
		a.Func, a.Compare, a.Threshold, a.MinEvents = "count", alert.WeekBefore, 50, -1
	})
	w.put(time.Minute, 500)
	w.run()
	w.put(7*24*time.Hour+time.Second, 500)
	w.alert(func(a *alert.Alert) { a.Compare, a.Threshold = alert.WeekBefore, 0 })
	w.put(time.Minute, 1000)
	w.run()
	var got []string
	for _, n := range w.hook.taken() {
		var body struct{ Reading json.RawMessage }
		if err := json.Unmarshal([]byte(n.body), &body); err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(string(body.Reading), `,"from"`)
		got = append(got, text)
	}
	want := []string{
		`{"value":1,"events":1,"before":0,"events_before":0,"change_percent":null`,
		`{"value":750,"events":2,"before":500,"events_before":1,"change_percent":50`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("readings (-want +got):\n%s", diff)
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.alert(func(a *alert.Alert) { a.Func, a.Op, a.Threshold, a.MinEvents = "count", alert.Below, 1, -1 })
	w.run()
	if s := w.status(a.ID); s.State != alert.Firing || *s.Last.Value != 0 {
		t.Errorf("nothing came: %+v", s)
	}
}

// TestUnitsOfNotices has alerts whose notices say figures in the unit of what is measured, while numbers for programs stay as they are.
func TestUnitsOfNotices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := definition.Definition{Name: "polite", Type: definition.Human, Return: definition.Boolean}
	d.Complete(definition.DefaultSampling)
	if _, err := w.s.CreateMetric(t.Context(), w.project.ID, d); err != nil {
		t.Fatal(err)
	}
	var b event.Batch
	for _, polite := range []string{"true", "false", "true"} {
		e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.NewSHA1(uuid.Nil, nil), Type: event.TypeTool, Name: "x", Source: "test",
			Start: float64(w.Now().Add(-time.Minute).UnixMilli()), Metrics: json.RawMessage(`{"polite":` + polite + `,"stars":4.1234567}`),
			Metadata: json.RawMessage(`{"cost":0.0123456}`)}}
		e.Complete(time.Time{})
		b.Events = append(b.Events, e)
	}
	if err := w.s.Put(t.Context(), w.project.ID, b); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		metric, how string
		threshold   float64
		want, unit  string
	}{
		{"polite", "average", 0.5, "Average of polite (type:tool) is 66.7% (3 events). It fires when above 50% over 1 hour.", "rate"},
		{"metrics.polite", "", 0.5, "Average of polite (type:tool) is 66.7% (3 events). It fires when above 50% over 1 hour.", "rate"},
		{"polite", "count", 1, "Number of events (type:tool) is 3 (3 events). It fires when above 1 over 1 hour.", ""},
		{"stars", "average", 4, "Average of stars (type:tool) is 4.12346 (3 events). It fires when above 4 over 1 hour.", ""},
		{"cost", "sum", 0.03, "Sum of cost (type:tool) is $0.037 (3 events). It fires when above $0.030 over 1 hour.", "usd"},
	} {
		a := w.alert(func(a *alert.Alert) { a.Metric, a.Func, a.Threshold = tt.metric, tt.how, tt.threshold })
		before := len(w.hook.taken())
		if _, _, err := w.r.Test(t.Context(), w.project.ID, a.ID); err != nil {
			t.Fatal(err)
		}
		var body struct {
			Text  string
			Alert struct{ Unit, Filter string }
		}
		if err := json.Unmarshal([]byte(w.hook.taken()[before].body), &body); err != nil {
			t.Fatal(err)
		}
		if body.Text != tt.want || body.Alert.Unit != tt.unit || body.Alert.Filter != "type:tool" {
			t.Errorf("%s of %s: %+v, want %s", tt.how, tt.metric, body, tt.want)
		}
	}
}

func TestSavedChart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := chart.Chart{Name: "delay", Metric: "duration", Func: "p50", GroupBy: "event_name", DateRange: json.RawMessage(`{"relative":"5m"}`),
		Query: json.RawMessage(`[{"field":"event_type","operator":"is","value":"tool"}]`)}
	c.Complete()
	c, err := w.s.CreateChart(t.Context(), w.project.ID, c)
	if err != nil {
		t.Fatal(err)
	}
	a := w.alert(func(a *alert.Alert) { a.ChartID = c.ID })
	w.put(30*time.Minute, 1, 200, 300)
	w.run()
	if s := w.status(a.ID); s.State != alert.Firing || *s.Last.Value != 200 {
		t.Errorf("the median of the window: %+v", s)
	}
	if got := w.hook.taken(); len(got) != 1 || !strings.Contains(got[0].body, "Delay: p50 of duration (type:tool) is 200 ms") {
		t.Errorf("notice: %v", got)
	}
	if err := w.s.DeleteChart(t.Context(), w.project.ID, c.ID); err != nil {
		t.Fatal(err)
	}
	w.move(time.Minute)
	w.run()
	if s := w.status(a.ID); s.State != alert.NoData || s.Last.Error != "the chart is deleted" {
		t.Errorf("without its chart: %+v", s)
	}
}

func TestOtherProjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.alert(func(a *alert.Alert) {
		a.Query = json.RawMessage(`[{"field":"project_id","operator":"is","value":"` + uuid.NewString() + `"}]`)
	})
	w.put(time.Minute, 500)
	w.run()
	if s := w.status(a.ID); s.State != alert.NoData || s.Last.Events != 0 {
		t.Errorf("events of another project: %+v", s)
	}
}

func TestTest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hook.answer = http.StatusFound
	a := w.alert(func(a *alert.Alert) {
		a.To = append(a.To, alert.Channel{ID: "mail", Type: alert.Email, Mail: []string{"ann@example.com"}},
			alert.Channel{ID: "slack", Type: alert.Slack, URL: []byte("http://127.0.0.1:1/services/T/B/secret")},
			alert.Channel{ID: "inside", Type: alert.Slack, URL: []byte("http://10.1.2.3/services/T/B/secret")})
	})
	w.put(time.Minute, 500)
	reading, notices, err := w.r.Test(t.Context(), w.project.ID, a.ID)
	if err != nil || *reading.Value != 500 || len(notices) != 4 {
		t.Fatal(reading, notices, err)
	}
	for i, want := range []string{"answered 302, and redirects are not followed", "this server sends no e-mail", "was not reached", "was not reached"} {
		if n := notices[i]; n.State != alert.Failed || !strings.Contains(n.Error, want) || strings.Contains(n.Error, "secret") {
			t.Errorf("%d: %s %s, want %s", i, n.State, n.Error, want)
		}
	}
	if notices[2].Error != notices[3].Error {
		t.Errorf("what is refused and what is not there differ: %q, %q", notices[2].Error, notices[3].Error)
	}
	if s := w.status(a.ID); s.State != "" {
		t.Errorf("a test moves the state: %+v", s)
	}
	if n := w.notices(a.ID); len(n) != 4 {
		t.Errorf("recorded: %q", n)
	}
}

func TestSlackBody(t *testing.T) {
	t.Parallel()
	n := alert.Notice{Kind: alert.KindFiring, Name: "<!channel> *a* & b", Description: "<http://x|y>", Condition: "above 1"}
	got := string(slackBody(&n, "p", "https://s/#/alerts?id=1"))
	var body struct{ Text string }
	if err := json.Unmarshal([]byte(got), &body); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(body.Text, "<!channel>") || strings.Contains(body.Text, "<http://x") || !strings.Contains(body.Text, "<https://s/#/alerts?id=1|Open the alert>") {
		t.Errorf("%s", body.Text)
	}
}

// TestDeadReceiver has a receiver that does not answer: notices that come after its own are sent while it is waited for.
func TestDeadReceiver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asked, over := make(chan struct{}, noticesAtOnce), make(chan struct{})
	dead := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-over
	}))
	t.Cleanup(func() {
		close(over)
		dead.Close()
	})
	w.put(time.Minute, 500)
	var slow []alert.Alert
	for range 2 * noticesAtOnce { // more than there are places
		slow = append(slow, w.alert(func(a *alert.Alert) {
			a.To = []alert.Channel{{ID: "dead", Type: alert.Slack, Host: "http://dead/…", URL: []byte(dead.URL)}}
		}))
	}
	w.all(w.r.claimAlerts)
	r := w.runner(Options{Poll: 5 * time.Millisecond})
	r.Start()
	defer r.Stop()
	for range noticesToOne {
		select {
		case <-asked:
		case <-t.Context().Done():
		}
	}
	w.alert(nil)
	for len(w.hook.taken()) == 0 && t.Context().Err() == nil {
		time.Sleep(5 * time.Millisecond)
	}
	got := map[string]int{}
	for _, a := range slow {
		got[strings.Join(w.notices(a.ID), ", ")]++
	}
	want := map[string]int{"firing waiting 1": noticesToOne, "firing waiting 0": len(slow) - noticesToOne}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the notices to the dead one when the other was sent (-want +got):\n%s", diff)
	}
}

// refusing is a store in which charts are answered by an error, as long as there is one.
type refusing struct {
	*store.Store
	err func() error
}

func (r *refusing) Chart(ctx context.Context, projectID int64, c *query.Chart) (*query.ChartAnswer, error) {
	if err := r.err(); err != nil {
		return nil, err
	}
	return r.Store.Chart(ctx, projectID, c)
}

// TestBusyStore has a store that has no place for the alert's chart at first: it is evaluated in a moment, and not when the claim ends.
func TestBusyStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.alert(nil)
	w.put(time.Minute, 500)
	w.r.store = &refusing{w.s, func() error { return fault.New(fault.Limited, "too many wait") }}
	tasks, err := w.r.claimAlerts(t.Context(), 10)
	if err != nil || len(tasks) != 1 || tasks[0](t.Context()) == nil {
		t.Fatalf("%d alerts, %v", len(tasks), err)
	}
	w.r.store = w.s
	w.run()
	if s := w.status(a.ID); s.State != "" {
		t.Errorf("at once: %+v", s)
	}
	w.move(busyPause)
	w.run()
	if s := w.status(a.ID); s.State != alert.Firing {
		t.Errorf("in a moment: %+v", s)
	}
}

// TestStopGivesBack stops a runner that evaluates an alert, and one that sends its notice: the next one goes on at once.
func TestStopGivesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.alert(nil)
	w.put(time.Minute, 500)
	ctx, cancel := context.WithCancel(t.Context())
	w.r.store = &refusing{w.s, func() error {
		cancel()
		return ctx.Err()
	}}
	stop := func(claim func(context.Context, int) ([]task, error)) {
		t.Helper()
		tasks, err := claim(ctx, 10)
		if err != nil || len(tasks) != 1 {
			t.Fatalf("%d tasks, %v", len(tasks), err)
		}
		_ = tasks[0](ctx)
	}
	stop(w.r.claimAlerts)
	w.r = w.runner(Options{})
	w.all(w.r.claimAlerts)
	if s := w.status(a.ID); s.State != alert.Firing {
		t.Errorf("%+v", s)
	}

	ctx, cancel = context.WithCancel(t.Context())
	w.hook.busy = func(req *http.Request) {
		cancel()
		<-req.Context().Done()
	}
	stop(w.r.claimNotices)
	w.hook.busy = nil
	w.r = w.runner(Options{})
	w.run()
	if diff := cmp.Diff([]string{"firing sent 2"}, w.notices(a.ID)); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
}

// TestRunner runs in the background until it is stopped.
func TestRunner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.runner(Options{Poll: 5 * time.Millisecond})
	w.alert(nil)
	w.put(time.Minute, 500)
	r.Start()
	for range 400 {
		if len(w.hook.taken()) > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.Stop()
	r.Stop()
	if n := len(w.hook.taken()); n != 1 {
		t.Errorf("%d notices", n)
	}
}
