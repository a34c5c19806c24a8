package online

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/wire"
)

const (
	// batchBytes closes a batch: once its events are this large, no further one joins it.
	batchBytes = 16 << 20
	// maxBackoff bounds the pause before another attempt.
	maxBackoff = time.Hour
	// readPause is the pause after an event could not be read because its project reads too much at once.
	readPause = 2 * time.Second
	// runningPause is how long an event that has not ended waits before it is looked at again.
	runningPause = time.Minute
	// storeTimeout bounds how long storing the outcomes of a batch may take, also when the runner stops.
	// A claim outlasts the engine's time limit by as much.
	storeTimeout = 10 * time.Second
)

// workOnce evaluates what it can claim of one group.
func (r *Runner) workOnce(ctx context.Context) (worked time.Duration, err error) {
	g, ok, err := r.queue.take(ctx, r.options.Batch)
	if err != nil || !ok {
		return 0, err
	}
	defer r.queue.leave(g.Project)
	s, err := r.openGroup(ctx, g)
	if err != nil || s == nil {
		return 0, err
	}
	jobs, err := r.store.ClaimEvaluations(ctx, g, r.options.Batch, r.options.Timeout+storeTimeout, s.after)
	if err != nil || len(jobs) == 0 {
		return 0, err
	}
	running, cancel := context.WithTimeout(ctx, r.options.Timeout)
	defer cancel()
	for len(jobs) > 0 {
		b, err := s.read(running, jobs)
		if running.Err() != nil && (worked > 0 || ctx.Err() != nil) {
			return worked, s.giveBack(ctx, jobs)
		}
		if fault.Of(err) == fault.Limited { // other reads of the project are under way
			return worked, s.putOff(ctx, jobs, readPause)
		}
		if err != nil {
			return worked, err // they come back when the claim ends
		}
		worked += time.Duration(b.read)*eventWork + b.evaluate(ctx, running)
		if err := b.storeOutcomes(ctx); err != nil {
			return worked, err
		}
		jobs = jobs[b.read:]
	}
	return worked, nil
}

// groupWork is the work on one group: its project, and the metric that scores its events.
type groupWork struct {
	runner  *Runner
	group   evaluation.Group
	project project.Project
	name    string // of the metric now: where its scores are found
	old     bool   // another version is active now
	metric  metric.Definition
	after   []string // metrics whose scores it is made of
}

// openGroup reads the project and the metric of a group. If either is gone, or the metric no longer
// runs over new events, it drops the group and returns nil.
func (r *Runner) openGroup(ctx context.Context, g evaluation.Group) (*groupWork, error) {
	s := &groupWork{runner: r, group: g}
	var err error
	if s.project, err = r.store.ProjectByID(ctx, g.Project); err != nil {
		if fault.IsNotFound(err) {
			return nil, r.store.DropWaiting(ctx, g)
		}
		return nil, err
	}
	now, err := r.store.LoadMetrics(ctx, g.Project, []string{g.MetricID})
	if err != nil {
		return nil, err
	}
	versions, err := r.store.LoadMetricVersions(ctx, g.Project, g.MetricID, []string{metric.VersionName(g.Version)})
	if err != nil {
		return nil, err
	}
	if len(now) == 0 || len(versions) == 0 || g.Backfill == "" && !now[0].EnabledInProd {
		return nil, r.store.DropWaiting(ctx, g)
	}
	s.name, s.metric, s.old = now[0].Name, versions[0].Definition, now[0].Deployed != g.Version
	if s.metric.Type == metric.Composite {
		online, err := r.store.OnlineMetrics(ctx, g.Project)
		if err != nil {
			return nil, err
		}
		s.after, err = partsOf(&s.metric, g.MetricID, online)
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// giveBack releases jobs for which there was no time.
func (s *groupWork) giveBack(ctx context.Context, jobs []evaluation.Job) error {
	return s.putOff(ctx, jobs, 0)
}

// putOff releases jobs, which are due again after a pause.
func (s *groupWork) putOff(ctx context.Context, jobs []evaluation.Job, pause time.Duration) error {
	b := &jobBatch{work: s}
	for _, j := range jobs {
		o := b.skipped("")
		o.Due += pause.Milliseconds()
		b.addOutcome(j, o)
	}
	return b.storeOutcomes(ctx)
}

// atOnce returns how many events go to an engine together if one of them has been tried so often:
// fewer each time, so that none fails for ever because of its neighbours, or for want of time.
func (s *groupWork) atOnce(attempts int) int {
	return max(1, s.runner.options.Batch>>min(2*(attempts-1), 30))
}

// jobBatch is the jobs that go to an engine together, in order, and the outcomes of others so far.
type jobBatch struct {
	work     *groupWork
	read     int // jobs looked at
	jobs     []evaluation.Job
	events   []json.RawMessage // of the jobs
	outcomes []evaluation.Outcome
}

// read reads the events of the first of jobs.
func (s *groupWork) read(ctx context.Context, jobs []evaluation.Job) (*jobBatch, error) {
	b := &jobBatch{work: s}
	ids := make([]uuid.UUID, len(jobs))
	for i, j := range jobs {
		ids[i] = j.EventID
	}
	set, err := s.runner.store.EventsByID(ctx, s.group.Project, ids)
	if err != nil {
		return nil, err
	}
	at := make(map[uuid.UUID]int, len(set.Events))
	for i := range set.Events {
		at[set.Events[i].ID] = i
	}
	for bytes := 0; b.read < len(jobs) && bytes < batchBytes; b.read++ {
		j := jobs[b.read]
		if len(b.jobs) > 0 && len(b.jobs) >= s.atOnce(j.Attempts) {
			break
		}
		i, there := at[j.EventID]
		if !there {
			b.addOutcome(j, evaluation.Outcome{Drop: true})
			continue
		}
		if j.Attempts > s.runner.options.Attempts {
			why := fmt.Sprintf("Given up after %d attempts, the last of which was interrupted.", s.runner.options.Attempts)
			b.addOutcome(j, evaluation.Outcome{State: evaluation.Dead, Explanation: why})
			continue
		}
		text, wait, err := s.load(ctx, set, i)
		switch {
		case errors.Is(err, wire.ErrTooLarge):
			why := fmt.Sprintf("The session has more than %d bytes.", batchBytes)
			b.addOutcome(j, evaluation.Outcome{State: evaluation.Failed, Failure: string(evaluation.Unfit), Explanation: why})
			continue
		case fault.IsNotFound(err): // deleted meanwhile
			b.addOutcome(j, evaluation.Outcome{Drop: true})
			continue
		case fault.Of(err) == fault.Limited && b.read > 0 && ctx.Err() == nil:
			return b, nil // those before it need not wait
		case err != nil && (ctx.Err() != nil || fault.Of(err) == fault.Limited || fault.Of(err) == fault.Unavailable):
			return nil, err
		case err != nil: // it is tried again by itself: the others are not given up with it
			s.runner.options.Logger.Warn("an event to evaluate cannot be read", zap.Int64("project_id", s.group.Project),
				zap.Stringer("event_id", j.EventID), zap.Error(err))
			b.addOutcome(j, b.retryLater(j, "The event could not be read."))
			continue
		case wait > 0:
			o := b.skipped("It has not ended yet.")
			o.Due += wait.Milliseconds()
			b.addOutcome(j, o)
			continue
		}
		b.jobs, b.events = append(b.jobs, j), append(b.events, text)
		bytes += len(text)
	}
	return b, nil
}

// load reads event i of a set, and returns the JSON that an engine gets for it; that of a session has all events below it. If wait is more than
// 0, the event is not complete yet and is to be looked at again after that time. Only events of a backfill wait here: new ones have waited
// before they entered the queue.
func (s *groupWork) load(ctx context.Context, set *event.Set, i int) (text json.RawMessage, wait time.Duration, err error) {
	e, err := set.Load(ctx, i)
	if err != nil {
		return nil, 0, err
	}
	past := s.group.Backfill != ""
	if !e.IsSession() {
		if past && !ended(&e) {
			wait = s.runner.untilEnd(&e)
		}
		return wire.AppendEvent(nil, &e, &s.project), wait, nil
	}
	session, err := s.runner.store.Session(ctx, s.group.Project, e.ID)
	if err != nil {
		return nil, 0, err
	}
	if past {
		if wait = s.runner.untilIdle(session.Events); wait > 0 {
			return nil, wait, nil
		}
	}
	text, err = wire.SessionText(ctx, session, &s.project, batchBytes)
	return text, 0, err
}

// untilEnd returns how long to wait before looking again whether an event has ended; 0 if it began longer ago than Options.Unfinished, and is
// waited for no longer.
func (r *Runner) untilEnd(e *event.Event) time.Duration {
	return min(r.within(e.Start, r.options.Unfinished), runningPause)
}

// untilIdle returns how long to wait for more events of a session, whose last one may be recent or unfinished.
func (r *Runner) untilIdle(list []event.Event) (wait time.Duration) {
	for i := range list {
		e := &list[i]
		wait = max(wait, r.within(max(e.Start, e.End, e.Start+e.Duration), r.options.SessionIdle))
		if e.Unfinished {
			wait = max(wait, r.untilEnd(e))
		}
	}
	return wait
}

// within returns how much is left of a span of time that begins at a Unix time in milliseconds. It is 0 if the span is over, and if it begins
// further ahead than it is long: a sender's clock may be ahead.
func (r *Runner) within(at float64, span time.Duration) time.Duration {
	left := at + float64(span.Milliseconds()) - float64(r.options.Now().UnixMilli())
	if left <= 0 || left > 2*float64(span.Milliseconds()) {
		return 0
	}
	return time.Duration(left * float64(time.Millisecond))
}

// addOutcome records what became of a job.
func (b *jobBatch) addOutcome(j evaluation.Job, o evaluation.Outcome) {
	o.Job, o.Outdated = j, b.work.old
	b.outcomes = append(b.outcomes, o)
}

// evaluate runs the engine with the context running, and returns the work that this cost the machine;
// ctx is the runner's.
func (b *jobBatch) evaluate(ctx, running context.Context) (worked time.Duration) {
	if len(b.jobs) == 0 {
		return 0
	}
	began := time.Now()
	r, work := b.work.runner, b.work
	results, err := r.evaluator.Run(running, evaluate.Task{
		Project: work.group.Project,
		Metric:  &work.metric,
		ID:      work.group.MetricID,
		Version: work.group.Version,
		Events:  b.events,
	})
	took := time.Since(began)
	r.telemetry.ran(ctx, work.metric.Type, took)
	switch {
	case err != nil && (ctx.Err() != nil || errors.Is(err, evaluate.ErrBusy)): // no engine was asked
		for _, j := range b.jobs {
			b.addOutcome(j, b.skipped(""))
		}
	case err != nil:
		why := b.reason(err)
		for _, j := range b.jobs {
			b.addOutcome(j, b.retryLater(j, why))
		}
	default:
		share := took.Seconds() * 1000 / float64(len(results))
		for i, res := range results {
			o := evaluation.Outcome{
				State:       evaluation.Done,
				Score:       res.Score,
				Explanation: res.Explanation,
				Failure:     string(res.Failure),
				Passed:      res.Passed,
				Cost:        res.Cost,
				LatencyMS:   share,
			}
			switch {
			case res.Skipped:
				o = b.skipped(res.Explanation)
				o.Due = r.dueIn(res.Later)
			case res.Temporary:
				o = b.retryLater(b.jobs[i], res.Explanation)
			case !res.Success:
				o.State = evaluation.Failed
			}
			o.Cost = res.Cost // whatever came of it: the first of a judge's two questions may have been answered, and the second not
			b.addOutcome(b.jobs[i], o)
		}
	}
	if work.metric.Type == metric.LLM {
		return time.Duration(len(b.jobs)) * judgeWork
	}
	return took
}

// skipped returns the outcome of a job that no engine has looked at: as if nobody had claimed it.
func (b *jobBatch) skipped(why string) evaluation.Outcome {
	return evaluation.Outcome{State: evaluation.Waiting, Due: b.work.runner.dueIn(0), Skipped: true, Explanation: why}
}

// retryLater returns the outcome of a job whose engine broke, or failed for a reason that may go away.
func (b *jobBatch) retryLater(j evaluation.Job, why string) evaluation.Outcome {
	r := b.work.runner
	if j.Attempts >= r.options.Attempts {
		return evaluation.Outcome{State: evaluation.Dead, Explanation: why}
	}
	pause := maxBackoff
	if doubled := r.options.Backoff << (j.Attempts - 1); doubled > 0 && doubled < maxBackoff {
		pause = doubled
	}
	return evaluation.Outcome{State: evaluation.Waiting, Due: r.dueIn(pause), Explanation: why}
}

// reason returns the public part of an engine's error; the rest is for the log.
func (b *jobBatch) reason(err error) string {
	var f *fault.Error
	switch {
	case errors.As(err, &f):
		return f.Msg
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("The engine took longer than %s for %d events.", b.work.runner.options.Timeout, len(b.jobs))
	}
	b.work.runner.options.Logger.Warn("engine broke",
		zap.String("metric_id", b.work.group.MetricID), zap.String("type", string(b.work.metric.Type)), zap.Error(err))
	return "The engine broke: internal error."
}

// storeOutcomes stores the outcomes of the batch.
func (b *jobBatch) storeOutcomes(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	r := b.work.runner
	if err := r.store.FinishEvaluations(ctx, b.work.group.Project, b.work.name, b.outcomes); err != nil {
		return err
	}
	for i := range b.outcomes {
		r.telemetry.addOutcome(ctx, &b.outcomes[i])
	}
	return nil
}

// partsOf returns the ids of the metrics that a composite one is made of, if they run over new events
// too: they go first. A metric that is made of itself waits for none.
func partsOf(d *metric.Definition, id string, list []metric.Metric) ([]string, error) {
	byName := map[string]*metric.Metric{}
	for i := range list {
		byName[list[i].Name] = &list[i]
	}
	seen := map[string]bool{}
	var ids []string
	var walk func(d *metric.Definition, direct bool) error
	walk = func(d *metric.Definition, direct bool) error {
		children, err := metric.ChildrenOf(d.Children)
		if err != nil {
			return err
		}
		for _, c := range children {
			m := byName[c.Name]
			if m == nil || m.Type == metric.Human {
				continue
			}
			if direct {
				ids = append(ids, m.ID)
			}
			if !seen[m.ID] {
				seen[m.ID] = true
				if err := walk(&m.Definition, false); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := walk(d, true); err != nil || seen[id] {
		return nil, err
	}
	return ids, nil
}
