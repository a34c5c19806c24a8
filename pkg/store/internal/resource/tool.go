package resource

import (
	"context"
	"encoding/json"

	"github.com/spangrove/spangrove/pkg/tool"
)

// tools is the table of tools that people have described. Which tools an event used is in the event: nothing refers to these rows,
// so they are deleted without looking for anything else.
var tools = collection[tool.Tool]{
	Documents: Documents{Table: "tool", Noun: "tool"},
	many:      "tools",
	decode:    tool.FromDoc,
	stamp:     func(t *tool.Tool, d *Document) { t.ID, t.Created, t.Updated = d.ID, d.Created, d.Updated },
}

// CreateTool stores a tool that is complete and valid, and returns its id.
func (s *Store) CreateTool(ctx context.Context, projectID int64, t tool.Tool) (id string, err error) {
	d, err := tools.create(ctx, s, "create", projectID, t.Doc())
	return d.ID, err
}

// FindTools lists the ids of all tools of a project, oldest first, a page of them, and counts all.
func (s *Store) FindTools(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error) {
	return tools.find(ctx, s, projectID, "", nil, limit, page)
}

// LoadTools reads tools in the order of ids.
func (s *Store) LoadTools(ctx context.Context, projectID int64, ids []string) ([]tool.Tool, error) {
	return tools.list(ctx, s, projectID, ids)
}

// UpdateTool changes a tool and returns the updated one.
func (s *Store) UpdateTool(ctx context.Context, projectID int64, u tool.Update) (tool.Tool, error) {
	return tools.change(ctx, s, projectID, u.ID, len(u.Parameters), func(t *tool.Tool) (json.RawMessage, error) {
		t.Apply(&u)
		return t.Doc(), t.Validate()
	})
}

// DeleteTool deletes a tool.
func (s *Store) DeleteTool(ctx context.Context, projectID int64, id string) error {
	return tools.delete(ctx, s, projectID, id)
}
