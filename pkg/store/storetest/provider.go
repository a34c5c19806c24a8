package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/provider"
	"github.com/spangrove/spangrove/pkg/store"
)

var providerTests = []test{
	{"Provider/set, changed, deleted", providerLife},
	{"Provider/what breaks a rule stores nothing", providerBroken},
	{"Provider/a bounded number", providerMany},
	{"Spending/adds up by day, provider and project", spendingAddsUp},
}

// setProvider changes a provider as change does, and reads it back.
func (e *env) setProvider(name string, change func(*provider.Provider)) provider.Provider {
	e.Helper()
	p, err := e.s.ChangeProvider(e.ctx, e.project, name, func(p *provider.Provider) error { change(p); return nil })
	e.ok(err)
	e.equal("read", []provider.Provider{p}, e.providersNamed(e.project, name))
	return p
}

// providersNamed lists the providers of a project that have this name: one at most.
func (e *env) providersNamed(project int64, name string) []provider.Provider {
	e.Helper()
	list, err := e.s.Providers(e.ctx, project)
	e.ok(err)
	return slices.DeleteFunc(list, func(p provider.Provider) bool { return p.Name != name })
}

func providerLife(e *env) {
	first := e.setProvider("a", func(p *provider.Provider) {
		e.equal("new", provider.Provider{Name: "a"}, *p)
		p.Type, p.BaseURL, p.Model, p.DailyBudgetUSD, p.DailyCalls, p.SealedKey = provider.OpenAI, "https://a/v1", "m", 0.25, 7, []byte{0, 1, 255}
	})
	e.equal("version", int64(1), first.Version)
	e.equal("key", []byte{0, 1, 255}, first.SealedKey)
	second := e.setProvider("0", func(p *provider.Provider) { p.Type = provider.Gemini })
	changed := e.setProvider("a", func(p *provider.Provider) {
		e.equal("as it was", first, *p)
		p.SealedKey = nil
	})
	e.equal("version", int64(2), changed.Version)
	if changed.Updated < changed.Created || changed.SealedKey != nil {
		e.Errorf("%+v", changed)
	}
	e.reopen(optionsNone)
	list, err := e.s.Providers(e.ctx, e.project)
	e.ok(err)
	e.equal("list", []provider.Provider{changed, second}, list)

	other, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	list, err = e.s.Providers(e.ctx, other.ID)
	e.ok(err)
	e.equal("another project's list", 0, len(list))
	e.equal("another project's", 0, len(e.providersNamed(other.ID, "a")))
	e.equal("deleted by another project", fault.NotFound, fault.Of(e.s.DeleteProvider(e.ctx, other.ID, "a")))

	e.ok(e.s.DeleteProvider(e.ctx, e.project, "a"))
	e.equal("deleted twice", fault.NotFound, fault.Of(e.s.DeleteProvider(e.ctx, e.project, "a")))
	e.equal("deleted", 0, len(e.providersNamed(e.project, "a")))
}

func providerBroken(e *env) {
	_, err := e.s.ChangeProvider(e.ctx, e.project, "a", func(*provider.Provider) error { return fault.InvalidField("type", "is wrong") })
	e.equal("error", "type: is wrong", err.Error())
	e.equal("not stored", 0, len(e.providersNamed(e.project, "a")))
}

func providerMany(e *env) {
	e.reopen(store.Options{Now: func() time.Time { return arrival }})
	for i := range provider.MaxPerProject {
		e.setProvider(fmt.Sprintf("p%d", i), func(*provider.Provider) {})
	}
	_, err := e.s.ChangeProvider(e.ctx, e.project, "more", func(*provider.Provider) error { return nil })
	e.equal("one more", fault.Invalid, fault.Of(err))
	e.setProvider("p0", func(p *provider.Provider) { p.Model = "m" })
	list, err := e.s.Providers(e.ctx, e.project)
	e.ok(err)
	for i, p := range list { // all of one moment
		e.equal("oldest first", fmt.Sprintf("p%d", i), p.Name)
	}
}

func spendingAddsUp(e *env) {
	spend := func(project int64, provider string, day int64, usd float64, calls int64, wantUSD float64, wantCalls int64) {
		e.Helper()
		gotUSD, gotCalls, err := e.s.Spend(e.ctx, project, provider, day, usd, calls)
		e.ok(err)
		e.equal("dollars", wantUSD, gotUSD)
		e.equal("calls", wantCalls, gotCalls)
	}
	spend(0, "a", 20000, 0, 0, 0, 0)
	spend(0, "a", 20000, 0.25, 1, 0.25, 1)
	spend(0, "a", 20000, 0.5, 2, 0.75, 3)
	spend(0, "a", 20001, 0, 1, 0, 1)
	spend(0, "b", 20000, 1, 1, 1, 1)
	spend(e.project, "a", 20000, 2, 1, 2, 1)
	e.reopen(optionsNone)
	spend(0, "a", 20000, 0, 0, 0.75, 3)
	spend(0, "a", 20101, 1, 1, 1, 1) // the days before the last hundred go
	spend(0, "a", 20000, 0, 0, 0, 0)
	spend(0, "a", 20001, 0, 0, 0, 1)
}
