package resource

import (
	"context"

	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/tool"
)

var tools = Documents{Table: "tool", Noun: "tool"}

// CreateTool stores a tool that is complete and valid, and returns its id.
func (s *Store) CreateTool(ctx context.Context, projectID int64, t tool.Tool) (id string, err error) {
	now := s.options.Now()
	d := Document{ID: NewDocumentID(now), Version: 1, Created: now.UnixMilli(), Doc: t.Doc()}
	err = s.ChangeDocs(ctx, len(d.Doc), "create tool", func(ctx context.Context, tx *events.Commit) error {
		return tools.Insert(ctx, tx, projectID, d)
	})
	return d.ID, err
}

// FindTools lists the ids of all tools of a project, oldest first, a page of them, and counts all.
func (s *Store) FindTools(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error) {
	ids, total, err = tools.Find(ctx, s.db, projectID, "", nil, limit, page)
	return ids, total, sqldb.WrapError(s.db, err, "find tools")
}

// LoadTools reads tools in the order of ids.
func (s *Store) LoadTools(ctx context.Context, projectID int64, ids []string) ([]tool.Tool, error) {
	docs, err := tools.load(ctx, s.db, projectID, ids)
	list := make([]tool.Tool, len(docs))
	for i, d := range docs {
		list[i] = toolOf(d)
	}
	return list, sqldb.WrapError(s.db, err, "read tools")
}

// UpdateTool changes a tool and returns the updated one.
func (s *Store) UpdateTool(ctx context.Context, projectID int64, u tool.Update) (t tool.Tool, err error) {
	err = s.ChangeDocs(ctx, len(u.Parameters), "update tool", func(ctx context.Context, tx *events.Commit) error {
		d, err := tools.getForUpdate(ctx, tx, projectID, u.ID)
		if err != nil {
			return err
		}
		t = toolOf(d)
		t.Apply(&u)
		if err := t.Validate(); err != nil {
			return err
		}
		d.Doc = t.Doc()
		err = tools.Update(ctx, tx, projectID, &d, s.options.Now())
		t.Updated = d.Updated
		return err
	})
	return t, err
}

// DeleteTool deletes a tool.
func (s *Store) DeleteTool(ctx context.Context, projectID int64, id string) error {
	return s.ChangeDocs(ctx, 0, "delete tool", func(ctx context.Context, tx *events.Commit) error {
		return tools.remove(ctx, tx, projectID, id)
	})
}

func toolOf(d Document) tool.Tool {
	t := tool.FromDoc(d.Doc)
	t.ID, t.Created, t.Updated = d.ID, d.Created, d.Updated
	return t
}
