package httpapi

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/comment"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Comments is where the comments on events are. An event is named by its id, a session by that of its event, also by one that it had before
// it moved. fault.NotFound if there is no such event.
type Comments interface {
	// CreateComment stores a comment that is valid, and returns it as it is stored. fault.Conflict if the event has
	// comment.MaxEvent of them.
	CreateComment(ctx context.Context, projectID int64, c comment.Comment) (comment.Comment, error)
	// FindComments lists the ids of the comments on an event, oldest first, a page of them, and counts all.
	FindComments(ctx context.Context, projectID int64, event uuid.UUID, limit, page int) (ids []string, total int, err error)
	// LoadComments reads comments in the order of ids. Those that are gone are left out.
	LoadComments(ctx context.Context, projectID int64, ids []string) ([]comment.Comment, error)
	// CountComments counts the comments on those of the events that have some. Events that are not there have none.
	CountComments(ctx context.Context, projectID int64, ids []uuid.UUID) (map[uuid.UUID]int, error)
	// UpdateComment changes the text of a comment on an event and returns the comment. fault.NotFound if the event has no such comment.
	UpdateComment(ctx context.Context, projectID int64, event uuid.UUID, id, text string) (comment.Comment, error)
	// DeleteComment deletes a comment on an event. fault.NotFound if the event has no such comment.
	DeleteComment(ctx context.Context, projectID int64, event uuid.UUID, id string) error
}

var commentOperations = []apiOperation{
	{"listComments", http.MethodGet, []string{"/events/{id}/comments"}, project.ScopeRead, (*Server).listComments},
	{"createComment", http.MethodPost, []string{"/events/{id}/comments"}, project.ScopeFull, (*Server).createComment},
	{"updateComment", http.MethodPut, []string{"/events/{id}/comments/{comment}"}, project.ScopeFull, (*Server).updateComment},
	{"deleteComment", http.MethodDelete, []string{"/events/{id}/comments/{comment}"}, project.ScopeFull, (*Server).deleteComment},
}

func (s *Server) listComments(c *call) error {
	event, err := c.id("event_id")
	if err != nil {
		return err
	}
	find := func(ctx context.Context, projectID int64, limit, page int) ([]string, int, error) {
		return s.Store.FindComments(ctx, projectID, event, limit, page)
	}
	return dataPage(c, find, s.Store.LoadComments, wire.AppendComment)
}

func (s *Server) createComment(c *call) error {
	event, err := c.id("event_id")
	if err != nil {
		return err
	}
	body, err := c.body()
	if err != nil {
		return err
	}
	item, err := wire.DecodeComment(body)
	if err != nil {
		return err
	}
	item.EventID = event
	if item, err = s.Store.CreateComment(c.ctx(), c.project.ID, item); err != nil {
		return err
	}
	return c.data(wire.AppendComment(nil, &item))
}

func (s *Server) updateComment(c *call) error {
	event, err := c.id("event_id")
	if err != nil {
		return err
	}
	body, err := c.body()
	if err != nil {
		return err
	}
	text, err := wire.DecodeCommentUpdate(body)
	if err != nil {
		return err
	}
	item, err := s.Store.UpdateComment(c.ctx(), c.project.ID, event, c.text("comment"), text)
	if err != nil {
		return err
	}
	return c.data(wire.AppendComment(nil, &item))
}

func (s *Server) deleteComment(c *call) error {
	event, err := c.id("event_id")
	if err != nil {
		return err
	}
	id := c.text("comment")
	if err := s.Store.DeleteComment(c.ctx(), c.project.ID, event, id); err != nil {
		return err
	}
	return c.dataDeleted("comment", id)
}
