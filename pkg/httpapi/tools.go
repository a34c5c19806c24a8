package httpapi

import (
	"context"
	"net/http"

	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/tool"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Tools is where the tools of a project are.
type Tools interface {
	// CreateTool stores a tool that is complete and valid, and returns its id.
	CreateTool(ctx context.Context, projectID int64, t tool.Tool) (id string, err error)
	// FindTools lists the ids of all tools of a project, oldest first, a page of them, and counts all.
	FindTools(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error)
	// LoadTools reads tools in the order of ids. Those that are gone are left out.
	LoadTools(ctx context.Context, projectID int64, ids []string) ([]tool.Tool, error)
	// UpdateTool changes a tool and returns the updated one. fault.NotFound if there is none,
	// fault.Invalid if it would break a rule.
	UpdateTool(ctx context.Context, projectID int64, u tool.Update) (tool.Tool, error)
	// DeleteTool deletes a tool. fault.NotFound if there is none.
	DeleteTool(ctx context.Context, projectID int64, id string) error
}

var toolOperations = []apiOperation{
	{"listTools", http.MethodGet, []string{"/tools"}, project.ScopeRead, (*Server).listTools},
	{"createTool", http.MethodPost, []string{"/tools"}, project.ScopeFull, (*Server).createTool},
	{"updateTool", http.MethodPut, []string{"/tools"}, project.ScopeFull, (*Server).updateTool},
	{"deleteTool", http.MethodDelete, []string{"/tools"}, project.ScopeFull, (*Server).deleteTool},
}

func (s *Server) listTools(c *call) error {
	limit, page, err := c.page()
	if err != nil {
		return err
	}
	ids, total, err := s.Store.FindTools(c.ctx(), c.project.ID, limit, page)
	if err != nil {
		return err
	}
	c.total(total)
	key := "tools"
	if c.dialect == wire.V0 {
		key = ""
	}
	return list(c, key, ids,
		func(ids []string) ([]tool.Tool, error) { return s.Store.LoadTools(c.ctx(), c.project.ID, ids) },
		func(dst []byte, t *tool.Tool) []byte { return wire.AppendTool(dst, t, &c.project, c.dialect) })
}

func (s *Server) createTool(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	t, err := wire.DecodeTool(body)
	if err != nil {
		return err
	}
	id, err := s.Store.CreateTool(c.ctx(), c.project.ID, t)
	if err != nil {
		return err
	}
	return c.json(inserted(func(b *rawjson.Builder) { b.String("insertedId", id) }))
}

func (s *Server) updateTool(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	u, err := wire.DecodeToolUpdate(body)
	if err != nil {
		return err
	}
	t, err := s.Store.UpdateTool(c.ctx(), c.project.ID, u)
	if err != nil {
		return err
	}
	var b rawjson.Builder
	b.Bool("updated", true)
	b.Raw("result", wire.AppendTool(nil, &t, &c.project, c.dialect))
	return c.json(&b)
}

// deleteTool takes both names of the id.
func (s *Server) deleteTool(c *call) error {
	id, err := c.paramID("function_id", "id")
	if err != nil {
		return err
	}
	if err := s.Store.DeleteTool(c.ctx(), c.project.ID, id); err != nil {
		return err
	}
	var b, result rawjson.Builder
	b.Bool("deleted", true)
	result.String("id", id)
	b.Raw("result", result.Bytes())
	return c.json(&b)
}
