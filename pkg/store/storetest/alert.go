package storetest

import (
	"fmt"
	"sync"
	"time"

	"github.com/spangrove/spangrove/pkg/alert"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store"
)

var alertTests = []test{
	{"Alert/saved, listed, changed, deleted", alertLife},
	{"Alert/another project's is not there", alertProjects},
	{"Alert/due, claimed, finished once", alertClaims},
	{"Alert/measured at the time of its change, then on its grid", alertFirst},
	{"Alert/a claim that is lost changes nothing", alertClaimLost},
	{"Alert/who is told changes while it is evaluated", alertToldChanges},
	{"Alert/put off", alertPutOff},
	{"Alert/one of several servers evaluates it", alertServers},
	{"Alert/switched off while it fires", alertSwitchedOff},
	{"Alert/channels that it is given while it fires", alertNewChannels},
	{"Alert/notices are tried again and come to an end", alertNotices},
	{"Alert/notices reach a channel in their order", alertNoticeOrder},
	{"Alert/few notices at a time to one receiver", alertNoticePlaces},
	{"Alert/notices behind many that cannot be sent", alertNoticesBehind},
	{"Alert/evaluated after a clock was ahead", alertClockAhead},
	{"Alert/history and notices have bounds", alertBounds},
	{"Alert/gone with its project", alertProjectDeleted},
}

// newAlert is one that breaks no rule, with a channel of mail.
func newAlert(name string) alert.Alert {
	a := alert.New()
	a.Name, a.Metric, a.Threshold = name, "duration", 1
	a.To = []alert.Channel{{ID: "c1", Type: alert.Email, Mail: []string{"ann@example.com"}}}
	a.Complete()
	return a
}

func (e *env) saveAlert(a alert.Alert) alert.Alert {
	e.Helper()
	e.ok(a.Validate())
	saved, err := e.s.CreateAlert(e.ctx, e.project, a)
	e.ok(err)
	a.ID, a.Created, a.Next = saved.ID, saved.Created, saved.Next
	e.equal("as it was given", a, saved)
	return saved
}

func (e *env) alert(id string) alert.Alert {
	e.Helper()
	a, err := e.s.Alert(e.ctx, e.project, id)
	e.ok(err)
	return a
}

func (e *env) claimAlerts(limit int) []alert.Claim {
	e.Helper()
	list, err := e.s.ClaimAlerts(e.ctx, limit, time.Minute)
	e.ok(err)
	return list
}

// measured finishes a claim with a value, as a runner does, and reports whether it was taken.
func (e *env) measured(s *store.Store, c alert.Claim, value float64) bool {
	e.Helper()
	r := alert.Reading{At: c.At, Value: &value, Events: 10}
	status := c.Alert.Status
	from := status.State
	changed, tell := status.Step(&c.Alert, &r)
	var change *alert.Change
	if changed {
		change = &alert.Change{At: r.At, From: from, To: status.State, Record: status.Last}
	}
	var notices []alert.Notice
	if tell.Kind != "" && len(tell.To) > 0 {
		notices = []alert.Notice{alert.NewNotice(&c.Alert, &tell.To[0], &r, tell, alert.Measures{Name: "duration"})}
	}
	done, err := s.FinishAlert(e.ctx, &c, status, change, notices)
	e.ok(err)
	return done
}

func (e *env) changesOf(id string) (list []string) {
	e.Helper()
	changes, total, err := e.s.AlertChanges(e.ctx, e.project, id, 100, 1)
	e.ok(err)
	e.equal("total", len(changes), total)
	for _, c := range changes {
		list = append(list, c.From+" → "+c.To)
	}
	return list
}

func (e *env) noticesOf(id string) (list []string) {
	e.Helper()
	notices, _, err := e.s.AlertNotices(e.ctx, e.project, id, 100, 1)
	e.ok(err)
	for _, n := range notices {
		list = append(list, fmt.Sprintf("%s %s %d", n.Kind, n.State, n.Attempts))
	}
	return list
}

func alertLife(e *env) {
	e.clocked()
	first, second := e.saveAlert(newAlert("slow")), e.saveAlert(newAlert("slow"))
	if len(first.ID) != 24 || !(first.ID < second.ID) || first.Next == 0 {
		e.Errorf("ids %q, %q, due %d: want 24 digits, growing, and a time", first.ID, second.ID, first.Next)
	}
	ids, total, err := e.s.FindAlerts(e.ctx, e.project, 1, 2)
	e.ok(err)
	e.equal("second page", []string{second.ID}, ids)
	e.equal("total", 2, total)
	list, err := e.s.LoadAlerts(e.ctx, e.project, []string{second.ID, "gone", first.ID})
	e.ok(err)
	e.equal("list", []alert.Alert{second, first}, list)

	_, err = e.s.ChangeAlert(e.ctx, e.project, first.ID, func(a *alert.Alert) error { a.Name = ""; return a.Validate() })
	e.equal("broken rule", fault.Invalid, fault.Of(err))
	got, err := e.s.ChangeAlert(e.ctx, e.project, first.ID, func(a *alert.Alert) error { a.Name = "slower"; return nil })
	e.ok(err)
	want := first
	want.Name, want.Updated = "slower", got.Updated
	e.equal("changed", want, got)
	e.reopen(optionsNone)
	e.equal("read", got, e.alert(first.ID))
	e.equal("no history", 0, len(e.changesOf(first.ID)))

	e.ok(e.s.DeleteAlert(e.ctx, e.project, first.ID))
	e.equal("deleted twice", fault.NotFound, fault.Of(e.s.DeleteAlert(e.ctx, e.project, first.ID)))
	_, err = e.s.Alert(e.ctx, e.project, first.ID)
	e.equal("read after deletion", fault.NotFound, fault.Of(err))
	_, _, err = e.s.AlertChanges(e.ctx, e.project, first.ID, 1, 1)
	e.equal("history after deletion", fault.NotFound, fault.Of(err))
	_, err = e.s.ChangeAlert(e.ctx, e.project, first.ID, func(*alert.Alert) error { return nil })
	e.equal("changed after deletion", fault.NotFound, fault.Of(err))
}

func alertProjects(e *env) {
	mine := e.saveAlert(newAlert("mine"))
	other, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	_, total, err := e.s.FindAlerts(e.ctx, other.ID, 10, 1)
	e.ok(err)
	list, err := e.s.LoadAlerts(e.ctx, other.ID, []string{mine.ID})
	e.ok(err)
	e.equal("found", 0, total+len(list))
	_, err = e.s.ChangeAlert(e.ctx, other.ID, mine.ID, func(*alert.Alert) error { return nil })
	e.equal("changed", fault.NotFound, fault.Of(err))
	e.equal("deleted", fault.NotFound, fault.Of(e.s.DeleteAlert(e.ctx, other.ID, mine.ID)))
	e.equal("notices", fault.NotFound, fault.Of(e.s.RecordNotices(e.ctx, other.ID, mine.ID, []alert.Notice{{Kind: alert.KindTest}})))
	for i := range alert.MaxPerProject {
		_, err := e.s.CreateAlert(e.ctx, other.ID, newAlert(fmt.Sprint(i)))
		e.ok(err)
	}
	_, err = e.s.CreateAlert(e.ctx, other.ID, newAlert("one too many"))
	e.equal("one too many", fault.Invalid, fault.Of(err))
}

func alertClaims(e *env) {
	clock := e.clocked()
	off := newAlert("off")
	off.Enabled = false
	e.saveAlert(off)
	a := e.saveAlert(newAlert("slow"))
	claims := e.claimAlerts(10)
	e.equal("due at once, but for the one that is off", 1, len(claims))
	e.equal("claimed", a.ID, claims[0].Alert.ID)
	e.equal("for the time at which it was made", a.Created, claims[0].At)
	e.equal("nobody else gets it", 0, len(e.claimAlerts(10)))
	e.equal("finished", true, e.measured(e.s, claims[0], 0))
	e.equal("finished twice", false, e.measured(e.s, claims[0], 0))
	got := e.alert(a.ID)
	e.equal("state", alert.OK, got.Status.State)
	e.equal("next", a.Next+60_000, got.Next)
	e.equal("its definition has not changed", int64(0), got.Updated)
	e.equal("not due yet", 0, len(e.claimAlerts(10)))

	clock.move(10 * time.Minute) // due times were missed
	late := e.claimAlerts(10)
	e.equal("one stands for all", 1, len(late))
	e.equal("the last one", a.Next+10*60_000, late[0].At)
	e.equal("finished", true, e.measured(e.s, late[0], 5))
	e.equal("none is left", 0, len(e.claimAlerts(10)))
	e.equal("history", []string{"ok → firing", " → ok"}, e.changesOf(a.ID))
	e.equal("notices", []string{"firing waiting 0"}, e.noticesOf(a.ID))

	// A change of the question is evaluated at once, one of the name is not.
	_, err := e.s.ChangeAlert(e.ctx, e.project, a.ID, func(a *alert.Alert) error { a.Name = "other"; return nil })
	e.ok(err)
	e.equal("another name", 0, len(e.claimAlerts(10)))
	_, err = e.s.ChangeAlert(e.ctx, e.project, a.ID, func(a *alert.Alert) error { a.Threshold = 9; return nil })
	e.ok(err)
	again := e.claimAlerts(10)
	e.equal("another threshold", 1, len(again))
	e.equal("it fires still", alert.Firing, again[0].Alert.Status.State)
	e.equal("finished", true, e.measured(e.s, again[0], 5))
	e.equal("history", []string{"firing → ok", "ok → firing", " → ok"}, e.changesOf(a.ID))
}

// alertFirst has an alert of each day that is made and changed in the middle of one.
func alertFirst(e *env) {
	const day = 24 * 60 * 60_000
	clock := e.clocked()
	clock.move(10*time.Hour + 7*time.Second + 11*time.Millisecond)
	now := func() int64 { return clock.Now().UnixMilli() }
	daily := newAlert("daily")
	daily.Every, daily.For = 24*60, 60
	a := e.saveAlert(daily)
	made := now()
	midnight := made - made%day + day
	clock.move(2 * time.Second) // until a server looks
	c := e.claimAlerts(10)
	e.equal("due at once", 1, len(c))
	e.equal("for the time at which it was made", made, c[0].At)
	e.equal("finished", true, e.measured(e.s, c[0], 5))
	got := e.alert(a.ID)
	e.equal("since it was made", []int64{made, made, made}, []int64{got.Status.Since, got.Status.Evaluated, got.Status.BreachSince})
	e.equal("then at its hour", midnight, got.Next)
	e.equal("once", 0, len(e.claimAlerts(10)))

	clock.move(time.Hour)
	changed := now()
	got, err := e.s.ChangeAlert(e.ctx, e.project, a.ID, func(a *alert.Alert) error { a.Threshold = 2; return nil })
	e.ok(err)
	e.equal("due at the time of the change", changed, got.Next)
	e.equal("what was out of other bounds does not count", int64(0), got.Status.BreachSince)
	c = e.claimAlerts(10)
	e.equal("due again", 1, len(c))
	e.equal("for the time of the change", changed, c[0].At)
	e.equal("finished", true, e.measured(e.s, c[0], 5))
	got = e.alert(a.ID)
	e.equal("waits from the change on", []any{alert.OK, changed, midnight}, []any{got.Status.State, got.Status.BreachSince, got.Next})
	clock.move(time.UnixMilli(midnight).Sub(clock.Now()))
	c = e.claimAlerts(10)
	e.equal("at its hour", []int64{midnight}, []int64{c[0].At})
	e.equal("finished", true, e.measured(e.s, c[0], 5))
	e.equal("history", []string{"ok → firing", " → ok"}, e.changesOf(a.ID))

	// One that nobody looks at before its hour is evaluated for that.
	late := e.saveAlert(daily)
	clock.move(25 * time.Hour)
	for _, c := range e.claimAlerts(10) {
		e.equal("the last hour that was missed", midnight+day, c.At)
		e.equal("finished", true, e.measured(e.s, c, 0))
	}
	e.equal("and the next one", midnight+2*day, e.alert(late.ID).Next)
}

func alertClaimLost(e *env) {
	clock := e.clocked()
	a := e.saveAlert(newAlert("slow"))
	dead := e.claimAlerts(1)[0] // by a server that ends here
	e.reopen(store.Options{Now: clock.Now})
	e.equal("its claim holds", 0, len(e.claimAlerts(1)))
	clock.move(time.Minute + time.Second)
	next := e.claimAlerts(1)
	e.equal("taken over", 1, len(next))
	e.equal("the dead one is late", false, e.measured(e.s, dead, 5))
	e.equal("the next one is not", true, e.measured(e.s, next[0], 5))
	e.equal("history", []string{" → firing"}, e.changesOf(a.ID))
	e.equal("notices", []string{"firing waiting 0"}, e.noticesOf(a.ID))

	clock.move(time.Minute)
	claim := e.claimAlerts(1)[0]
	_, err := e.s.ChangeAlert(e.ctx, e.project, a.ID, func(a *alert.Alert) error { a.Window = 5; return nil })
	e.ok(err)
	e.equal("of the question before", false, e.measured(e.s, claim, 0))
	claim = e.claimAlerts(1)[0]
	e.ok(e.s.DeleteAlert(e.ctx, e.project, a.ID))
	e.equal("deleted meanwhile", false, e.measured(e.s, claim, 0))
}

// alertToldChanges has an alert that is given a channel, silenced or renamed while it is evaluated.
func alertToldChanges(e *env) {
	e.clocked()
	change := func(id string, f func(*alert.Alert)) {
		e.Helper()
		_, err := e.s.ChangeAlert(e.ctx, e.project, id, func(a *alert.Alert) error { f(a); return nil })
		e.ok(err)
	}
	a := e.saveAlert(newAlert("slow"))
	c := e.claimAlerts(1)[0]
	change(a.ID, func(a *alert.Alert) {
		a.To = append(a.To, alert.Channel{ID: "c2", Type: alert.Email, Mail: []string{"bob@example.com"}})
	})
	e.equal("of the channels before", false, e.measured(e.s, c, 5))
	again := e.claimAlerts(1)
	e.equal("evaluated anew", 1, len(again))
	e.equal("for the same time", c.At, again[0].At)
	e.equal("with both channels", 2, len(again[0].Alert.To))

	change(a.ID, func(a *alert.Alert) { a.SilencedUntil = c.At + 60_000 })
	e.equal("as it was not silent", false, e.measured(e.s, again[0], 5))
	c = e.claimAlerts(1)[0]
	change(a.ID, func(a *alert.Alert) { a.Name = "slower" })
	e.equal("of another name", true, e.measured(e.s, c, 5))
	e.equal("it is silent", 0, len(e.noticesOf(a.ID)))
}

// alertPutOff has a claim that ends before its lease.
func alertPutOff(e *env) {
	clock := e.clocked()
	a := e.saveAlert(newAlert("slow"))
	c := e.claimAlerts(1)[0]
	e.ok(e.s.PutOffAlert(e.ctx, &c, 10*time.Second))
	clock.move(9 * time.Second)
	e.equal("too early", 0, len(e.claimAlerts(1)))
	clock.move(time.Second)
	next := e.claimAlerts(1)
	e.equal("due again", []int64{c.At}, []int64{next[0].At})
	e.ok(e.s.PutOffAlert(e.ctx, &c, 0)) // a claim that was lost ends no other
	e.equal("somebody has it", 0, len(e.claimAlerts(1)))
	e.equal("the first one is late", false, e.measured(e.s, c, 5))
	e.equal("the other is not", true, e.measured(e.s, next[0], 5))
	e.equal("state", alert.Firing, e.alert(a.ID).Status.State)
}

func alertServers(e *env) {
	clock := e.clocked()
	servers := []*store.Store{e.s}
	if e.place.Shared() {
		servers = append(servers, e.place.Open(e.T, store.Options{Now: clock.Now}))
	}
	const n = 40
	for i := range n {
		e.saveAlert(newAlert(fmt.Sprint(i)))
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	claimed, sent := map[string]int{}, map[string]int{}
	for i := range 4 {
		s := servers[i%len(servers)]
		wg.Go(func() {
			for {
				list, err := s.ClaimAlerts(e.ctx, 3, time.Minute)
				if err != nil {
					e.Error(err)
					return
				}
				for _, c := range list {
					mu.Lock()
					claimed[c.Alert.ID]++
					mu.Unlock()
					e.measured(s, c, 5)
				}
				if len(list) == 0 {
					break
				}
			}
			for {
				list, err := s.ClaimNotices(e.ctx, alert.Places{Free: 3, Each: 3}, time.Minute)
				if err != nil {
					e.Error(err)
					return
				}
				for _, c := range list {
					mu.Lock()
					sent[c.Notice.ID]++
					mu.Unlock()
					c.Notice.Tried(alert.Outcome{Status: 200}, clock.Now().UnixMilli())
					if err := s.FinishNotice(e.ctx, c.Project, c.Notice); err != nil {
						e.Error(err)
					}
				}
				if len(list) == 0 {
					return
				}
			}
		})
	}
	wg.Wait()
	for id, times := range claimed {
		if times != 1 {
			e.Errorf("alert %s was evaluated %d times", id, times)
		}
	}
	for id, times := range sent {
		if times != 1 {
			e.Errorf("notice %s was sent %d times", id, times)
		}
	}
	e.equal("evaluated", n, len(claimed))
	e.equal("told", n, len(sent))
}

func alertSwitchedOff(e *env) {
	clock := e.clocked()
	a := e.saveAlert(newAlert("slow"))
	e.equal("fires", true, e.measured(e.s, e.claimAlerts(1)[0], 5))
	clock.move(time.Minute)
	got, err := e.s.ChangeAlert(e.ctx, e.project, a.ID, func(a *alert.Alert) error { a.Enabled = false; return nil })
	e.ok(err)
	e.equal("no state", alert.Status{}, got.Status)
	e.equal("not due", int64(0), got.Next)
	e.equal("history", []string{"firing → ", " → firing"}, e.changesOf(a.ID))
	e.equal("whoever was told is told", []string{"resolved waiting 0", "firing waiting 0"}, e.noticesOf(a.ID))
	_, err = e.s.ChangeAlert(e.ctx, e.project, a.ID, func(a *alert.Alert) error { a.Enabled = true; return nil })
	e.ok(err)
	e.equal("due again at once", 1, len(e.claimAlerts(1)))
}

// alertNewChannels has an alert that fires while it has no channel, is given one, then another instead, one more, and one when it is over.
func alertNewChannels(e *env) {
	clock := e.clocked()
	channel := func(id string) alert.Channel {
		return alert.Channel{ID: id, Type: alert.Email, Mail: []string{"ann@example.com"}}
	}
	daily := newAlert("slow")
	daily.To, daily.Every = nil, 24*60
	a := e.saveAlert(daily)
	set := func(list ...alert.Channel) {
		e.Helper()
		_, err := e.s.ChangeAlert(e.ctx, e.project, a.ID, func(a *alert.Alert) error { a.To = list; return nil })
		e.ok(err)
	}
	value := 5.0
	told := func() (list []string) {
		e.Helper()
		for _, c := range e.claimAlerts(1) {
			r := alert.Reading{At: c.At, Value: pointer(value), Events: 10}
			status := c.Alert.Status
			var notices []alert.Notice
			_, tell := status.Step(&c.Alert, &r)
			for i := range tell.To {
				notices = append(notices, alert.NewNotice(&c.Alert, &tell.To[i], &r, tell, alert.Measures{}))
				list = append(list, tell.Kind+" to "+tell.To[i].ID)
			}
			_, err := e.s.FinishAlert(e.ctx, &c, status, nil, notices)
			e.ok(err)
		}
		return list
	}
	e.equal("nobody to tell", []string(nil), told())
	incident := e.alert(a.ID).Status.Incident
	clock.move(time.Minute)
	set(channel("c1"))
	e.equal("its first channel", []string{"firing to c1"}, told())
	clock.move(time.Minute)
	set(channel("c2"))
	e.equal("another one instead", []string{"firing to c2"}, told())
	clock.move(time.Minute)
	set(channel("c2"), channel("c3"))
	e.equal("one more", []string{"firing to c3"}, told())
	e.equal("the incident", incident, e.alert(a.ID).Status.Incident)
	clock.move(time.Minute)
	set(channel("c2"), channel("c3"), channel("c4"))
	value = 0
	e.equal("one more when it is over", []string{"resolved to c2", "resolved to c3"}, told())
}

func alertNotices(e *env) {
	clock := e.clocked()
	a := e.saveAlert(newAlert("slow"))
	e.equal("fires", true, e.measured(e.s, e.claimAlerts(1)[0], 5))
	claim := func() []alert.NoticeClaim {
		list, err := e.s.ClaimNotices(e.ctx, alert.Places{Free: 10, Each: 10}, time.Minute)
		e.ok(err)
		return list
	}
	finish := func(c alert.NoticeClaim, o alert.Outcome) {
		c.Notice.Tried(o, clock.Now().UnixMilli())
		e.ok(e.s.FinishNotice(e.ctx, c.Project, c.Notice))
	}
	first := claim()
	e.equal("due", 1, len(first))
	e.equal("nobody else gets it", 0, len(claim()))
	finish(first[0], alert.Outcome{Status: 500, Error: "answered 500"})
	e.equal("waits", []string{"firing waiting 1"}, e.noticesOf(a.ID))
	e.equal("not due yet", 0, len(claim()))
	clock.move(10 * time.Second)
	second := claim() // by a server that ends here
	e.equal("again", 1, len(second))
	clock.move(time.Minute + time.Second)
	third := claim()
	e.equal("once more", 1, len(third))
	e.equal("the same notice", first[0].Notice.ID, third[0].Notice.ID)
	finish(second[0], alert.Outcome{Error: "late", Final: true})
	e.equal("a late answer does not count", []string{"firing waiting 3"}, e.noticesOf(a.ID))
	finish(third[0], alert.Outcome{Status: 200})
	e.equal("sent", []string{"firing sent 3"}, e.noticesOf(a.ID))
	clock.move(2 * time.Hour)
	e.equal("none waits", 0, len(claim()))

	test := alert.NewNotice(&a, &a.To[0], &alert.Reading{}, alert.Told{Kind: alert.KindTest}, alert.Measures{})
	test.Tried(alert.Outcome{Status: 404, Error: "answered 404", Final: true}, 1)
	tests := []alert.Notice{test}
	e.ok(e.s.RecordNotices(e.ctx, e.project, a.ID, tests))
	if len(tests[0].ID) != 24 {
		e.Errorf("a recorded notice has the id %q", tests[0].ID)
	}
	e.equal("recorded", []string{"test failed 0", "firing sent 3"}, e.noticesOf(a.ID))
}

// alertNoticeOrder has an alert that is over before a channel has taken that it began.
func alertNoticeOrder(e *env) {
	clock := e.clocked()
	a := newAlert("slow")
	a.To = append(a.To, alert.Channel{ID: "c2", Type: alert.Email, Mail: []string{"bob@example.com"}})
	a = e.saveAlert(a)
	claim := func() (list []alert.NoticeClaim, texts []string) {
		e.Helper()
		list, err := e.s.ClaimNotices(e.ctx, alert.Places{Free: 10, Each: 10}, time.Minute)
		e.ok(err)
		for _, c := range list {
			texts = append(texts, c.Notice.Kind+" to "+c.Notice.ChannelID)
		}
		return list, texts
	}
	finish := func(c alert.NoticeClaim, o alert.Outcome) {
		e.Helper()
		c.Notice.Tried(o, clock.Now().UnixMilli())
		e.ok(e.s.FinishNotice(e.ctx, c.Project, c.Notice))
	}
	e.equal("fires", true, e.measured(e.s, e.claimAlerts(1)[0], 5)) // the first channel is told
	list, texts := claim()
	e.equal("at first", []string{"firing to c1"}, texts)
	finish(list[0], alert.Outcome{Status: 500, Error: "answered 500"})
	clock.move(time.Second)
	_, err := e.s.ChangeAlert(e.ctx, e.project, a.ID, func(a *alert.Alert) error { a.Enabled = false; return nil })
	e.ok(err)
	_, texts = claim()
	e.equal("while the first waits for its second attempt", []string{"resolved to c2"}, texts)
	clock.move(9 * time.Second)
	list, texts = claim()
	e.equal("its second attempt", []string{"firing to c1"}, texts)
	clock.move(2 * time.Second)
	_, texts = claim()
	e.equal("while that is under way", 0, len(texts))
	finish(list[0], alert.Outcome{Status: 200})
	clock.move(10 * time.Second)
	_, texts = claim()
	e.equal("then", []string{"resolved to c1"}, texts)
}

// alertNoticePlaces has many notices for one receiver before that for another.
func alertNoticePlaces(e *env) {
	clock := e.clocked()
	for i := range 6 {
		a := newAlert(fmt.Sprint(i))
		a.To = []alert.Channel{{ID: "c", Type: alert.Slack, Host: "https://a/…", URL: []byte("sealed")}}
		if i == 5 {
			a.To[0].Host = "https://b/…"
		}
		e.saveAlert(a)
		clock.move(time.Millisecond)
		e.equal("fires", true, e.measured(e.s, e.claimAlerts(1)[0], 5))
	}
	claim := func(p alert.Places) (list []string) {
		e.Helper()
		claims, err := e.s.ClaimNotices(e.ctx, p, time.Minute)
		e.ok(err)
		for _, c := range claims {
			list = append(list, c.Notice.Name+" to "+c.Notice.Receiver())
		}
		return list
	}
	const a, b = "https://a/…", "https://b/…"
	e.equal("two of the one, and the other", []string{"0 to " + a, "1 to " + a, "5 to " + b}, claim(alert.Places{Free: 10, Each: 2}))
	e.equal("no place for it", []string(nil), claim(alert.Places{Free: 10, Each: 2, Busy: map[string]int{a: 2}}))
	e.equal("a place", []string{"2 to " + a}, claim(alert.Places{Free: 10, Each: 2, Busy: map[string]int{a: 1, b: 1}}))
	e.equal("as many as are free", []string{"3 to " + a}, claim(alert.Places{Free: 1, Each: 2}))
	e.equal("the last one", []string{"4 to " + a}, claim(alert.Places{Free: 2, Each: 2}))
}

// alertNoticesBehind has more notices than a claim looks at that cannot be sent now, before one that can: they are for a receiver to which
// enough are on their way, or wait for an earlier one to the same channel.
func alertNoticesBehind(e *env) {
	clock := e.clocked()
	a := e.saveAlert(newAlert("many"))
	waiting := func(n int, host string, each bool) {
		e.Helper()
		var list []alert.Notice
		for i := range n {
			x := alert.Notice{Type: alert.Slack, Host: host, ChannelID: host, Name: host, Kind: alert.KindFiring, State: alert.Waiting}
			if each {
				x.ChannelID += fmt.Sprint(i)
			}
			list = append(list, x)
		}
		e.ok(e.s.RecordNotices(e.ctx, e.project, a.ID, list))
		clock.move(time.Millisecond)
	}
	claimed := func(p alert.Places) (names []string) {
		e.Helper()
		list, err := e.s.ClaimNotices(e.ctx, p, time.Minute)
		e.ok(err)
		for _, c := range list {
			names = append(names, c.Notice.Name)
		}
		return names
	}
	const busy, mail, other = "https://busy/…", "ann@example.com", "https://b/…"
	waiting(250, busy, true)
	e.ok(e.s.RecordNotices(e.ctx, e.project, a.ID, []alert.Notice{{Type: alert.Email, Host: mail, ChannelID: "c", Name: mail, State: alert.Waiting}}))
	clock.move(time.Millisecond)
	waiting(1, other, true)
	e.equal("behind those for another receiver", []string{other}, claimed(alert.Places{Free: 10, Each: 2, Busy: map[string]int{busy: 2, alert.Email: 2}}))
	e.equal("then", []string{mail}, claimed(alert.Places{Free: 10, Each: 2, Busy: map[string]int{busy: 2}}))
	waiting(50, "https://c/…", false)
	waiting(1, "https://d/…", true)
	e.equal("behind those that wait for an earlier one", []string{"https://c/…", "https://d/…"},
		claimed(alert.Places{Free: 10, Each: 2, Busy: map[string]int{busy: 2}}))
}

// alertClockAhead has a server whose clock is days ahead, until it is set back.
func alertClockAhead(e *env) {
	clock := e.clocked()
	a := e.saveAlert(newAlert("slow"))
	taken := e.saveAlert(newAlert("taken"))
	clock.move(72 * time.Hour)
	e.equal("finished", true, e.measured(e.s, e.claimAlerts(1)[0], 5))
	e.equal("taken by a server that ends here", taken.ID, e.claimAlerts(1)[0].Alert.ID)
	clock.move(-72 * time.Hour)
	var ids []string
	for _, c := range e.claimAlerts(10) {
		ids = append(ids, c.Alert.ID)
		if c.At > clock.Now().UnixMilli() {
			e.Errorf("%s is evaluated for a time that has not come", c.Alert.Name)
		}
		e.equal("finished", true, e.measured(e.s, c, 5))
	}
	e.equal("evaluated now", 2, len(ids))
	sent := func() (list []string) {
		e.Helper()
		claims, err := e.s.ClaimNotices(e.ctx, alert.Places{Free: 10, Each: 10}, time.Minute)
		e.ok(err)
		for _, c := range claims {
			list = append(list, c.Notice.Kind)
		}
		return list
	}
	e.equal("and what was to be told", []string{alert.KindFiring, alert.KindFiring}, sent())
	e.equal("somebody sends them", 0, len(sent()))
	if due := e.alert(a.ID).Next; due > clock.Now().Add(time.Minute).UnixMilli() {
		e.Errorf("due again at %s", time.UnixMilli(due))
	}
	e.equal("once", 0, len(e.claimAlerts(10)))
}

func alertBounds(e *env) {
	a := e.saveAlert(newAlert("slow"))
	many := func(state alert.NoticeState, n int) (list []alert.Notice) {
		for range n {
			list = append(list, alert.Notice{Kind: alert.KindFiring, State: state})
		}
		return list
	}
	e.ok(e.s.RecordNotices(e.ctx, e.project, a.ID, many(alert.Waiting, alert.MaxWaiting+2)))
	e.ok(e.s.RecordNotices(e.ctx, e.project, a.ID, many(alert.Sent, alert.MaxNotices+3)))
	_, total, err := e.s.AlertNotices(e.ctx, e.project, a.ID, 1, 1)
	e.ok(err)
	e.equal("those that wait, and the newest of the others", alert.MaxWaiting+alert.MaxNotices, total)
	for i := range alert.MaxChanges + 2 {
		c := e.claimAlerts(1)[0]
		done, err := e.s.FinishAlert(e.ctx, &c, alert.Status{}, &alert.Change{At: int64(i), To: alert.OK}, nil)
		e.ok(err)
		e.equal("finished", true, done)
		_, err = e.s.ChangeAlert(e.ctx, e.project, a.ID, func(a *alert.Alert) error { a.Threshold++; return nil }) // due again
		e.ok(err)
	}
	other := alert.Notice{Kind: alert.KindFiring, State: alert.Waiting, ChannelID: "another"}
	told := []alert.Notice{other}
	e.ok(e.s.RecordNotices(e.ctx, e.project, a.ID, told))
	e.equal("of another channel, which takes notices", alert.Waiting, told[0].State)
	list, total, err := e.s.AlertChanges(e.ctx, e.project, a.ID, 1, 1)
	e.ok(err)
	e.equal("the newest changes", alert.MaxChanges, total)
	e.equal("newest first", int64(alert.MaxChanges+1), list[0].At)
}

func alertProjectDeleted(e *env) {
	e.clocked()
	p, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	e.project = p.ID
	a := e.saveAlert(newAlert("slow"))
	e.equal("fires", true, e.measured(e.s, e.claimAlerts(1)[0], 5))
	e.saveAlert(newAlert("due"))
	gone, err := e.s.DeleteProject(e.ctx, e.project)
	e.ok(err)
	e.equal("claimed of a project that is deleted", 0, len(e.claimAlerts(10)))
	e.await(gone)
	e.equal("rows left", 0, e.leftOf(p))
	_, err = e.s.Alert(e.ctx, e.project, a.ID)
	e.equal("read", fault.NotFound, fault.Of(err))
}
