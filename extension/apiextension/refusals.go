package apiextension

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/refused"
)

// reportEvery is the time between two lines of the log about one sender that is refused for one reason.
const reportEvery = time.Minute

// Refuse implements mount.Refusals.
func (e *apiExtension) Refuse(projectID string, r refused.Request) {
	r = e.refusals.Add(projectID, r)
	if line, first := e.report.Add(projectID, r); first {
		e.set.Logger.Warn("a sender is refused", refusalFields(&line)...)
	}
}

// startReport writes into the log, from time to time and at the end, how often senders were refused. The caller holds mu.
func (e *apiExtension) startReport() {
	ctx, cancel := context.WithCancel(context.Background())
	e.reporting = cancel
	e.serving.Go(func() {
		tick := time.NewTicker(reportEvery)
		defer tick.Stop()
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
			e.flushReport()
		}
	})
}

func (e *apiExtension) flushReport() {
	again, others := e.report.Flush()
	for i := range again {
		e.set.Logger.Warn("a sender was refused again", append(refusalFields(&again[i]), zap.Int64("requests", again[i].Count))...)
	}
	if others > 0 {
		e.set.Logger.Warn("other senders were refused", zap.Int64("requests", others))
	}
}

// refusalFields returns who was refused, and why. The path and the message are those of the last request.
func refusalFields(l *refused.Line) []zap.Field {
	return []zap.Field{
		zap.String("project", l.ProjectID), zap.String("key", l.KeyPrefix), zap.Int("status", l.Status),
		zap.String("message", l.Message), zap.String("request", l.Method+" "+l.Path),
	}
}
