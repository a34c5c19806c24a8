package store

import (
	"context"

	"github.com/spangrove/spangrove/pkg/tool"
)

var tools = documents{table: "tool", noun: "tool"}

// CreateTool stores a tool that is complete and valid, and returns its id.
func (s *Store) CreateTool(ctx context.Context, projectID int64, t tool.Tool) (id string, err error) {
	now := s.options.Now()
	d := document{id: newDocumentID(now), version: 1, created: now.UnixMilli(), doc: t.Doc()}
	err = s.changeDocs(ctx, len(d.doc), "create tool", func(ctx context.Context, tx *commit) error {
		return tools.insert(ctx, tx, projectID, d)
	})
	return d.id, err
}

// FindTools lists the ids of all tools of a project, oldest first, a page of them, and counts all.
func (s *Store) FindTools(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error) {
	ids, total, err = tools.find(ctx, s.db, projectID, "", nil, limit, page)
	return ids, total, wrapDBError(s.db, err, "find tools")
}

// LoadTools reads tools in the order of ids. Those that are gone are left out.
func (s *Store) LoadTools(ctx context.Context, projectID int64, ids []string) ([]tool.Tool, error) {
	docs, err := tools.load(ctx, s.db, projectID, ids)
	list := make([]tool.Tool, len(docs))
	for i, d := range docs {
		list[i] = toolOf(d)
	}
	return list, wrapDBError(s.db, err, "read tools")
}

// UpdateTool changes a tool and returns the updated one. fault.NotFound if there is none,
// fault.Invalid if it would break a rule.
func (s *Store) UpdateTool(ctx context.Context, projectID int64, u tool.Update) (t tool.Tool, err error) {
	err = s.changeDocs(ctx, len(u.Parameters), "update tool", func(ctx context.Context, tx *commit) error {
		d, err := tools.getForUpdate(ctx, tx, projectID, u.ID)
		if err != nil {
			return err
		}
		t = toolOf(d)
		t.Apply(&u)
		if err := t.Validate(); err != nil {
			return err
		}
		d.doc = t.Doc()
		err = tools.update(ctx, tx, projectID, &d, s.options.Now())
		t.Updated = d.updated
		return err
	})
	return t, err
}

// DeleteTool deletes a tool. fault.NotFound if there is none.
func (s *Store) DeleteTool(ctx context.Context, projectID int64, id string) error {
	return s.changeDocs(ctx, 0, "delete tool", func(ctx context.Context, tx *commit) error {
		return tools.remove(ctx, tx, projectID, id)
	})
}

func toolOf(d document) tool.Tool {
	t := tool.FromDoc(d.doc)
	t.ID, t.Created, t.Updated = d.id, d.created, d.updated
	return t
}
