package resource

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/spangrove/spangrove/pkg/configuration"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

var configurations = collection[configuration.Configuration]{
	Documents: Documents{Table: "configuration", Noun: "configuration", Columns: []string{"name", "labels"}},
	many:      "configurations",
	decode:    configuration.FromDoc,
	stamp: func(c *configuration.Configuration, d *Document) {
		c.ID, c.Version, c.Created, c.Updated = d.ID, d.Version, d.Created, d.Updated
	},
}

// CreateConfiguration stores a configuration that is complete and valid, and returns its id.
func (s *Store) CreateConfiguration(ctx context.Context, projectID int64, c configuration.Configuration) (id string, err error) {
	d, err := configurations.create(ctx, s, "create", projectID, c.Doc(), c.Name, c.Labels())
	return d.ID, err
}

// FindConfigurations lists the ids of the configurations that match, oldest first, a page of
// them, and counts all that do.
func (s *Store) FindConfigurations(ctx context.Context, projectID int64, q configuration.Query) (ids []string, total int, err error) {
	var conds []string
	var args []any
	// has is the condition that the labels hold one: without it they are another text. LIKE would take some characters
	// of a label for patterns, and SQLite's would not tell upper from lower case.
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
	return configurations.find(ctx, s, projectID, strings.Join(conds, " AND "), args, q.Limit, q.Page)
}

// LoadConfigurations reads configurations in the order of ids, each at the version that the first of the environments gets to which
// it is deployed; without environments at the current one.
func (s *Store) LoadConfigurations(ctx context.Context, projectID int64, ids, env []string) ([]configuration.Configuration, error) {
	list, err := configurations.list(ctx, s, projectID, ids)
	if err != nil || len(env) == 0 {
		return list, err
	}
	deployed := list[:0]
	for _, c := range list {
		if version := c.VersionFor(env); version != c.Version {
			d, err := configurations.getVersion(ctx, s.db, projectID, c.ID, version)
			if fault.Of(err) == fault.NotFound { // deleted since
				continue
			}
			if err != nil {
				return nil, sqldb.WrapError(s.db, err, "read configurations")
			}
			c.Show(configurations.of(d))
		}
		deployed = append(deployed, c)
	}
	return deployed, nil
}

// Configuration returns a configuration as it was in a version; 0 is the current one.
func (s *Store) Configuration(ctx context.Context, projectID int64, id string, version int64) (configuration.Configuration, error) {
	d, err := configurations.getVersion(ctx, s.db, projectID, id, version)
	return configurations.of(d), sqldb.WrapError(s.db, err, "read configuration")
}

// ConfigurationVersions lists the versions of a configuration, newest first, a page of them, and
// counts all.
func (s *Store) ConfigurationVersions(ctx context.Context, projectID int64, id string, limit, page int) (
	[]configuration.Configuration, int, error) {
	docs, total, err := configurations.versions(ctx, s.db, projectID, id, limit, page)
	list := make([]configuration.Configuration, len(docs))
	for i, d := range docs {
		list[i] = configuration.Configuration{ID: id, Version: d.Version, Created: d.Created, Updated: d.since()}
	}
	return list, total, sqldb.WrapError(s.db, err, "read configuration")
}

// UpdateConfiguration changes a configuration; changed is false if it was so before. A change of more than where it is deployed makes
// a new version, and the one before is archived by the same transaction. What is compared is the text as it is stored.
func (s *Store) UpdateConfiguration(ctx context.Context, projectID int64, u configuration.Update) (changed bool, err error) {
	size := len(u.Parameters) + len(u.UserProperties)
	err = s.ChangeDocs(ctx, size, "update configuration", func(ctx context.Context, tx *events.Commit) error {
		d, err := configurations.getForUpdate(ctx, tx, projectID, u.ID)
		if err != nil {
			return err
		}
		before := configurations.of(d)
		c := before
		c.Apply(&u)
		if err := c.Validate(); err != nil {
			return err
		}
		doc := c.Doc()
		// Texts are written by one encoder in one order of members, so equal configurations have equal texts.
		if changed = !bytes.Equal(doc, d.Doc); !changed {
			return nil
		}
		if c.SameVersion(before) {
			d.Doc = doc
			return configurations.amend(ctx, tx, projectID, &d, c.Name, c.Labels())
		}
		if err := configurations.archiveVersion(ctx, tx, projectID, d, false); err != nil {
			return err
		}
		d.Doc = doc
		return configurations.Update(ctx, tx, projectID, &d, s.options.Now(), c.Name, c.Labels())
	})
	return changed, err
}

// DeleteConfiguration deletes a configuration with all its versions.
func (s *Store) DeleteConfiguration(ctx context.Context, projectID int64, id string) error {
	return s.deleteDocument(ctx, configurations.Documents, projectID, id)
}
