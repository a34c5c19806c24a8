package store

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/spangrove/spangrove/pkg/configuration"
)

var configurations = documents{table: "configuration", noun: "configuration", columns: []string{"name", "labels"}}

// CreateConfiguration stores a configuration that is complete and valid, and returns its id.
func (s *Store) CreateConfiguration(ctx context.Context, projectID int64, c configuration.Configuration) (id string, err error) {
	now := s.options.Now()
	d := document{id: newDocumentID(now), version: 1, created: now.UnixMilli(), doc: c.Doc()}
	err = s.changeDocs(ctx, len(d.doc), "create configuration", func(ctx context.Context, tx *commit) error {
		return configurations.insert(ctx, tx, projectID, d, c.Name, c.Labels())
	})
	return d.id, err
}

// FindConfigurations lists the ids of the configurations that match, oldest first, a page of
// them, and counts all that do.
func (s *Store) FindConfigurations(ctx context.Context, projectID int64, q configuration.Query) (ids []string, total int, err error) {
	var conds []string
	var args []any
	// has is the condition that the labels hold one: without it they are another text.
	has := func(kind, value string) string {
		args = append(args, configuration.Label(kind, value))
		return fmt.Sprintf("replace(labels, $%d, '') <> labels", len(args)+1)
	}
	if q.Name != "" {
		args = append(args, q.Name)
		conds = append(conds, fmt.Sprintf("name = $%d", len(args)+1))
	}
	for _, tag := range q.Tags {
		conds = append(conds, has("tag", tag))
	}
	if len(q.Env) > 0 {
		var any []string
		for _, env := range q.Env {
			any = append(any, has("env", env))
		}
		conds = append(conds, "("+strings.Join(any, " OR ")+")")
	}
	ids, total, err = configurations.find(ctx, s.db, projectID, strings.Join(conds, " AND "), args, q.Limit, q.Page)
	return ids, total, wrapDBError(s.db, err, "find configurations")
}

// LoadConfigurations reads configurations in the order of ids. Those that are gone are left out.
func (s *Store) LoadConfigurations(ctx context.Context, projectID int64, ids []string) ([]configuration.Configuration, error) {
	docs, err := configurations.load(ctx, s.db, projectID, ids)
	list := make([]configuration.Configuration, len(docs))
	for i, d := range docs {
		list[i] = configurationOf(d)
	}
	return list, wrapDBError(s.db, err, "read configurations")
}

// Configuration returns a configuration as it was in a version; 0 is the current one.
// fault.NotFound if there is none.
func (s *Store) Configuration(ctx context.Context, projectID int64, id string, version int64) (configuration.Configuration, error) {
	d, err := configurations.getVersion(ctx, s.db, projectID, id, version)
	return configurationOf(d), wrapDBError(s.db, err, "read configuration")
}

// ConfigurationVersions lists the versions of a configuration, newest first, a page of them, and
// counts all. Of each it gives Version and since when it was current (Updated). fault.NotFound if
// there is no such configuration.
func (s *Store) ConfigurationVersions(ctx context.Context, projectID int64, id string, limit, page int) (
	[]configuration.Configuration, int, error) {
	docs, total, err := configurations.versions(ctx, s.db, projectID, id, limit, page)
	list := make([]configuration.Configuration, len(docs))
	for i, d := range docs {
		list[i] = configuration.Configuration{ID: id, Version: d.version, Created: d.created, Updated: d.since()}
	}
	return list, total, wrapDBError(s.db, err, "read configuration")
}

// UpdateConfiguration changes a configuration; changed is false if it was so before, which makes
// no new version. fault.NotFound if there is none, fault.Invalid if it would break a rule.
func (s *Store) UpdateConfiguration(ctx context.Context, projectID int64, u configuration.Update) (changed bool, err error) {
	size := len(u.Parameters) + len(u.UserProperties)
	err = s.changeDocs(ctx, size, "update configuration", func(ctx context.Context, tx *commit) error {
		d, err := configurations.getForUpdate(ctx, tx, projectID, u.ID)
		if err != nil {
			return err
		}
		c := configurationOf(d)
		c.Apply(&u)
		if err := c.Validate(); err != nil {
			return err
		}
		doc := c.Doc()
		if changed = !bytes.Equal(doc, d.doc); !changed {
			return nil
		}
		if err := configurations.archiveVersion(ctx, tx, projectID, d, false); err != nil {
			return err
		}
		d.doc = doc
		return configurations.update(ctx, tx, projectID, &d, s.options.Now(), c.Name, c.Labels())
	})
	return changed, err
}

// DeleteConfiguration deletes a configuration with all its versions. fault.NotFound if there is
// none.
func (s *Store) DeleteConfiguration(ctx context.Context, projectID int64, id string) error {
	return s.deleteDocument(ctx, configurations, projectID, id)
}

func configurationOf(d document) configuration.Configuration {
	c := configuration.FromDoc(d.doc)
	c.ID, c.Version, c.Created, c.Updated = d.id, d.version, d.created, d.updated
	return c
}
