package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"

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
	// LoadConfigurations reads configurations in the order of ids. Those that are gone are left out.
	LoadConfigurations(ctx context.Context, projectID int64, ids []string) ([]configuration.Configuration, error)
	// UpdateConfiguration changes a configuration; changed is false if it was so before, which makes
	// no new version. fault.NotFound if there is none, fault.Invalid if it would break a rule.
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
	if len(params.Env) > len(configuration.Environments) || len(params.Tags) > configuration.MaxTags {
		return fault.InvalidField("tags", "must be at most %d tags", configuration.MaxTags)
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
			return s.Store.LoadConfigurations(c.ctx(), c.project.ID, ids)
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
	var b rawjson.Builder
	b.Bool("acknowledged", true)
	b.String("insertedId", id)
	return c.json(&b)
}

func (s *Server) getConfiguration(c *call) error {
	var params struct {
		Version int64 `query:"version"` // 0: the current one
	}
	if err := c.query(&params); err != nil {
		return err
	}
	item, err := s.Store.Configuration(c.ctx(), c.project.ID, c.text("id"), params.Version)
	if err != nil {
		return err
	}
	// An id is never given again, and a version never changes; the answer shows the project, too, in a form of its dialect.
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %d", s.Version, c.project.PublicID+c.project.Name, c.dialect, item.Version)
	if c.hasAlready(item.ID + "." + hex.EncodeToString(h.Sum(nil)[:8])) {
		return nil
	}
	var b rawjson.Builder
	b.Raw("configuration", wire.AppendConfiguration(nil, &item, &c.project, c.dialect))
	return c.json(&b)
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

func (s *Server) deleteConfiguration(c *call) error {
	if err := s.Store.DeleteConfiguration(c.ctx(), c.project.ID, c.text("id")); err != nil {
		return err
	}
	var b rawjson.Builder
	b.Bool("acknowledged", true)
	b.Int("deletedCount", 1)
	return c.json(&b)
}
