package spangroveexporter

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/spangrove/spangrove/pkg/fault"
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
	logs    plog.Logs
	err     error // why the project is not known; nothing of the part can be stored
}

// consumeLogs stores what log records say of events, each project's for itself.
func (e *spangroveExporter) consumeLogs(ctx context.Context, ld plog.Logs) error {
	return delivery[logPart]{
		store:   func(p logPart) outcome { return e.storeLogs(ctx, p) },
		halves:  logPart.halves,
		refuse:  func(o outcome) { e.metrics.refuseLogs(ctx, o.refused, o.err) },
		mayLack: func(logPart) bool { return false },
	}.deliver(ctx, e, e.splitLogs(ctx, ld))
}

// halves is part.halves for log records.
func (p logPart) halves() (a, b logPart, ok bool) {
	list := p.logs.ResourceLogs()
	if p.err != nil || list.Len() < 2 {
		return a, b, false
	}
	a, b = logPart{p.project, plog.NewLogs(), nil}, logPart{p.project, plog.NewLogs(), nil}
	for i, rl := range list.All() {
		half := a.logs
		if i >= list.Len()/2 {
			half = b.logs
		}
		rl.CopyTo(half.ResourceLogs().AppendEmpty())
	}
	return a, b, true
}

// splitLogs sorts a request's records by project, as split does with spans.
func (e *spangroveExporter) splitLogs(ctx context.Context, ld plog.Logs) []logPart {
	if caller, known := callerOf(ctx); known {
		id, err := e.numberOf(ctx, caller.Project)
		return []logPart{{id, ld, err}}
	}
	byStamp := map[string]int{}
	var parts []logPart
	for _, rl := range ld.ResourceLogs().All() {
		stamp := stampOf(rl.Resource())
		i, seen := byStamp[stamp]
		if !seen {
			p, err := e.projectOf(ctx, stamp)
			if waits(err) { // then all of it is sent again
				return []logPart{{logs: ld, err: err}}
			}
			i = len(parts)
			byStamp[stamp] = i
			parts = append(parts, logPart{p.ID, plog.NewLogs(), err})
		}
		rl.CopyTo(parts[i].logs.ResourceLogs().AppendEmpty())
	}
	return parts
}

// storeLogs stores what one project gets: log parts, which add to the events of spans, and events, of the steps that agents report by
// log records alone. A record that can be neither is counted and left out; if none can be anything, that is the error.
func (e *spangroveExporter) storeLogs(ctx context.Context, p logPart) outcome {
	if p.err != nil {
		return outcome{err: p.err, refused: p.logs.LogRecordCount()}
	}
	parts, rejected, dropped := e.logMapper(p.logs)
	batch := e.stepMapper(p.logs)
	reserveSource(&batch)
	batch.LogParts = parts
	var err error
	if len(parts) > 0 || len(batch.Events) > 0 {
		began := time.Now()
		err = e.store.Put(ctx, p.project, batch)
		e.metrics.putLogs(ctx, time.Since(began), len(parts)+len(batch.Events), err)
		if err != nil {
			err = fmt.Errorf("store %d log parts and %d events of log records: %w", len(parts), len(batch.Events), err)
			return outcome{err: err, refused: p.logs.LogRecordCount() - dropped}
		}
	} else if len(rejected) > 0 {
		err = fault.New(fault.Invalid, "log record of span %s of trace %s: %s", rejected[0].SpanID, rejected[0].TraceID, rejected[0].Reason)
	}
	// Not before the write, which may be tried again.
	e.metrics.dropLogs(ctx, dropped)
	for _, r := range rejected {
		e.metrics.rejectLog(ctx, r.Reason)
	}
	return outcome{err: err}
}
