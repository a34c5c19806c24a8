// Package alerting runs alerts: it measures those that are due, takes what was measured into their states, and tells their
// receivers.
//
// All that must survive is in the store. Alerts and notices are claimed by leases, so that of several servers one evaluates each due
// time, and what a process leaves that ends is taken up by another. A notice is sent until its receiver takes it, with the same
// id each time: it comes at least once.
package alerting

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/alert"
	"github.com/spangrove/spangrove/pkg/chart"
	"github.com/spangrove/spangrove/pkg/fault"
	definition "github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Store is where alerts, their notices and the events are.
type Store interface {
	// ClaimAlerts takes alerts that are due, for the time of lease.
	ClaimAlerts(ctx context.Context, limit int, lease time.Duration) ([]alert.Claim, error)
	// FinishAlert stores what a claimed alert has come to; done is false if the claim holds no longer.
	FinishAlert(ctx context.Context, c *alert.Claim, status alert.Status, change *alert.Change, notices []alert.Notice) (done bool, err error)
	// PutOffAlert ends a claim without a result: the alert can be claimed again after a pause.
	PutOffAlert(ctx context.Context, c *alert.Claim, pause time.Duration) error
	// ClaimNotices takes notices that are due and for which there is a place, and counts the attempt.
	ClaimNotices(ctx context.Context, places alert.Places, lease time.Duration) ([]alert.NoticeClaim, error)
	// FinishNotice stores what became of a claimed notice.
	FinishNotice(ctx context.Context, projectID int64, n alert.Notice) error
	// RecordNotices stores notices that were sent already, and sets their ids.
	RecordNotices(ctx context.Context, projectID int64, id string, notices []alert.Notice) error
	// Alert returns an alert. fault.NotFound if there is none.
	Alert(ctx context.Context, projectID int64, id string) (alert.Alert, error)
	// SavedChart returns a saved chart. fault.NotFound if there is none.
	SavedChart(ctx context.Context, projectID int64, id string) (chart.Chart, error)
	definition.Finder
	// ProjectByID returns a project. fault.NotFound if there is none.
	ProjectByID(ctx context.Context, id int64) (project.Project, error)
	// Chart sums up events.
	Chart(ctx context.Context, projectID int64, c *query.Chart) (*query.ChartAnswer, error)
}

// Options of a Runner. Open must be set.
type Options struct {
	// Open returns the address and the secret of a channel, which are sealed in it.
	Open func(projectID int64, c *alert.Channel) (url, secret string, err error)
	// Allowed are the networks in which webhooks may be, in addition to public addresses.
	Allowed []netip.Prefix
	// Mail is the server that sends e-mail. Without an address none is sent.
	Mail Mail
	// URL is where people open the pages, for links in notices; empty: there are none.
	URL string
	// Poll is how often the store is looked at. Default 2s.
	Poll time.Duration

	Logger *zap.Logger
	Meter  metric.Meter
	Now    func() time.Time
}

// Bounds of what runs at the same time, and how long it may take.
const (
	alertsAtOnce  = 4
	alertLease    = 5 * time.Minute // more than two charts take
	noticesAtOnce = 16
	noticesToOne  = noticesAtOnce / 4 // to one receiver, which may not answer
	noticeLease   = 2 * time.Minute
	sendTimeout   = 15 * time.Second
	busyPause     = 10 * time.Second // before an alert that could not be measured is tried again
	giveBackTime  = 5 * time.Second  // to store an outcome or give back a claim, also while the runner stops
)

// Runner runs alerts from Start to Stop.
type Runner struct {
	options   Options
	store     Store
	hooks     *hooks
	telemetry *telemetry

	cancel context.CancelFunc
	work   sync.WaitGroup

	mu   sync.Mutex
	busy map[string]int // how many notices are on their way, by receiver
}

// New returns a runner. It does nothing by itself before Start; Test works before it, too.
func New(store Store, o Options) (*Runner, error) {
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Poll == 0 {
		o.Poll = 2 * time.Second
	}
	t, err := newTelemetry(o.Meter)
	return &Runner{options: o, store: store, hooks: newHooks(o.Allowed), telemetry: t, busy: map[string]int{}}, err
}

// Start begins to evaluate alerts and to send notices.
func (r *Runner) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.work.Go(func() { r.repeat(ctx, "evaluate alerts", alertsAtOnce, r.claimAlerts) })
	r.work.Go(func() { r.repeat(ctx, "send notices of alerts", noticesAtOnce, r.claimNotices) })
}

// Stop cancels what runs and waits until it has ended. The next runner, or another server's, does it again.
func (r *Runner) Stop() {
	if r.cancel != nil {
		r.cancel()
	}
	r.work.Wait()
	r.hooks.close()
}

// task is the work on what was claimed: an alert to evaluate, or a notice to send.
type task func(context.Context) error

// repeat claims tasks and runs them until ctx ends, at most atOnce at the same time: one that takes long, such as a receiver that does not
// answer, keeps its place, and the others go on. It claims again at once if it has found something or a task has ended, else after Poll.
func (r *Runner) repeat(ctx context.Context, doing string, atOnce int, claim func(ctx context.Context, limit int) ([]task, error)) {
	places, ended := make(chan struct{}, atOnce), make(chan struct{}, 1)
	var work sync.WaitGroup
	defer work.Wait()
	warn := func(err error) {
		if err != nil && ctx.Err() == nil {
			r.options.Logger.Warn(doing, zap.Error(err))
		}
	}
	tick := time.NewTicker(r.options.Poll)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case places <- struct{}{}: // one is free
			<-places
		}
		tasks, err := claim(ctx, atOnce-len(places))
		warn(err)
		for _, t := range tasks {
			places <- struct{}{}
			work.Go(func() {
				warn(t(ctx))
				<-places
				select {
				case ended <- struct{}{}:
				default:
				}
			})
		}
		if len(tasks) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
		case <-ended: // there may be one that had no place
		case <-tick.C:
		}
	}
}

// claimAlerts claims at most limit of the alerts that are due, and returns their evaluations.
func (r *Runner) claimAlerts(ctx context.Context, limit int) (tasks []task, err error) {
	claims, err := r.store.ClaimAlerts(ctx, limit, alertLease)
	for i := range claims {
		tasks = append(tasks, func(ctx context.Context) error { return r.evaluate(ctx, &claims[i]) })
	}
	return tasks, err
}

// evaluate measures an alert and stores the result. A store that is busy does not mean that there is no data: the alert is then evaluated
// again after busyPause, or at once by another server if this one stops.
func (r *Runner) evaluate(ctx context.Context, c *alert.Claim) error {
	err := r.conclude(ctx, c)
	if err == nil {
		return nil
	}
	pause := busyPause
	if ctx.Err() != nil {
		pause = 0
	}
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTime)
	defer cancel()
	return errors.Join(fmt.Errorf("alert %s: %w", c.Alert.ID, err), r.store.PutOffAlert(back, c, pause))
}

// conclude measures an alert and stores the result.
func (r *Runner) conclude(ctx context.Context, c *alert.Claim) error {
	reading, measures, err := r.measure(ctx, c.Project, &c.Alert, c.At)
	if err != nil {
		return err
	}
	status := c.Alert.Status
	from := status.State
	changed, tell := status.Step(&c.Alert, &reading)
	var change *alert.Change
	if changed {
		change = &alert.Change{At: c.At, From: from, To: status.State, Incident: status.Incident, Record: status.Last,
			Silenced: c.At < c.Alert.SilencedUntil}
		if change.Incident == "" {
			change.Incident = tell.Incident
		}
	}
	notices, err := r.notices(ctx, c.Project, &c.Alert, &reading, tell, measures)
	if err != nil {
		return err
	}
	done, err := r.store.FinishAlert(ctx, c, status, change, notices)
	if err == nil && done {
		r.telemetry.evaluated(ctx, status.State)
	}
	return err
}

// notices returns what the channels of an alert are told.
func (r *Runner) notices(
	ctx context.Context,
	projectID int64,
	a *alert.Alert,
	reading *alert.Reading,
	tell alert.Told,
	measures alert.Measures,
) (list []alert.Notice, err error) {
	if tell.Kind == "" || len(tell.To) == 0 {
		return nil, nil
	}
	if measures.Metric != "" {
		rate, err := r.isBoolean(ctx, projectID, measures.Metric)
		if err != nil {
			return nil, err
		}
		if rate {
			measures.Unit = alert.Rate
		}
	}
	for i := range tell.To {
		list = append(list, alert.NewNotice(a, &tell.To[i], reading, tell, measures))
	}
	return list, nil
}

// isBoolean reports whether a project has a metric of this name whose scores are true or false. It is asked only when there are notices.
func (r *Runner) isBoolean(ctx context.Context, projectID int64, name string) (bool, error) {
	for m, err := range definition.All(ctx, r.store, projectID, "") {
		if err != nil {
			return false, err
		}
		if m.Name == name && m.Return == definition.Boolean {
			return true, nil
		}
	}
	return false, nil
}

// measure returns what an alert measures at a time, and what that is in words. A fault of the alert itself, such as a deleted chart, becomes the
// reading's error; what measure returns as an error is one of the store that may pass.
func (r *Runner) measure(ctx context.Context, projectID int64, a *alert.Alert, at int64) (
	reading alert.Reading, measures alert.Measures, err error) {
	reading.At = at
	err = func() error {
		p, err := r.store.ProjectByID(ctx, projectID)
		if err != nil {
			return err
		}
		var saved *chart.Chart
		if a.ChartID != "" {
			c, err := r.store.SavedChart(ctx, projectID, a.ChartID)
			if fault.IsNotFound(err) {
				return fault.New(fault.Invalid, "the chart is deleted")
			}
			if err != nil {
				return err
			}
			saved = &c
		}
		measures = wire.AlertMeasures(a, saved)
		now, before := a.Measured(at)
		if reading.Value, reading.Events, err = r.figure(ctx, p, a, saved, now); err != nil || before == nil {
			return err
		}
		reading.Before, reading.EventsBefore, err = r.figure(ctx, p, a, saved, *before)
		return err
	}()
	switch fault.Of(err) {
	case fault.Limited, fault.Unavailable:
		return reading, measures, err
	case fault.Timeout:
		if ctx.Err() != nil {
			return reading, measures, err
		}
		reading.Error = "it took too long; take a shorter window or fewer events by filters"
	case fault.Invalid, fault.NotFound:
		reading.Error = message(err)
	default:
		if err != nil {
			r.options.Logger.Error("an alert cannot be measured", zap.Int64("project", projectID), zap.String("alert", a.ID), zap.Error(err))
			reading.Error = "internal error"
		}
	}
	return reading, measures, nil
}

// figure returns the figure of a time.
func (r *Runner) figure(ctx context.Context, p project.Project, a *alert.Alert, saved *chart.Chart, window alert.Range) (
	value *float64, events int64, err error) {
	c, err := wire.AlertChart(a, saved)
	if err != nil {
		return nil, 0, err
	}
	from, to := float64(window.From), math.Nextafter(float64(window.To), 0) // the end belongs to the next window
	c.From, c.To = &from, &to
	c.Filters = query.InProject(c.Filters, p)
	answer, err := r.store.Chart(ctx, p.ID, c)
	if err != nil {
		return nil, 0, err
	}
	if len(answer.Points) > 0 {
		return answer.Points[0].Value, answer.Total, nil
	}
	if c.Aggregation == query.Count {
		return new(float64), 0, nil // none came: that is what it counts
	}
	return nil, 0, nil
}

// message returns the part of an error that users may see.
func message(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Message()
	}
	return "internal error"
}
