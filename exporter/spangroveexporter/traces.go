package spangroveexporter

import (
	"context"

	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// tracesExporter is the exporter of spans, with its helper around it.
type tracesExporter struct {
	lifecycle
	traces exporter.Traces
}

func newTracesExporter(helper exporter.Traces, inner *spangroveExporter) *tracesExporter {
	return &tracesExporter{lifecycle: lifecycle{helper: helper, inner: inner, queued: inner.cfg.Queue.HasValue()}, traces: helper}
}

func (e *tracesExporter) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	stamp, err := e.admit(ctx)
	if err != nil {
		return err
	}
	if stamp != "" {
		for _, rs := range td.ResourceSpans().All() {
			setStamp(rs.Resource(), stamp)
		}
	}
	return e.traces.ConsumeTraces(ctx, td)
}
