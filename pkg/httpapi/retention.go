package httpapi

import (
	"context"
	"net/http"

	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Retention is what the handlers of retention ask of a store.
type Retention interface {
	// Retention returns the rule that was set for a project, and the one that applies. fault.NotFound if there is no such
	// project.
	Retention(ctx context.Context, projectID int64) (own project.Retention, rule project.RetentionRule, err error)
	// ChangeRetention changes the rule of a project, all of what change does or, if it returns an error, nothing, and returns the
	// updated one. fault.Invalid if the rule that applies then cannot be one, fault.NotFound if there is no such project.
	// What the rule does not keep is removed soon after.
	ChangeRetention(ctx context.Context, projectID int64, change func(*project.Retention) error) (own project.Retention, err error)
	// DefaultRetention returns the rule of projects that set none of their own.
	DefaultRetention() project.RetentionRule
	// PreviewRetention counts what a rule would remove now. It reads what would go and, for a bound of bytes, all that
	// the project's events have.
	PreviewRetention(ctx context.Context, projectID int64, rule project.RetentionRule) (project.Removal, error)
}

var retentionOperations = []apiOperation{
	{"getRetention", http.MethodGet, []string{"/projects/{id}/retention"}, project.ScopeAdmin, (*Server).getRetention},
	{"setRetention", http.MethodPut, []string{"/projects/{id}/retention"}, project.ScopeAdmin, (*Server).setRetention},
	{"previewRetention", http.MethodPost, []string{"/projects/{id}/retention/preview"}, project.ScopeAdmin, (*Server).previewRetention},
}

func (s *Server) getRetention(c *call) error {
	p, err := s.pathProject(c)
	if err != nil {
		return err
	}
	return s.answerRetention(c, &p)
}

func (s *Server) setRetention(c *call) error {
	p, err := s.pathProject(c)
	if err != nil {
		return err
	}
	body, err := c.body()
	if err != nil {
		return err
	}
	change, err := wire.DecodeRetention(body)
	if err != nil {
		return err
	}
	if _, err := s.Store.ChangeRetention(c.ctx(), p.ID, change); err != nil {
		return err
	}
	return s.answerRetention(c, &p)
}

func (s *Server) answerRetention(c *call, p *project.Project) error {
	own, rule, err := s.Store.Retention(c.ctx(), p.ID)
	if err != nil {
		return err
	}
	answer, err := wire.RetentionAnswer(p, &own, &rule)
	if err != nil {
		return err
	}
	return c.answer(answer)
}

// previewRetention answers what the rule would remove that setRetention would make of the same body.
func (s *Server) previewRetention(c *call) error {
	p, err := s.pathProject(c)
	if err != nil {
		return err
	}
	body, err := c.body()
	if err != nil {
		return err
	}
	change, err := wire.DecodeRetention(body)
	if err != nil {
		return err
	}
	own, _, err := s.Store.Retention(c.ctx(), p.ID)
	if err != nil {
		return err
	}
	if err := change(&own); err != nil {
		return err
	}
	rule := own.Over(s.Store.DefaultRetention())
	if err := rule.Validate(); err != nil {
		return err
	}
	removes, err := s.Store.PreviewRetention(c.ctx(), p.ID, rule)
	if err != nil {
		return err
	}
	answer, err := wire.RemovalAnswer(&p, &rule, &removes)
	if err != nil {
		return err
	}
	return c.answer(answer)
}
