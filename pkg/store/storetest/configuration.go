package storetest

import (
	"fmt"
	"strings"

	"github.com/spangrove/spangrove/pkg/configuration"
	"github.com/spangrove/spangrove/pkg/fault"
)

var configurationTests = []test{
	{"Configuration/created, read, changed, deleted", configurationLife},
	{"Configuration/found by name, environment and tags", configurationFind},
	{"Configuration/old versions stay as they were", configurationVersions},
	{"Configuration/deployed to environments, each at a version of its own", configurationDeployed},
	{"Configuration/another project's is not there", configurationProjects},
	{"Configuration/a deletion is finished by the next process", configurationSweep},
	{"Document/a project's are deleted, and nobody else's", documentsDelete},
}

func settings(name string, change ...func(*configuration.Configuration)) configuration.Configuration {
	c := configuration.Configuration{
		Name:       name,
		Provider:   "acme",
		Parameters: raw(`{"call_type":"chat","model":"m"}`),
		Env:        []string{},
		Tags:       []string{},
	}
	for _, f := range change {
		f(&c)
	}
	c.Complete()
	return c
}

func (e *env) configure(c configuration.Configuration) string {
	e.Helper()
	e.ok(c.Validate())
	id, err := e.s.CreateConfiguration(e.ctx, e.project, c)
	e.ok(err)
	return id
}

func (e *env) configuration(id string, version int64) configuration.Configuration {
	e.Helper()
	c, err := e.s.Configuration(e.ctx, e.project, id, version)
	e.ok(err)
	return c
}

func configurationLife(e *env) {
	sent := settings("a", func(c *configuration.Configuration) {
		c.Parameters = raw(`{"call_type":"chat", "model":"m","mine":{"n":9007199254740993,"f":1.50, "z":null}}`)
		c.Env, c.Tags, c.UserProperties = []string{"prod", "dev"}, []string{"x", `"y"`}, raw(`{"who": 1}`)
	})
	id := e.configure(sent)
	got := e.configuration(id, 0)
	want := sent
	want.ID, want.Version, want.Created = id, 1, got.Created
	e.equal("as created", want, got)
	changed, err := e.s.UpdateConfiguration(e.ctx, e.project, configuration.Update{ID: id, Name: pointer("b"), Env: []string{}})
	e.ok(err)
	e.equal("changed", true, changed)
	e.reopen(optionsNone)
	got = e.configuration(id, 0)
	want.Name, want.Env, want.Version, want.Updated = "b", []string{}, 2, got.Updated
	e.equal("as changed", want, got)
	_, err = e.s.UpdateConfiguration(e.ctx, e.project, configuration.Update{ID: id, Parameters: raw(`{"call_type":"chat"}`)})
	e.equal("broken rule", "parameters.model: is required", fmt.Sprint(err))
	e.equal("unchanged", want, e.configuration(id, 0))
	e.ok(e.s.DeleteConfiguration(e.ctx, e.project, id))
	_, err = e.s.Configuration(e.ctx, e.project, id, 0)
	e.equal("deleted", fault.NotFound, fault.Of(err))
	e.equal("deleted twice", fault.NotFound, fault.Of(e.s.DeleteConfiguration(e.ctx, e.project, id)))
	_, err = e.s.UpdateConfiguration(e.ctx, e.project, configuration.Update{ID: id})
	e.equal("changed after", fault.NotFound, fault.Of(err))
	e.equal(
		"rows",
		0,
		e.place.Count(
			e.T,
			`SELECT (SELECT count(*) FROM configuration) + (SELECT count(*) FROM document_version) + (SELECT count(*) FROM deletion)`,
		),
	)
}

func configurationFind(e *env) {
	for _, c := range []struct{ name, env, tags string }{
		{"a", "dev", "x"}, {"b", "dev prod", "x y"}, {"a", "", ""}, {"A", "prod", `a"b X`}, {"a", "staging dev", "y|tag:\"x\""},
	} {
		e.configure(settings(c.name, func(to *configuration.Configuration) { to.Env, to.Tags = strings.Fields(c.env), strings.Fields(c.tags) }))
	}
	for _, tt := range []struct {
		q    configuration.Query
		want string
	}{
		{configuration.Query{}, "1 2 3 4 5 of 5"},
		{configuration.Query{Name: "a"}, "1 3 5 of 3"},
		{configuration.Query{Name: "none"}, "of 0"},
		{configuration.Query{Env: []string{"dev"}}, "1 2 5 of 3"},
		{configuration.Query{Env: []string{"prod", "staging"}}, "2 4 5 of 3"},
		{configuration.Query{Tags: []string{"x"}}, "1 2 of 2"},
		{configuration.Query{Tags: []string{"X"}}, "4 of 1"},
		{configuration.Query{Tags: []string{"x", "y"}}, "2 of 1"},
		{configuration.Query{Tags: []string{`a"b`}}, "4 of 1"},
		{configuration.Query{Name: "a", Env: []string{"dev"}, Tags: []string{"x"}}, "1 of 1"},
		{configuration.Query{Limit: 2, Page: 2}, "3 4 of 5"},
		{configuration.Query{Limit: 2, Page: 4}, "of 5"},
	} {
		if tt.q.Limit == 0 {
			tt.q.Limit, tt.q.Page = 10, 1
		}
		ids, total, err := e.s.FindConfigurations(e.ctx, e.project, tt.q)
		e.ok(err)
		all, _, err := e.s.FindConfigurations(e.ctx, e.project, configuration.Query{Limit: 10, Page: 1})
		e.ok(err)
		got := ""
		for _, id := range ids {
			for n, other := range all {
				if id == other {
					got += fmt.Sprintf("%d ", n+1)
				}
			}
		}
		e.equal(fmt.Sprintf("%+v", tt.q), tt.want, got+fmt.Sprintf("of %d", total))
		list, err := e.s.LoadConfigurations(e.ctx, e.project, ids, nil)
		e.ok(err)
		e.equal("loaded", len(ids), len(list))
	}
}

func configurationVersions(e *env) {
	id := e.configure(settings("v1"))
	for n := 2; n <= 5; n++ {
		changed, err := e.s.UpdateConfiguration(
			e.ctx,
			e.project,
			configuration.Update{ID: id, Name: pointer(fmt.Sprint("v", n)), Parameters: text(`{"call_type":"chat","model":"m","n":%d.0}`, n)},
		)
		e.ok(err)
		e.equal("changed", true, changed)
		changed, err = e.s.UpdateConfiguration(e.ctx, e.project, configuration.Update{ID: id, Name: pointer(fmt.Sprint("v", n))})
		e.ok(err)
		e.equal("the same again", false, changed)
	}
	for n := 2; n <= 5; n++ {
		got := e.configuration(id, int64(n))
		e.equal("name", fmt.Sprint("v", n), got.Name)
		e.equal("parameters", fmt.Sprintf(`{"call_type":"chat","model":"m","n":%d.0}`, n), string(got.Parameters))
		e.equal("version", int64(n), got.Version)
	}
	e.equal("first", "v1", e.configuration(id, 1).Name)
	e.equal("in force", "v5", e.configuration(id, 0).Name)
	_, err := e.s.Configuration(e.ctx, e.project, id, 6)
	e.equal("no such version", fault.NotFound, fault.Of(err))
	list, total, err := e.s.ConfigurationVersions(e.ctx, e.project, id, 2, 2)
	e.ok(err)
	e.equal("versions", []int64{3, 2}, []int64{list[0].Version, list[1].Version})
	e.equal("all versions", 5, total)
	if list[0].Updated == 0 {
		e.Error("a version without a time")
	}
	_, _, err = e.s.ConfigurationVersions(e.ctx, e.project, "nobody", 2, 1)
	e.equal("versions of nobody", fault.NotFound, fault.Of(err))
}

func configurationDeployed(e *env) {
	id := e.configure(settings("a", func(c *configuration.Configuration) { c.Env, c.Tags = []string{"dev"}, []string{"one"} }))
	change := func(u configuration.Update) string {
		u.ID = id
		changed, err := e.s.UpdateConfiguration(e.ctx, e.project, u)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(changed)
	}
	// gets is what programs of the environments get: name, provider, tags and version.
	gets := func(env ...string) string {
		list, err := e.s.LoadConfigurations(e.ctx, e.project, []string{id, "nobody"}, env)
		e.ok(err)
		c := list[0]
		e.equal("configurations", 1, len(list))
		return fmt.Sprintf("%s %s %s %d", c.Name, c.Provider, c.Tags, c.Version)
	}
	e.equal("a second version", "true", change(configuration.Update{Provider: pointer("b"), Parameters: raw(`{"call_type":"chat","model":"n"}`)}))
	second := e.configuration(id, 0)
	e.equal("prod at the first", "true", change(configuration.Update{EnvVersions: map[string]int64{"prod": 1}}))
	e.equal("again", "false", change(configuration.Update{EnvVersions: map[string]int64{"prod": 1}}))
	e.equal("a third version", "true", change(configuration.Update{Name: pointer("c"), Provider: pointer("c"), Tags: []string{"three"}}))
	e.reopen(optionsNone)

	got := e.configuration(id, 0)
	e.equal("version: a deployment makes none", int64(3), got.Version)
	e.equal("deployed to", []string{"dev", "prod"}, got.Env)
	e.equal("versions", map[string]int64{"prod": 1}, got.EnvVersions)
	versions, total, err := e.s.ConfigurationVersions(e.ctx, e.project, id, 10, 1)
	e.ok(err)
	e.equal("versions in all", 3, total)
	e.equal("when the second was made, which was deployed later", second.Updated, versions[1].Updated)
	for _, tt := range []struct{ env, want string }{
		{"", "c c [three] 3"}, {"dev", "c c [three] 3"}, {"prod", "c acme [three] 1"}, {"staging", "c c [three] 3"},
		{"prod dev", "c acme [three] 1"}, {"dev prod", "c c [three] 3"}, {"staging prod", "c acme [three] 1"},
	} {
		e.equal("gets "+tt.env, tt.want, gets(strings.Fields(tt.env)...))
	}
	ids, _, err := e.s.FindConfigurations(e.ctx, e.project, configuration.Query{Env: []string{"prod"}, Limit: 10, Page: 1})
	e.ok(err)
	e.equal("found", []string{id}, ids)

	e.equal("no such version", "env_versions.dev: there is no version 4", change(configuration.Update{EnvVersions: map[string]int64{"dev": 4}}))
	e.equal("taken away and given", "env_versions.prod: is not in env",
		change(configuration.Update{Env: []string{"dev"}, EnvVersions: map[string]int64{"prod": 1}}))
	e.equal("after refusals", "c acme [three] 1", gets("prod"))
	e.equal("dev at the second, prod at the current", "true", change(configuration.Update{EnvVersions: map[string]int64{"dev": 2, "prod": 0}}))
	e.equal("dev", "c b [three] 2", gets("dev"))
	e.equal("prod", "c c [three] 3", gets("prod"))
	e.equal("taken away", "true", change(configuration.Update{Env: []string{"prod"}}))
	e.equal("given again", "true", change(configuration.Update{Env: []string{"prod", "dev"}}))
	e.equal("its version was taken away, too", "c c [three] 3", gets("dev"))
}

func configurationProjects(e *env) {
	id := e.configure(settings("mine"))
	other, err := e.s.EnsureProject(e.ctx, "other")
	e.ok(err)
	_, err = e.s.Configuration(e.ctx, other.ID, id, 0)
	e.equal("read", fault.NotFound, fault.Of(err))
	_, _, err = e.s.ConfigurationVersions(e.ctx, other.ID, id, 1, 1)
	e.equal("versions", fault.NotFound, fault.Of(err))
	_, err = e.s.UpdateConfiguration(e.ctx, other.ID, configuration.Update{ID: id, Name: pointer("theirs")})
	e.equal("changed", fault.NotFound, fault.Of(err))
	e.equal("deleted", fault.NotFound, fault.Of(e.s.DeleteConfiguration(e.ctx, other.ID, id)))
	e.equal("kept", "mine", e.configuration(id, 0).Name)
}

func configurationSweep(e *env) {
	id := e.configure(settings("a"))
	_, err := e.s.UpdateConfiguration(e.ctx, e.project, configuration.Update{ID: id, Name: pointer("b")})
	e.ok(err)
	// As a process leaves it that ends in the middle of a deletion.
	e.place.Exec(e.T, `DELETE FROM configuration`)
	e.place.Exec(e.T, fmt.Sprintf(`INSERT INTO deletion(project_id, kind, id) VALUES (%d, 'configuration', '%s')`, e.project, id))
	e.reopen(optionsNone)
	for n := 0; e.place.Count(e.T, `SELECT (SELECT count(*) FROM document_version) + (SELECT count(*) FROM deletion)`) != 0; n++ {
		if n == 5000 { // each look takes a millisecond or more
			e.Fatal("the old version is still there")
		}
	}
}

func documentsDelete(e *env) {
	var projects []int64
	for _, name := range []string{"default", "other"} {
		p, err := e.s.EnsureProject(e.ctx, name)
		e.ok(err)
		e.project, projects = p.ID, append(projects, p.ID)
		id := e.configure(settings("a"))
		_, err = e.s.UpdateConfiguration(e.ctx, e.project, configuration.Update{ID: id, Name: pointer("b")})
		e.ok(err)
	}
	e.deleteProject(projects[1])
	for _, table := range []string{"configuration", "document_version"} {
		for i, want := range []int{1, 0} {
			got := e.place.Count(e.T, fmt.Sprintf(`SELECT count(*) FROM %s WHERE project_id = %d`, table, projects[i]))
			e.equal(fmt.Sprintf("%s of project %d", table, i+1), want, got)
		}
	}
}
