package llm

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/config/configopaque"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/provider"
)

// Stored has the providers that projects have set up themselves.
type Stored interface {
	// Providers lists those of a project.
	Providers(ctx context.Context, projectID int64) ([]provider.Provider, error)
	// Open gives a provider's key, empty if it has none. A *fault.Error tells the project why it
	// cannot be had.
	Open(projectID int64, p *provider.Provider) (string, error)
}

// ownKey is a provider of a project as it stands: with another key or address it is another one.
type ownKey struct {
	project   int64
	name, doc string
}

// maxOwn bounds the providers of projects that are kept ready: what one has learned of its models
// and how many calls it has under way is lost when more are in use.
const maxOwn = 1000

// choose finds the provider that a definition names, and the model to ask: among the project's
// own, then among the server's. why tells a person why there is none.
func (e *Engine) choose(ctx context.Context, project int64, d *metric.Definition) (p *endpoint, model, why string, err error) {
	own := map[string]provider.Provider{}
	if e.deps.Stored != nil {
		list, err := e.deps.Stored.Providers(ctx, project)
		if err != nil {
			return nil, "", "", err
		}
		for _, s := range list {
			own[s.Name] = s
		}
	}
	var all []string
	for name := range e.named {
		if _, hidden := own[name]; !hidden {
			all = append(all, name)
		}
	}
	for name := range own {
		all = append(all, name)
	}
	slices.Sort(all)
	name := e.cfg.DefaultProvider
	if d.ModelProvider != nil && strings.TrimSpace(*d.ModelProvider) != "" {
		name = *d.ModelProvider
	}
	if name == "" && len(all) == 1 {
		name = all[0]
	}
	found := fold(name)
	if !slices.Contains(all, found) {
		found = names[found]
	}
	switch {
	case len(all) == 0:
		return nil, "", "This server has no model provider set up to ask.", nil
	case name == "":
		return nil, "", "The metric has no model_provider, and there are several: " + strings.Join(all, ", ") + ".", nil
	case !slices.Contains(all, found):
		return nil, "", fmt.Sprintf("The metric's model_provider %.64q is none that is set up: %s.", name, strings.Join(all, ", ")), nil
	}
	p = e.named[found]
	if s, ok := own[found]; ok {
		if p, err = e.ownEndpoint(project, &s); err != nil {
			return nil, "", sentence(reason(err)), nil
		}
	}
	model = p.cfg.Model
	if d.ModelName != nil && strings.TrimSpace(*d.ModelName) != "" {
		model = strings.TrimSpace(*d.ModelName)
	}
	if model == "" {
		return nil, "", fmt.Sprintf("The metric has no model_name, and the provider %s no default model.", p.name), nil
	}
	if !modelName.MatchString(model) || strings.Contains(model, "..") {
		return nil, "", fmt.Sprintf("The metric's model_name %.64q is no name of a model.", model), nil
	}
	return p, model, "", nil
}

// modelName is what a model may be called: for some APIs it is part of the path.
var modelName = regexp.MustCompile(`^[A-Za-z0-9._:/@+-]{1,200}$`)

// ownEndpoint makes a project's provider ready, or finds it so.
func (e *Engine) ownEndpoint(project int64, s *provider.Provider) (*endpoint, error) {
	key := ownKey{project, s.Name, string(s.Doc())}
	if p, ok := e.own.Get(key); ok {
		return p, nil
	}
	secret, err := e.deps.Stored.Open(project, s)
	if err != nil {
		return nil, err
	}
	if secret == "" && s.BaseURL == "" {
		return nil, fault.New(fault.Conflict, "The provider %s has no key.", s.Name)
	}
	p, err := e.newEndpoint(project, s.Name, Provider{Type: s.Type, BaseURL: s.BaseURL, APIKey: configopaque.String(secret), Model: s.Model, DailyBudgetUSD: s.DailyBudgetUSD, DailyCalls: s.DailyCalls})
	if err != nil {
		return nil, err
	}
	if other, ok, _ := e.own.PeekOrAdd(key, p); ok {
		return other, nil
	}
	return p, nil
}
