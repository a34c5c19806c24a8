package online

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
)

const (
	// claimOutbox is about how many events are processed between two checks of the queue's
	// length: the queue of a project may exceed its bound by what they ask for.
	claimOutbox  = 500
	claimDelayed = 500
)

// feed processes new events once, for each project whose queue has room.
func (r *Runner) feed(ctx context.Context) (worked time.Duration, err error) {
	arrived, err := r.store.OutboxProjects(ctx)
	if err != nil {
		return 0, err
	}
	due, err := r.store.ClaimDelayed(ctx, claimDelayed, r.options.Timeout)
	if err != nil || len(arrived)+len(due) == 0 {
		return 0, err
	}
	waiting, err := r.waiting(ctx)
	if err != nil {
		return 0, err
	}
	later := map[int64][]evaluation.Delayed{}
	for _, l := range due {
		later[l.Project] = append(later[l.Project], l)
	}
	for _, id := range arrived {
		if _, ok := later[id]; !ok {
			later[id] = nil
		}
	}
	for id, due := range later {
		if waiting[id] >= r.options.Queue {
			continue // what was taken comes back
		}
		looked, projectErr := r.feedProject(ctx, id, due)
		err = errors.Join(err, projectErr) // the others go on
		worked += time.Duration(looked) * eventWork
	}
	return worked, err
}

// waiting returns how many evaluations of new events each project has in the queue.
func (r *Runner) waiting(ctx context.Context) (map[int64]int, error) {
	groups, err := r.store.EvaluationQueue(ctx)
	n := map[int64]int{}
	for _, g := range groups {
		if g.Backfill == "" { // backfills have a bound of their own
			n[g.Project] += g.Waiting
		}
	}
	return n, err
}

// feedProject enqueues the evaluations of a project's next outbox rows and of the delayed events that
// are due, and returns how many events it looked at.
func (r *Runner) feedProject(ctx context.Context, id int64, due []evaluation.Delayed) (looked int, err error) {
	f := &projectFeed{runner: r, answer: evaluation.Enqueue{Project: id, Handled: due}, active: map[uuid.UUID]bool{}}
	p, err := r.store.ProjectByID(ctx, id)
	if err != nil && fault.Of(err) != fault.NotFound {
		return 0, err
	}
	if err == nil {
		var list []metric.Metric
		if list, err = r.store.OnlineMetrics(ctx, id); err != nil {
			return 0, err
		}
		f.rules = rulesOf(list, p)
	}
	rows, err := r.store.ClaimOutbox(ctx, id, claimOutbox, r.options.Timeout)
	if err != nil || len(rows)+len(due) == 0 {
		return 0, err
	}
	looked = len(due)
	var fresh, waited []uuid.UUID
	for _, row := range rows {
		f.answer.OutboxIDs = append(f.answer.OutboxIDs, row.ID)
		looked += len(row.Events)
		for _, a := range row.Events {
			f.active[a.SessionID] = true
			if f.examineNow(a) {
				fresh = append(fresh, a.EventID)
			}
		}
	}
	for _, l := range due {
		if f.sampled(l.EventID) {
			waited = append(waited, l.EventID)
		}
	}
	if err := errors.Join(f.look(ctx, fresh, false), f.look(ctx, waited, true)); err != nil {
		return 0, err
	}
	n, err := r.store.EnqueueEvaluations(ctx, f.answer)
	if n > 0 {
		r.queue.wake()
	}
	return looked, err
}

// projectFeed collects what becomes of a project's new events.
type projectFeed struct {
	runner *Runner
	rules  []metricRule
	answer evaluation.Enqueue
	active map[uuid.UUID]bool // sessions for which something has come
}

// examineNow reports whether an event that was stored or changed is to be looked at now. A session is
// delayed until nothing has come for it for a while.
func (f *projectFeed) examineNow(a evaluation.OutboxEvent) bool {
	for i := range f.rules {
		if f.rules[i].session {
			due := f.runner.dueIn(f.runner.options.SessionIdle)
			f.answer.Delayed = append(f.answer.Delayed, evaluation.Delayed{EventID: a.SessionID, Due: due, Extend: true})
			break
		}
	}
	return a.EventID != a.SessionID && f.sampled(a.EventID)
}

// look requests the evaluations of events. Those that have not ended are delayed, unless that was
// done before.
func (f *projectFeed) look(ctx context.Context, ids []uuid.UUID, waited bool) error {
	if len(ids) == 0 {
		return nil
	}
	set, err := f.runner.store.EventsByID(ctx, f.answer.Project, ids)
	if err != nil {
		return err
	}
	for i := range set.Events {
		e, err := set.Load(ctx, i)
		if fault.IsNotFound(err) {
			continue // deleted meanwhile
		}
		if kind := fault.Of(err); err != nil && (ctx.Err() != nil || kind == fault.Limited || kind == fault.Unavailable) {
			return err
		}
		if err != nil { // the others are looked at all the same
			id := set.Events[i].ID
			f.runner.options.Logger.Warn("a new event cannot be read, and is evaluated later or not at all", zap.Int64("project_id", f.answer.Project),
				zap.Stringer("event_id", id), zap.Error(err))
			if !waited {
				f.answer.Delayed = append(f.answer.Delayed, evaluation.Delayed{EventID: id, Due: f.runner.dueIn(f.runner.options.Unfinished)})
			}
			continue
		}
		if !waited && !e.IsSession() && !ended(&e) {
			due := f.runner.dueIn(f.runner.options.Unfinished)
			f.answer.Delayed = append(f.answer.Delayed, evaluation.Delayed{EventID: e.ID, Due: due})
			continue
		}
		if e.IsSession() && f.active[e.ID] {
			continue // examineNow has just put it off
		}
		f.request(&e)
	}
	return nil
}

// sampled reports whether any metric has the event in its sample, so that it must be read.
func (f *projectFeed) sampled(id uuid.UUID) bool {
	for i := range f.rules {
		if evaluation.Sampled(f.rules[i].metric.ID, id, f.rules[i].percent) {
			return true
		}
	}
	return false
}

func (f *projectFeed) request(e *event.Event) {
	for i := range f.rules {
		r := &f.rules[i]
		if evaluation.Sampled(r.metric.ID, e.ID, r.percent) && r.match.Match(e) {
			request := evaluation.Request{MetricID: r.metric.ID, Version: r.metric.Deployed, EventID: e.ID}
			f.answer.Requests = append(f.answer.Requests, request)
		}
	}
}
