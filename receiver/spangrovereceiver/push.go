package spangrovereceiver

import (
	"context"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/receiverhelper"

	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/otlpmap"
	"github.com/spangrove/spangrove/pkg/project"
)

// reserved is the prefix of resource attributes that only the receiver sets.
const reserved = "spangrove."

// stamp writes whose the data is into a resource, since client metadata does not survive
// queues. What the sender put under reserved names is removed, so nobody can write into a
// project whose key they do not have.
func stamp(attrs pcommon.Map, id project.Identity) {
	attrs.RemoveIf(func(name string, _ pcommon.Value) bool { return strings.HasPrefix(name, reserved) })
	if id.Project.PublicID != "" {
		attrs.PutStr(project.AttrProjectID, id.Project.PublicID)
	}
	if id.KeyID != "" {
		attrs.PutStr(project.AttrKeyID, id.KeyID)
	}
}

// pushTraces hands spans to the pipeline, which owns them from then on. Spans without a valid trace or span id, which
// nothing downstream could tell apart, are left out, and so are those that only an exporter can tell to be wrong. err has a kind (see refusal).
func (r *spangroveReceiver) pushTraces(ctx context.Context, via *receiverhelper.ObsReport, format string, td ptrace.Traces,
	id project.Identity) (lacks leftOut, err error) {
	rejected := 0
	for _, rs := range td.ResourceSpans().All() {
		stamp(rs.Resource().Attributes(), id)
		for _, ss := range rs.ScopeSpans().All() {
			ss.Spans().RemoveIf(func(s ptrace.Span) bool {
				bad := s.TraceID().IsEmpty() || s.SpanID().IsEmpty()
				if bad {
					rejected++
				}
				return bad
			})
		}
	}
	if rejected > 0 {
		r.metrics.reject(ctx, rejected)
	}
	lacks.add(rejected, otlpmap.NoSpan)
	n := td.SpanCount()
	if n == 0 {
		return lacks, nil
	}
	// From here on the Collector counts: what is accepted and what the pipeline refuses.
	ctx, told := mount.WithLeftOut(via.StartTracesOp(ctx))
	err = r.traces.ConsumeTraces(ctx, td)
	via.EndTracesOp(ctx, format, n, err)
	if err != nil {
		return lacks, refusal(err)
	}
	lacks.add(told.Told())
	return lacks, nil
}

// pushLogs hands log records to the pipeline. Without a logs pipeline they are dropped. Records
// about a model's work that name no span, which nothing downstream could join to it, are left
// out, and so are those that only an exporter can tell to be wrong. Lines of an application's log need no span, nor do the steps of an agent.
func (r *spangroveReceiver) pushLogs(ctx context.Context, via *receiverhelper.ObsReport, format string, ld plog.Logs,
	id project.Identity) (lacks leftOut, err error) {
	if r.logs == nil {
		if n := ld.LogRecordCount(); n > 0 {
			r.metrics.drop(ctx, "logs", n)
		}
		return lacks, nil
	}
	rejected := 0
	for _, rl := range ld.ResourceLogs().All() {
		stamp(rl.Resource().Attributes(), id)
		agents := otlpmap.AgentSession(rl.Resource())
		for _, sl := range rl.ScopeLogs().All() {
			sl.LogRecords().RemoveIf(func(rec plog.LogRecord) bool {
				bad := (rec.TraceID().IsEmpty() || rec.SpanID().IsEmpty()) && otlpmap.AboutAI(rec) &&
					!otlpmap.IsStep(rec, agents)
				if bad {
					rejected++
				}
				return bad
			})
		}
	}
	if rejected > 0 {
		r.metrics.rejectLogs(ctx, rejected)
	}
	lacks.add(rejected, otlpmap.NoSpan)
	n := ld.LogRecordCount()
	if n == 0 {
		return lacks, nil
	}
	ctx, told := mount.WithLeftOut(via.StartLogsOp(ctx))
	err = r.logs.ConsumeLogs(ctx, ld)
	via.EndLogsOp(ctx, format, n, err)
	if err != nil {
		return lacks, refusal(err)
	}
	lacks.add(told.Told())
	return lacks, nil
}
