package httpapi

import (
	"context"
	"net/http"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/provider"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Providers is where the model providers of a project are.
type Providers interface {
	// Providers lists the providers of a project, oldest first.
	Providers(ctx context.Context, projectID int64) ([]provider.Provider, error)
	// SetProvider changes a provider, or makes it, and returns it updated, its key sealed.
	// fault.Invalid if it would break a rule.
	SetProvider(ctx context.Context, projectID int64, u provider.Update) (provider.Provider, error)
	// DeleteProvider deletes a provider and its key. fault.NotFound if there is none.
	DeleteProvider(ctx context.Context, projectID int64, name string) error
}

var providerOperations = []apiOperation{
	{"listProviders", http.MethodGet, []string{"/providers"}, project.ScopeRead, withProviders((*Server).listProviders)},
	{"setProvider", http.MethodPut, []string{"/providers/{name}"}, project.ScopeFull, withProviders((*Server).setProvider)},
	{"deleteProvider", http.MethodDelete, []string{"/providers/{name}"}, project.ScopeFull, withProviders((*Server).deleteProvider)},
}

// withProviders serves an operation where there are providers at all.
func withProviders(handle func(*Server, *call) error) func(*Server, *call) error {
	return func(s *Server, c *call) error {
		if s.Providers == nil {
			return fault.New(fault.Unavailable, "this server asks no models: it runs without spangrove_evaluate")
		}
		return handle(s, c)
	}
}

func (s *Server) listProviders(c *call) error {
	all, err := s.Providers.Providers(c.ctx(), c.project.ID)
	if err != nil {
		return err
	}
	out := []byte("[")
	for i := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = wire.AppendProvider(out, &all[i], c.dialect)
	}
	out = append(out, ']')
	if c.dialect == wire.V0 {
		return c.answer(out)
	}
	var b rawjson.Builder
	b.Raw("providers", out)
	return c.json(&b)
}

func (s *Server) setProvider(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	u, err := wire.DecodeProvider(body, c.text("name"))
	if err != nil {
		return err
	}
	p, err := s.Providers.SetProvider(c.ctx(), c.project.ID, u)
	if err != nil {
		return err
	}
	return c.answer(wire.AppendProvider(nil, &p, c.dialect))
}

func (s *Server) deleteProvider(c *call) error {
	if err := s.Providers.DeleteProvider(c.ctx(), c.project.ID, c.text("name")); err != nil {
		return err
	}
	var b rawjson.Builder
	b.Bool("deleted", true)
	return c.json(&b)
}
