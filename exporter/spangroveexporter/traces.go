package spangroveexporter

import (
	"context"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/pkg/project"
)

// tracesExporter is the exporter with its helper (queue, retries) around it. It starts and
// stops once, however often it is told to: the helper's retries break on a second Shutdown.
//
// If there is a queue, it writes the caller's project into the resources before they enter it,
// since a queue forgets who called. Without that, spans from receivers other than ours would
// come out of it as nobody's.
type tracesExporter struct {
	exporter.Traces
	inner       *spangroveExporter
	queued      bool
	start, stop sync.Once
}

func (e *tracesExporter) Start(ctx context.Context, host component.Host) (err error) {
	e.start.Do(func() { err = e.Traces.Start(ctx, host) })
	return err
}

func (e *tracesExporter) Shutdown(ctx context.Context) (err error) {
	e.stop.Do(func() {
		close(e.inner.stopping)
		err = e.Traces.Shutdown(ctx)
	})
	return err
}

func (e *tracesExporter) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: e.queued}
}

func (e *tracesExporter) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	caller, known := callerOf(ctx)
	if err := mayWrite(caller); err != nil {
		return err
	}
	if known && e.queued {
		for _, rs := range td.ResourceSpans().All() {
			rs.Resource().Attributes().PutStr(project.AttrProjectID, caller.Project.PublicID)
		}
	}
	return e.Traces.ConsumeTraces(ctx, td)
}
