package spangroveexporter

import (
	"context"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/spangrove/spangrove/pkg/project"
)

// lifecycle is what the exporters of traces and of logs share: each is the Collector's helper (queue, retries) around a spangroveExporter.
// It starts and stops the helper once, however often it is told to: the helper's retries break on a second Shutdown.
type lifecycle struct {
	helper      component.Component
	inner       *spangroveExporter
	queued      bool // the helper has a queue
	start, stop sync.Once
}

func (l *lifecycle) Start(ctx context.Context, host component.Host) (err error) {
	l.start.Do(func() { err = l.helper.Start(ctx, host) })
	return err
}

func (l *lifecycle) Shutdown(ctx context.Context) (err error) {
	l.stop.Do(func() {
		close(l.inner.stopping)
		err = l.helper.Shutdown(ctx)
	})
	return err
}

// Capabilities says that data is changed if there is a queue: the caller's project is written into it (see admit).
func (l *lifecycle) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: l.queued}
}

// admit returns Forbidden for a caller who may not write. stamp is the public id of the project to write into each resource before the data
// enters a queue, which forgets who called: without it, data of receivers other than ours would come out as nobody's. It is empty if there is
// nothing to write.
func (l *lifecycle) admit(ctx context.Context) (stamp string, err error) {
	caller, known := callerOf(ctx)
	if err := mayWrite(caller); err != nil {
		return "", err
	}
	if known && l.queued {
		return caller.Project.PublicID, nil
	}
	return "", nil
}

// setStamp writes the public id of a project into the attributes of a resource, where stampOf reads it.
func setStamp(r pcommon.Resource, stamp string) { r.Attributes().PutStr(project.AttrProjectID, stamp) }
