package httpapi

import (
	"context"
	"net/http"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Evaluations is where the evaluations of a project are, those that wait among them.
type Evaluations interface {
	// FindEvaluations lists evaluations that match, newest first: at most q.Limit, and fewer where they
	// are large. more reports whether there are others.
	FindEvaluations(ctx context.Context, projectID int64, q evaluation.Query) (list []evaluation.Evaluation, more bool, err error)
	// RetryEvaluations makes those that match and have failed or died wait anew, and counts them. Those
	// whose metric no longer runs over new events stay as they are, unless a backfill asked for them.
	RetryEvaluations(ctx context.Context, projectID int64, q evaluation.Query) (n int64, err error)
}

var evaluationOperations = []apiOperation{
	{"listEvaluations", http.MethodGet, []string{"/evaluations"}, project.ScopeRead, (*Server).listEvaluations},
	{"retryEvaluations", http.MethodPost, []string{"/evaluations/retry"}, project.ScopeFull, (*Server).retryEvaluations},
}

// listEvaluations answers with a page; next is where the following one begins.
func (s *Server) listEvaluations(c *call) error {
	params, err := c.params()
	if err != nil {
		return err
	}
	q, err := wire.DecodeEvaluationQuery(params)
	if err != nil {
		return err
	}
	list, more, err := s.Store.FindEvaluations(c.ctx(), c.project.ID, q)
	if err != nil {
		return err
	}
	out := []byte(`{"evaluations":[`)
	for i := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = wire.AppendEvaluation(out, &list[i])
	}
	out = append(out, ']')
	if more {
		out = rawjson.AppendString(append(out, `,"next":`...), list[len(list)-1].ID)
	}
	return c.answer(append(out, '}'))
}

// retryEvaluations makes those that failed or died, and match the body, wait anew.
func (s *Server) retryEvaluations(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	q, err := wire.DecodeEvaluationRetry(body)
	if err != nil {
		return err
	}
	n, err := s.Store.RetryEvaluations(c.ctx(), c.project.ID, q)
	if err != nil {
		return err
	}
	var b rawjson.Builder
	b.Int("retried", n)
	return c.json(&b)
}
