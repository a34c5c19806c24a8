package httpapi

import (
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

// getSession answers with the session event and all below it, nested.
func (s *Server) getSession(c *call) error {
	id, err := c.id("session_id")
	if err != nil {
		return err
	}
	set, err := s.Store.Session(c.ctx(), c.project.ID, id)
	if err != nil {
		return err
	}
	older := c.fromOlderClient()
	c.fourTypes, c.objectOutputs = older, older
	return c.stream(func(out *wire.Stream) error {
		return wire.WriteTree(c.ctx(), out, set, wire.Tree{}, &c.project)
	})
}

// deleteSession deletes a session with all its events.
func (s *Server) deleteSession(c *call) error {
	id, err := c.id("session_id")
	if err != nil {
		return err
	}
	copies, err := s.copiesOf(c, id)
	if err != nil {
		return err
	}
	if err := s.Store.DeleteSession(c.ctx(), c.project.ID, id); err != nil {
		return err
	}
	return c.deletedWith(id, copies)
}

// maxCopies bounds the ids of copies that the answer to a deletion lists.
const maxCopies = 1000

// pointCopies are the datapoints that were made of what is deleted.
type pointCopies struct {
	purged bool // they are deleted, too
	list   []string
	total  int
}

// copiesOf finds the copies of an event or of a session's events, and deletes them where the request
// asks for that.
func (s *Server) copiesOf(c *call, id uuid.UUID) (x pointCopies, err error) {
	var params struct {
		Purge bool `query:"purge"`
	}
	if err := c.query(&params); err != nil {
		return x, err
	}
	if x.purged = params.Purge; x.purged {
		x.total, err = s.Store.DeleteCopies(c.ctx(), c.project.ID, id)
		return x, err
	}
	x.list, x.total, err = s.Store.Copies(c.ctx(), c.project.ID, id, maxCopies)
	return x, err
}

// deletedWith answers to the deletion of what there may be copies of.
func (c *call) deletedWith(id uuid.UUID, x pointCopies) error {
	var b, inner rawjson.Builder
	b.Bool("success", true)
	b.String("deleted", id.String())
	if x.total > 0 {
		name := "copies"
		if x.purged {
			name = "purged"
			inner.Int("datapoints", int64(x.total))
		} else {
			inner.Raw("datapoints", rawjson.AppendStrings(nil, x.list))
			inner.Int("total", int64(x.total))
		}
		b.Raw(name, inner.Bytes())
	}
	return c.json(&b)
}

func (c *call) deleted(id string) error {
	var b rawjson.Builder
	b.Bool("success", true)
	b.String("deleted", id)
	return c.json(&b)
}

// searchSessions answers with a page of sessions, each summed up.
func (s *Server) searchSessions(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	in, err := wire.DecodeSessionSearch(body, s.Now())
	if err != nil {
		return err
	}
	in.Search.Filters = query.InProject(in.Search.Filters, c.project)
	if in.Search.EventFilters != nil {
		in.Search.EventFilters = query.InProject(in.Search.EventFilters, c.project)
	}
	set, err := s.Store.SearchSessions(c.ctx(), c.project.ID, in.Search)
	if err != nil {
		return err
	}
	return c.stream(func(out *wire.Stream) error { return wire.WriteSessions(c.ctx(), out, set, in) })
}
