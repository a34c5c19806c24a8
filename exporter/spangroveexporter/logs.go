package spangroveexporter

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/otlpmap"
)

// logsExporter is the exporter of log records, with its helper around it.
type logsExporter struct {
	lifecycle
	logs exporter.Logs
}

func newLogsExporter(helper exporter.Logs, inner *spangroveExporter) *logsExporter {
	return &logsExporter{lifecycle: lifecycle{helper: helper, inner: inner, queued: inner.cfg.Queue.HasValue()}, logs: helper}
}

func (e *logsExporter) ConsumeLogs(ctx context.Context, ld plog.Logs) error {
	stamp, err := e.admit(ctx)
	if err != nil {
		return err
	}
	if stamp != "" {
		for _, rl := range ld.ResourceLogs().All() {
			setStamp(rl.Resource(), stamp)
		}
	}
	return e.logs.ConsumeLogs(ctx, ld)
}

// logPart is what one project gets of a request.
type logPart struct {
	project int64
	batch   event.Batch // what the records become
	records int         // those that the batch is made of
	unused  *unusedLogs // of the whole request; halves of a part share it
	err     error       // why the project is not known; nothing of the part can be stored
}

// unusedLogs are records that become nothing. They are counted once, when something of their part is stored or there is nothing to store.
type unusedLogs struct {
	rejected []otlpmap.Rejection
	dropped  int
}

// consumeLogs stores what log records say of events, each project's for itself.
func (e *spangroveExporter) consumeLogs(ctx context.Context, ld plog.Logs) error {
	return delivery[logPart]{
		store:   func(p logPart) outcome { return e.storeLogs(ctx, p) },
		halves:  logPart.halves,
		refuse:  func(o outcome) { e.metrics.refuseLogs(ctx, o.refused, o.err) },
		mayLack: func(logPart) bool { return true },
	}.deliver(ctx, e, e.splitLogs(ctx, ld))
}

// halves is part.halves for log records. What the records become is divided, and not the records themselves: some are read together with
// others, and the place of a record in its request orders what it says. What one record becomes stays together.
func (p logPart) halves() (a, b logPart, ok bool) {
	if p.err != nil || p.records < 2 {
		return a, b, false
	}
	middle := p.records / 2
	events := min(middle, len(p.batch.Events))
	parts := append(recordsIn(p.batch.LogParts), len(p.batch.LogParts))[middle-events]
	first := batchOf(p.batch, p.batch.Events[:events], p.batch.LogParts[:parts])
	second := batchOf(p.batch, p.batch.Events[events:], p.batch.LogParts[parts:])
	return logPart{p.project, first, middle, p.unused, nil}, logPart{p.project, second, p.records - middle, p.unused, nil}, true
}

// batchOf returns some of the events and log parts of all, with what all says of their sessions and traces.
func batchOf(all event.Batch, events []event.Incoming, parts []event.LogPart) event.Batch {
	sessions, traces := map[uuid.UUID]bool{}, map[uuid.UUID]bool{}
	for i := range events {
		sessions[events[i].SessionID], traces[events[i].TraceID] = true, true
	}
	some := event.Batch{Events: events, LogParts: parts}
	for _, hint := range all.Sessions {
		if sessions[hint.SessionID] {
			some.Sessions = append(some.Sessions, hint)
		}
	}
	for _, t := range all.Traces {
		if traces[t.TraceID] {
			some.Traces = append(some.Traces, t)
		}
	}
	return some
}

// mapLogs returns what one project gets: log parts, which add to the events of spans, and events, of the steps that agents report by
// log records alone.
func (e *spangroveExporter) mapLogs(project int64, ld plog.Logs) logPart {
	parts, rejected, dropped := e.logMapper(ld)
	p := logPart{project: project, batch: e.stepMapper(ld), unused: &unusedLogs{rejected, dropped}}
	reserveSource(&p.batch)
	p.batch.LogParts = parts
	p.records = len(p.batch.Events) + len(recordsIn(parts))
	return p
}

// recordsIn returns where the log parts of each record begin.
func recordsIn(parts []event.LogPart) (begins []int) {
	for i := range parts {
		if i == 0 || parts[i].Seq != parts[i-1].Seq {
			begins = append(begins, i)
		}
	}
	return begins
}

// splitLogs sorts a request's records by project, as split does with spans.
func (e *spangroveExporter) splitLogs(ctx context.Context, ld plog.Logs) []logPart {
	if caller, known := callerOf(ctx); known {
		id, err := e.numberOf(ctx, caller.Project)
		if err != nil {
			return []logPart{{records: ld.LogRecordCount(), err: err}}
		}
		return []logPart{e.mapLogs(id, ld)}
	}
	byStamp := map[string]int{}
	var projects []logPart
	var logs []plog.Logs
	for _, rl := range ld.ResourceLogs().All() {
		stamp := stampOf(rl.Resource())
		i, seen := byStamp[stamp]
		if !seen {
			p, err := e.projectOf(ctx, stamp)
			if waits(err) { // then all of it is sent again
				return []logPart{{records: ld.LogRecordCount(), err: err}}
			}
			i = len(projects)
			byStamp[stamp] = i
			projects, logs = append(projects, logPart{project: p.ID, err: err}), append(logs, plog.NewLogs())
		}
		rl.CopyTo(logs[i].ResourceLogs().AppendEmpty())
	}
	for i, p := range projects {
		if projects[i].records = logs[i].LogRecordCount(); p.err == nil {
			projects[i] = e.mapLogs(p.project, logs[i])
		}
	}
	return projects
}

// storeLogs stores what one project gets. A record that can be nothing is counted and left out; if none can be anything, that is the error.
func (e *spangroveExporter) storeLogs(ctx context.Context, p logPart) outcome {
	if p.err != nil {
		return outcome{err: p.err, refused: p.records}
	}
	var err error
	if stored := len(p.batch.LogParts) + len(p.batch.Events); stored > 0 {
		began := time.Now()
		err = e.store.Put(ctx, p.project, p.batch)
		e.metrics.putLogs(ctx, time.Since(began), stored, err)
		if err != nil {
			err = fmt.Errorf("store %d log parts and %d events of log records: %w", len(p.batch.LogParts), len(p.batch.Events), err)
			return outcome{err: err, refused: p.records}
		}
	} else if r := p.unused.rejected; len(r) > 0 {
		err = fault.New(fault.Invalid, "log record of span %s of trace %s: %s", r[0].SpanID, r[0].TraceID, r[0].Reason)
	}
	// Not before the write, which may be tried again.
	e.metrics.dropLogs(ctx, p.unused.dropped)
	for _, r := range p.unused.rejected {
		e.metrics.rejectLog(ctx, r.Reason)
	}
	*p.unused = unusedLogs{}
	return outcome{err: err}
}
