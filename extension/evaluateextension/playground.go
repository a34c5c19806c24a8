package evaluateextension

import (
	"context"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluate/llm"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/playground"
)

// Chat implements httpapi.Playground. It takes a place of those that tasks of judges have.
func (e *evaluateExtension) Chat(ctx context.Context, projectID int64, q *playground.Request, tell func(playground.Event) error) error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	judges, ok := e.engines[metric.LLM].(*llm.Engine)
	if !ok {
		return fault.New(fault.Unavailable, "models cannot be asked now: the server is starting or stopping")
	}
	most, err := e.most(ctx, projectID)
	if err != nil {
		return err
	}
	if err := e.models.Take(ctx, evaluate.Wait{Project: projectID, Most: most, Longest: e.cfg.MaxWait}); err != nil {
		return err
	}
	defer e.models.Give(projectID)
	return judges.Chat(ctx, projectID, q, tell)
}
