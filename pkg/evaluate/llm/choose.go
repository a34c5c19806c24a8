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
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/provider"
)

// Stored has the providers that projects have set up themselves.
type Stored interface {
	// Providers lists those of a project.
	Providers(ctx context.Context, projectID int64) ([]provider.Provider, error)
	// Open returns a provider's key, empty if it has none. A *fault.Error tells the project why it
	// cannot be had.
	Open(projectID int64, p *provider.Provider) (string, error)
}

// Projects knows the projects.
type Projects interface {
	// ProjectByID returns a project. fault.NotFound if there is none.
	ProjectByID(ctx context.Context, id int64) (project.Project, error)
	// DefaultProject returns the first project of the store.
	DefaultProject(ctx context.Context) (project.Project, error)
	// ProjectLimits returns the limits of a project that apply.
	ProjectLimits(ctx context.Context, projectID int64) (project.Bounds, error)
}

// allProjects is the word for every project in the configuration.
const allProjects = "all"

// served reports whether the server's providers serve a project: the first one, and those that the
// configuration names.
func (e *Engine) served(ctx context.Context, id int64) (bool, error) {
	if e.deps.Projects == nil || len(e.named) == 0 || slices.Contains(e.serves, allProjects) {
		return true, nil
	}
	first, err := e.deps.Projects.DefaultProject(ctx)
	if err != nil || first.ID == id {
		return err == nil, err
	}
	p, err := e.deps.Projects.ProjectByID(ctx, id)
	if fault.IsNotFound(err) {
		return false, nil
	}
	return slices.Contains(e.serves, p.Name) || slices.Contains(e.serves, p.PublicID), err
}

// notServed returns the text that tells a project what it needs for a provider of the server's.
func notServed(provider string) string {
	return fmt.Sprintf("The provider %s is set up for other projects of this server. "+
		"Set up one of this project's own (PUT /v1/providers/%s), or have the operator "+
		"name this project, or %q, in projects of spangrove_evaluate::llm or in SPANGROVE_MODEL_PROJECTS.", provider, provider, allProjects)
}

// asker returns the project for which a provider is to be asked: its budget with the limit as it is now, and its share
// of the slots of a provider that several projects use.
func (e *Engine) asker(ctx context.Context, id int64, p *endpoint) (asker, error) {
	a := asker{project: id}
	if p.budget.project == 0 && e.deps.Projects != nil && (len(e.serves) > 1 || slices.Contains(e.serves, allProjects)) {
		a.most = max(1, p.cfg.Concurrency-1) // a call of one project never waits for all of another
	}
	var ok bool
	if a.budget, ok = e.budgets.Get(id); !ok {
		a.budget = &budget{project: id, provider: allProviders, ledger: e.deps.Ledger, now: e.deps.Now}
		if other, there, _ := e.budgets.PeekOrAdd(id, a.budget); there {
			a.budget = other
		}
	}
	if e.deps.Projects == nil {
		return a, nil
	}
	bounds, err := e.deps.Projects.ProjectLimits(ctx, id)
	if err != nil {
		return a, err
	}
	a.budget.limit(bounds.JudgeUSDPerDay)
	return a, nil
}

// ownKey is a provider of a project as it stands: with another key or address it is another one, whose endpoint is made
// anew.
type ownKey struct {
	project   int64
	name, doc string
}

// maxOwn bounds the providers of projects that are kept ready: what one has learned of its models
// and how many calls it has under way is lost when more are in use.
const maxOwn = 1000

// selection is what a metric or a request names, empty where it names nothing, and how messages call it and its fields.
type selection struct {
	provider, model           string
	who                       string // at the beginning of a sentence
	providerField, modelField string
}

// selectedBy returns what a metric's definition names.
func selectedBy(d *metric.Definition) selection {
	w := selection{who: "The metric", providerField: "model_provider", modelField: "model_name"}
	if d.ModelProvider != nil {
		w.provider = strings.TrimSpace(*d.ModelProvider)
	}
	if d.ModelName != nil {
		w.model = strings.TrimSpace(*d.ModelName)
	}
	return w
}

// choose finds the provider that is named, and the model to ask: among the project's
// own, then among the server's. why tells a person why there is none.
//
//  1. The names that this project can use: its own, and those of the server if it serves the project. One of its own
//     hides the server's of the same name.
//  2. The name that is wanted: the metric's, else the default one, else the only one there is. It is compared without
//     regard to case, and by other names that providers go by.
//  3. The model: the metric's, else the provider's.
//
// err is an error of the store.
func (e *Engine) choose(ctx context.Context, projectID int64, w selection) (p *endpoint, model, why string, err error) {
	own, all, others, err := e.reachable(ctx, projectID)
	if err != nil {
		return nil, "", "", err
	}
	name := e.cfg.DefaultProvider
	if w.provider != "" {
		name = w.provider
	}
	if name == "" && len(all) == 1 {
		name = all[0]
	}
	found := fold(name)
	if other := names[found]; !slices.Contains(all, found) && other != "" {
		found = other
	}
	switch {
	case slices.Contains(others, found):
		return nil, "", notServed(found), nil
	case name == "" && len(all) == 0 && len(others) > 0:
		return nil, "", notServed(others[0]), nil
	case len(all) == 0:
		return nil, "", "This server has no model provider set up to ask.", nil
	case name == "":
		return nil, "", w.who + " has no " + w.providerField + ", and there are several: " + strings.Join(all, ", ") + ".", nil
	case !slices.Contains(all, found):
		why := fmt.Sprintf("%s's %s %.64q is not set up; must be one of %s.", w.who, w.providerField, name, strings.Join(all, ", "))
		return nil, "", why, nil
	}
	p = e.named[found]
	if s, ok := own[found]; ok {
		if p, err = e.ownEndpoint(projectID, &s); err != nil {
			return nil, "", sentence(reason(err)), nil
		}
	}
	model = p.cfg.Model
	if w.model != "" {
		model = w.model
	}
	if model == "" {
		return nil, "", fmt.Sprintf("%s has no %s, and the provider %s no default model.", w.who, w.modelField, p.name), nil
	}
	if !modelName.MatchString(model) || strings.Contains(model, "..") {
		return nil, "", fmt.Sprintf("%s's %s %.64q is not the name of a model.", w.who, w.modelField, model), nil
	}
	return p, model, "", nil
}

// reachable returns a project's own providers by name, the names of all that it can use, and those of the server's that it cannot.
func (e *Engine) reachable(ctx context.Context, projectID int64) (own map[string]provider.Provider, all, others []string, err error) {
	own = map[string]provider.Provider{}
	if e.deps.Stored != nil {
		list, err := e.deps.Stored.Providers(ctx, projectID)
		if err != nil {
			return nil, nil, nil, err
		}
		for _, s := range list {
			own[s.Name] = s
		}
	}
	served, err := e.served(ctx, projectID)
	if err != nil {
		return nil, nil, nil, err
	}
	for name := range e.named {
		if _, hidden := own[name]; hidden {
			continue
		}
		if served {
			all = append(all, name)
		} else {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	for name := range own {
		all = append(all, name)
	}
	slices.Sort(all)
	return own, all, others, nil
}

// Providers implements evaluate.Asker.
func (e *Engine) Providers(ctx context.Context, projectID int64) ([]string, error) {
	_, all, _, err := e.reachable(ctx, projectID)
	return all, err
}

// modelName is what a model may be called: for some APIs it is part of the path.
var modelName = regexp.MustCompile(`^[A-Za-z0-9._:/@+-]{1,200}$`)

// ownEndpoint makes a project's provider ready, or finds it so. If two callers make it at once, both get the
// first one: slots and budget must not be there twice.
func (e *Engine) ownEndpoint(projectID int64, s *provider.Provider) (*endpoint, error) {
	// The document is part of the key, so a change makes another endpoint.
	key := ownKey{projectID, s.Name, string(s.Doc())}
	if p, ok := e.own.Get(key); ok {
		return p, nil
	}
	secret, err := e.deps.Stored.Open(projectID, s)
	if err != nil {
		return nil, err
	}
	if secret == "" && s.BaseURL == "" {
		return nil, fault.New(fault.Conflict, "The provider %s has no key.", s.Name)
	}
	p, err := e.newEndpoint(projectID, s.Name, Provider{
		Type:           s.Type,
		BaseURL:        s.BaseURL,
		APIKey:         configopaque.String(secret),
		Model:          s.Model,
		DailyBudgetUSD: s.DailyBudgetUSD,
		DailyCalls:     s.DailyCalls,
	})
	if err != nil {
		return nil, err
	}
	if other, ok, _ := e.own.PeekOrAdd(key, p); ok {
		return other, nil
	}
	return p, nil
}
