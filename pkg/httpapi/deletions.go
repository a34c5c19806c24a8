package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/spangrove/spangrove/pkg/deletion"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Deletions deletes all that searches find.
type Deletions interface {
	// CountEventDeletion counts the events that a search finds, without session events, which it counts apart. It is a heavy read, and
	// fault.Invalid if they are more than deletion.Max. Filters on the project itself are the caller's to decide (query.InProject).
	CountEventDeletion(ctx context.Context, projectID int64, q query.Search) (deletion.Count, error)
	// CountSessionDeletion counts the sessions that a search finds, and all their events; as CountEventDeletion.
	CountSessionDeletion(ctx context.Context, projectID int64, q query.SessionSearch) (deletion.Count, error)
	// DeleteEvents begins to delete the events that a search finds at this moment, without session events: none that come later are
	// among them. It returns once it is certain that they will be deleted, also by another process; done is closed at the end if it comes
	// while the store is open. fault.Conflict if they are more than seen, or if too many deletions of the project run.
	DeleteEvents(ctx context.Context, projectID int64, q query.Search, seen deletion.Count) (d deletion.Deletion, done <-chan struct{}, err error)
	// DeleteSessions is the same for sessions. One for which an event comes before its turn is left whole, and counted.
	DeleteSessions(ctx context.Context, projectID int64, q query.SessionSearch, seen deletion.Count) (d deletion.Deletion, done <-chan struct{}, err error)
	// FindDeletions lists the ids of the deletions of a project, newest first, a page of them, and counts all: those that run, and the
	// last deletion.MaxEnded that have ended.
	FindDeletions(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error)
	// LoadDeletions reads deletions with their progress, in the order of ids. Those that are gone are left out.
	LoadDeletions(ctx context.Context, projectID int64, ids []string) ([]deletion.Deletion, error)
	// Deletion returns a deletion with its progress. fault.NotFound if there is none.
	Deletion(ctx context.Context, projectID int64, id string) (deletion.Deletion, error)
	// CancelDeletion ends a deletion; what is gone stays gone. fault.NotFound if there is none, fault.Conflict if it has ended.
	CancelDeletion(ctx context.Context, projectID int64, id string) (deletion.Deletion, error)
}

var deletionOperations = []apiOperation{
	{"deleteEvents", http.MethodPost, []string{"/events/delete"}, project.ScopeFull, (*Server).deleteEvents},
	{"deleteSessions", http.MethodPost, []string{"/sessions/delete"}, project.ScopeFull, (*Server).deleteSessions},
	{"listDeletions", http.MethodGet, []string{"/deletions"}, project.ScopeRead, (*Server).listDeletions},
	{"getDeletion", http.MethodGet, []string{"/deletions/{deletion}"}, project.ScopeRead, (*Server).getDeletion},
	{"cancelDeletion", http.MethodPost, []string{"/deletions/{deletion}/cancel"}, project.ScopeFull, (*Server).cancelDeletion},
}

// deletionWait is how long an answer waits for the end of a deletion, so that small ones have ended when their caller gets it.
const deletionWait = 3 * time.Second

// deleteEvents deletes the events that a search finds, or counts them.
func (s *Server) deleteEvents(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	in, err := wire.DecodeDeletion(body, deletion.Events, s.Now())
	if err != nil {
		return err
	}
	in.Events.Filters = query.InProject(in.Events.Filters, c.project)
	if in.Dry {
		n, err := s.Store.CountEventDeletion(c.ctx(), c.project.ID, in.Events)
		return c.answerCount(deletion.Events, n, err)
	}
	d, done, err := s.Store.DeleteEvents(c.ctx(), c.project.ID, in.Events, in.Seen)
	return s.answerDeletion(c, d, done, err)
}

// deleteSessions deletes the sessions that a search finds, or counts them.
func (s *Server) deleteSessions(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	in, err := wire.DecodeDeletion(body, deletion.Sessions, s.Now())
	if err != nil {
		return err
	}
	in.Sessions.Filters = query.InProject(in.Sessions.Filters, c.project)
	if in.Sessions.EventFilters != nil {
		in.Sessions.EventFilters = query.InProject(in.Sessions.EventFilters, c.project)
	}
	if in.Dry {
		n, err := s.Store.CountSessionDeletion(c.ctx(), c.project.ID, in.Sessions)
		return c.answerCount(deletion.Sessions, n, err)
	}
	d, done, err := s.Store.DeleteSessions(c.ctx(), c.project.ID, in.Sessions, in.Seen)
	return s.answerDeletion(c, d, done, err)
}

func (c *call) answerCount(of deletion.Kind, n deletion.Count, err error) error {
	c.counted = true
	if err != nil {
		return err
	}
	return c.answer(wire.AppendDeletionCount(nil, of, n))
}

// answerDeletion answers with a deletion that has begun, and waits a little for its end.
func (s *Server) answerDeletion(c *call, d deletion.Deletion, done <-chan struct{}, err error) error {
	if err != nil {
		return err
	}
	wait := time.NewTimer(deletionWait)
	defer wait.Stop()
	select {
	case <-done:
	case <-wait.C:
	case <-s.ended: // the server is being stopped; another one goes on
	case <-c.ctx().Done():
	}
	c.target = d.ID
	// That it began is the answer, even if how far it is cannot be read.
	if now, err := s.Store.Deletion(c.ctx(), c.project.ID, d.ID); err == nil {
		d = now
	}
	return c.answer(wire.AppendDeletion(nil, &d))
}

func (s *Server) listDeletions(c *call) error {
	return dataPage(c, s.Store.FindDeletions, s.Store.LoadDeletions, wire.AppendDeletion)
}

func (s *Server) getDeletion(c *call) error {
	d, err := s.Store.Deletion(c.ctx(), c.project.ID, c.text("deletion"))
	if err != nil {
		return err
	}
	return c.answer(wire.AppendDeletion(nil, &d))
}

func (s *Server) cancelDeletion(c *call) error {
	d, err := s.Store.CancelDeletion(c.ctx(), c.project.ID, c.text("deletion"))
	if err != nil {
		return err
	}
	return c.answer(wire.AppendDeletion(nil, &d))
}
