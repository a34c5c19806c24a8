package resource

import (
	"context"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/provider"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// providers is the table of providers. A provider's id is its name, which metrics refer to it by; so one that is deleted and made
// again is the same to them. Its key is sealed before it comes here, and is never read in the clear by the store.
var providers = Documents{Table: "provider", Noun: "provider"}

// ChangeProvider hands a provider of a project to change, a new one with only its name if there is
// none, and stores what change made of it. change may run more than once, each time with what is stored then.
func (s *Store) ChangeProvider(ctx context.Context, projectID int64, name string, change func(*provider.Provider) error) (
	p provider.Provider, err error) {
	err = s.ChangeDocs(ctx, 0, "change provider", func(ctx context.Context, tx *events.Commit) error {
		// Before the look, so that a provider that is not there is not made by another server meanwhile.
		if err := LockBound(ctx, tx, projectID, providers); err != nil {
			return err
		}
		now := s.options.Now()
		d, err := providers.getForUpdate(ctx, tx, projectID, name)
		missing := fault.IsNotFound(err)
		if err != nil && !missing {
			return err
		}
		if p = (provider.Provider{Name: name}); !missing {
			p = providerOf(d)
		}
		if err := change(&p); err != nil {
			return err
		}
		// The text has the sealed key, never the key itself.
		d.Doc = p.Doc()
		if !missing {
			err = providers.Update(ctx, tx, projectID, &d, now)
			p = providerOf(d)
			return err
		}
		var n, newest int64
		if _, err := sqldb.One(ctx, tx, `SELECT count(*), coalesce(max(created_ms), 0)
			FROM provider
			WHERE project_id = $1`, []any{projectID}, &n, &newest); err != nil {
			return err
		}
		if n >= provider.MaxPerProject {
			return fault.New(fault.Invalid, "a project has at most %d providers", provider.MaxPerProject)
		}
		// Later than all others also within a millisecond, or their names would order them.
		d = Document{ID: name, Version: 1, Created: max(now.UnixMilli(), newest+1), Doc: d.Doc}
		p = providerOf(d)
		return providers.Insert(ctx, tx, projectID, d)
	})
	return p, err
}

// Providers lists the providers of a project, oldest first.
func (s *Store) Providers(ctx context.Context, projectID int64) ([]provider.Provider, error) {
	ids, _, err := providers.Find(ctx, s.db, projectID, "", nil, provider.MaxPerProject, 1)
	if err != nil {
		return nil, sqldb.WrapError(s.db, err, "find providers")
	}
	docs, err := providers.load(ctx, s.db, projectID, ids)
	list := make([]provider.Provider, len(docs))
	for i, d := range docs {
		list[i] = providerOf(d)
	}
	return list, sqldb.WrapError(s.db, err, "read providers")
}

// DeleteProvider deletes a provider and its key. What was spent by it stays under its name.
func (s *Store) DeleteProvider(ctx context.Context, projectID int64, name string) error {
	return s.ChangeDocs(ctx, 0, "delete provider", func(ctx context.Context, tx *events.Commit) error {
		return providers.remove(ctx, tx, projectID, name)
	})
}

func providerOf(d Document) provider.Provider {
	p := provider.FromDoc(d.Doc)
	p.Name, p.Version, p.Created, p.Updated = d.ID, d.Version, d.Created, d.Updated
	return p
}
