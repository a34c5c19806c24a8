package store

import (
	"context"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/provider"
)

// A provider's id is its name.
var providers = documents{table: "provider", noun: "provider"}

// ChangeProvider hands a provider of a project to change, a new one with only its name if there is
// none, and stores what change made of it. Errors of change are the answer, and nothing is stored.
func (s *Store) ChangeProvider(ctx context.Context, projectID int64, name string, change func(*provider.Provider) error) (
	p provider.Provider, err error) {
	err = s.changeDocs(ctx, 0, "change provider", func(ctx context.Context, tx *commit) error {
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
		d.doc = p.Doc()
		if !missing {
			err = providers.update(ctx, tx, projectID, &d, now)
			p = providerOf(d)
			return err
		}
		var n, newest int64
		if _, err := one(ctx, tx, `SELECT count(*), coalesce(max(created_ms), 0)
			FROM provider
			WHERE project_id = $1`, []any{projectID}, &n, &newest); err != nil {
			return err
		}
		if n >= provider.MaxPerProject {
			return fault.New(fault.Invalid, "a project has at most %d providers", provider.MaxPerProject)
		}
		// Later than all others also within a millisecond, or their names would order them.
		d = document{id: name, version: 1, created: max(now.UnixMilli(), newest+1), doc: d.doc}
		p = providerOf(d)
		return providers.insert(ctx, tx, projectID, d)
	})
	return p, err
}

// Providers lists the providers of a project, oldest first.
func (s *Store) Providers(ctx context.Context, projectID int64) ([]provider.Provider, error) {
	ids, _, err := providers.find(ctx, s.db, projectID, "", nil, provider.MaxPerProject, 1)
	if err != nil {
		return nil, wrapDBError(s.db, err, "find providers")
	}
	docs, err := providers.load(ctx, s.db, projectID, ids)
	list := make([]provider.Provider, len(docs))
	for i, d := range docs {
		list[i] = providerOf(d)
	}
	return list, wrapDBError(s.db, err, "read providers")
}

// Provider returns a provider of a project. fault.NotFound if there is none.
func (s *Store) Provider(ctx context.Context, projectID int64, name string) (provider.Provider, error) {
	d, err := providers.one(ctx, s.db, projectID, name)
	return providerOf(d), wrapDBError(s.db, err, "read provider")
}

// DeleteProvider deletes a provider and its key. fault.NotFound if there is none.
func (s *Store) DeleteProvider(ctx context.Context, projectID int64, name string) error {
	return s.changeDocs(ctx, 0, "delete provider", func(ctx context.Context, tx *commit) error {
		return providers.remove(ctx, tx, projectID, name)
	})
}

func providerOf(d document) provider.Provider {
	p := provider.FromDoc(d.doc)
	p.Name, p.Version, p.Created, p.Updated = d.id, d.version, d.created, d.updated
	return p
}
