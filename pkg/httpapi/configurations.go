package httpapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spangrove/spangrove/pkg/configuration"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Configurations is where the configurations of a project are.
type Configurations interface {
	ConfigurationHistory
	// CreateConfiguration stores a configuration that is complete and valid, and returns its id.
	CreateConfiguration(ctx context.Context, projectID int64, c configuration.Configuration) (id string, err error)
	// FindConfigurations lists the ids of the configurations that match, oldest first, a page of
	// them, and counts all that do.
	FindConfigurations(ctx context.Context, projectID int64, q configuration.Query) (ids []string, total int, err error)
	// LoadConfigurations reads configurations in the order of ids, each at the version that the first of the environments gets to
	// which it is deployed; without environments at the current one. Those that are gone are left out.
	LoadConfigurations(ctx context.Context, projectID int64, ids, env []string) ([]configuration.Configuration, error)
	// UpdateConfiguration changes a configuration; changed is false if it was so before. A change of more than where it is
	// deployed makes a new version. fault.NotFound if there is none, fault.Invalid if it would break a rule.
	UpdateConfiguration(ctx context.Context, projectID int64, u configuration.Update) (changed bool, err error)
	// DeleteConfiguration deletes a configuration with all its versions. fault.NotFound if there is
	// none.
	DeleteConfiguration(ctx context.Context, projectID int64, id string) error
}

// ConfigurationHistory reads earlier versions of configurations.
type ConfigurationHistory interface {
	// Configuration returns a configuration as it was in a version; 0 is the current one.
	// fault.NotFound if there is none.
	Configuration(ctx context.Context, projectID int64, id string, version int64) (configuration.Configuration, error)
	// ConfigurationVersions lists the versions of a configuration, newest first, a page of them, and
	// counts all. Of each it returns Version and since when it was current (Updated). fault.NotFound if
	// there is no such configuration.
	ConfigurationVersions(ctx context.Context, projectID int64, id string, limit, page int) ([]configuration.Configuration, int, error)
}

var configurationOperations = []apiOperation{
	{"listConfigurations", http.MethodGet, []string{"/configurations"}, project.ScopeRead, (*Server).listConfigurations},
	{"createConfiguration", http.MethodPost, []string{"/configurations"}, project.ScopeFull, (*Server).createConfiguration},
	{"getConfiguration", http.MethodGet, []string{"/configurations/{id}"}, project.ScopeRead, (*Server).getConfiguration},
	{"listConfigurationVersions", http.MethodGet, []string{"/configurations/{id}/versions"}, project.ScopeRead, (*Server).listConfigurationVersions},
	{"updateConfiguration", http.MethodPut, []string{"/configurations/{id}"}, project.ScopeFull, (*Server).updateConfiguration},
	{"deleteConfiguration", http.MethodDelete, []string{"/configurations/{id}"}, project.ScopeFull, (*Server).deleteConfiguration},
}

func (s *Server) listConfigurations(c *call) error {
	var params struct {
		Name string   `query:"name"`
		Env  []string `query:"env"`
		Tags []string `query:"tags"`
	}
	if err := c.query(&params); err != nil {
		return err
	}
	if len(params.Tags) > configuration.MaxTags {
		return fault.InvalidField("tags", "must be at most %d tags", configuration.MaxTags)
	}
	if len(params.Env) > len(configuration.Environments) {
		return fault.InvalidField("env", "must be at most %d environments", len(configuration.Environments))
	}
	for _, env := range params.Env {
		if err := configuration.CheckEnvironment(env); err != nil {
			return fault.In("env", err)
		}
	}
	limit, page, err := c.page()
	if err != nil {
		return err
	}
	ids, total, err := s.Store.FindConfigurations(c.ctx(), c.project.ID,
		configuration.Query{Name: params.Name, Env: params.Env, Tags: params.Tags, Limit: limit, Page: page})
	if err != nil {
		return err
	}
	c.total(total)
	key := "configurations"
	if c.dialect == wire.V0 {
		key = ""
	}
	return list(c, key, ids,
		func(ids []string) ([]configuration.Configuration, error) {
			return s.Store.LoadConfigurations(c.ctx(), c.project.ID, ids, params.Env)
		},
		func(dst []byte, item *configuration.Configuration) []byte {
			return wire.AppendConfiguration(dst, item, &c.project, c.dialect)
		})
}

func (s *Server) createConfiguration(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	item, err := wire.DecodeConfiguration(body)
	if err != nil {
		return err
	}
	id, err := s.Store.CreateConfiguration(c.ctx(), c.project.ID, item)
	if err != nil {
		return err
	}
	c.target = id + deployment(item.Env, item.EnvVersions)
	var b rawjson.Builder
	b.Bool("acknowledged", true)
	b.String("insertedId", id)
	return c.json(&b)
}

func (s *Server) getConfiguration(c *call) error {
	var params struct {
		Version int64  `query:"version"` // 0: the current one
		Env     string `query:"env"`     // the version that this environment gets
	}
	if err := c.query(&params); err != nil {
		return err
	}
	id := c.text("id")
	var item configuration.Configuration
	var err error
	if params.Env == "" {
		item, err = s.Store.Configuration(c.ctx(), c.project.ID, id, params.Version)
	} else if params.Version != 0 {
		err = fault.InvalidField("env", "must not be given beside version")
	} else {
		item, err = s.deployedConfiguration(c, id, params.Env)
	}
	if err != nil {
		return err
	}
	answer := wire.AppendConfiguration(nil, &item, &c.project, c.dialect)
	h := sha256.Sum256(answer)
	if c.hasAlready(item.ID + "." + hex.EncodeToString(h[:8])) {
		return nil
	}
	var b rawjson.Builder
	b.Raw("configuration", answer)
	return c.json(&b)
}

// deployedConfiguration reads a configuration at the version that an environment gets. fault.NotFound if it is not deployed there.
func (s *Server) deployedConfiguration(c *call, id, env string) (configuration.Configuration, error) {
	if err := configuration.CheckEnvironment(env); err != nil {
		return configuration.Configuration{}, fault.In("env", err)
	}
	found, err := s.Store.LoadConfigurations(c.ctx(), c.project.ID, []string{id}, []string{env})
	switch {
	case err != nil:
		return configuration.Configuration{}, err
	case len(found) == 0:
		return configuration.Configuration{}, fault.New(fault.NotFound, "no configuration %.60q", id)
	case !slices.Contains(found[0].Env, env):
		return configuration.Configuration{}, fault.New(fault.NotFound, "configuration %s is not deployed to %s", id, env)
	}
	return found[0], nil
}

func (s *Server) listConfigurationVersions(c *call) error {
	limit, page, err := c.page()
	if err != nil {
		return err
	}
	list, total, err := s.Store.ConfigurationVersions(c.ctx(), c.project.ID, c.text("id"), limit, page)
	if err != nil {
		return err
	}
	return c.versions(len(list), total, func(i int) (int64, int64) { return list[i].Version, list[i].Updated })
}

// updateConfiguration needs a name, as all clients send it.
func (s *Server) updateConfiguration(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	u, err := wire.DecodeConfigurationUpdate(body, c.text("id"))
	if err != nil {
		return err
	}
	if u.Name == nil {
		return fault.InvalidField("name", "is required")
	}
	changed, err := s.Store.UpdateConfiguration(c.ctx(), c.project.ID, u)
	if err != nil {
		return err
	}
	c.target = u.ID + deployment(u.Env, u.EnvVersions)
	var b rawjson.Builder
	b.Bool("acknowledged", true)
	count(&b, "modifiedCount", changed)
	if c.dialect == wire.V1 {
		b.Raw("upsertedId", []byte("null"))
	}
	b.Int("upsertedCount", 0)
	b.Int("matchedCount", 1)
	return c.json(&b)
}

// deployment returns what the audit log has behind the id of a configuration about where a request deploys it: "/env=dev+prod" for all
// its environments, "/prod=3" for the version of one, or both with a comma between them. It is empty if the request says neither.
func deployment(env []string, versions map[string]int64) string {
	var parts []string
	if env != nil {
		parts = append(parts, "env="+cmp.Or(strings.Join(env, "+"), "none"))
	}
	for _, e := range slices.Sorted(maps.Keys(versions)) {
		version := "current"
		if n := versions[e]; n != 0 {
			version = strconv.FormatInt(n, 10)
		}
		parts = append(parts, e+"="+version)
	}
	if parts == nil {
		return ""
	}
	return "/" + strings.Join(parts, ",")
}

func (s *Server) deleteConfiguration(c *call) error {
	if err := s.Store.DeleteConfiguration(c.ctx(), c.project.ID, c.text("id")); err != nil {
		return err
	}
	var b rawjson.Builder
	b.Bool("acknowledged", true)
	b.Int("deletedCount", 1)
	return c.json(&b)
}
