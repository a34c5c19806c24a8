package httpapi

import (
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

// listEvents serves a search by query string.
func (s *Server) listEvents(c *call) error {
	object, err := wire.QueryObject(c.r.URL.RawQuery)
	if err != nil {
		return err
	}
	return s.search(c, object, query.SearchPages)
}

// searchEvents answers with a page of events.
func (s *Server) searchEvents(c *call) error {
	return s.searchBody(c, query.OrderedPages)
}

// exportEvents streams all events that match as a file, if a format is asked for. Without one it serves a search in which a limit over the highest means the
// highest: older clients ask for more.
func (s *Server) exportEvents(c *call) error {
	object, err := c.object()
	if err != nil {
		return err
	}
	if rawjson.Null(rawjson.Get(object, "format")) {
		older := c.fromOlderClient()
		c.fourTypes, c.objectOutputs = older, older || c.fromPython()
		return s.search(c, object, query.ExportPages)
	}
	in, err := wire.DecodeEventExport(object, s.Now())
	if err != nil {
		return err
	}
	in.Events.Filters = query.InProject(in.Events.Filters, c.project)
	return c.export(&in.ExportFile, "events", func(out *wire.Stream) (more bool, err error) {
		set, err := s.Store.Search(c.ctx(), c.project.ID, in.Events)
		if err != nil {
			return false, err
		}
		return in.WriteEvents(c.ctx(), out, set, &c.project)
	})
}

func (s *Server) searchBody(c *call, pages query.PageRule) error {
	object, err := c.object()
	if err != nil {
		return err
	}
	return s.search(c, object, pages)
}

func (s *Server) search(c *call, object []byte, pages query.PageRule) error {
	in, err := wire.DecodeSearch(object, pages, s.Now())
	if err != nil {
		return err
	}
	in.Search.Filters = query.InProject(in.Search.Filters, c.project)
	in.Search.HeadOnly = !in.Projection.NeedPayload() && !in.Snippets
	set, err := s.Store.Search(c.ctx(), c.project.ID, in.Search)
	if err != nil {
		return err
	}
	return c.stream(func(out *wire.Stream) error {
		return wire.WriteEvents(c.ctx(), out, set, &c.project, in)
	})
}

// chartEvents answers with one number a bucket of time, and a group.
func (s *Server) chartEvents(c *call) error {
	chart, err := wire.DecodeChart(c.r.URL.RawQuery, s.Now())
	if err != nil {
		return err
	}
	chart.Filters = query.InProject(chart.Filters, c.project)
	answer, err := s.Store.Chart(c.ctx(), c.project.ID, chart)
	if err != nil {
		return err
	}
	return c.answer(wire.AppendChart(nil, chart, answer))
}

// queryCharts answers several charts of one range.
func (s *Server) queryCharts(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	in, err := wire.DecodeCharts(body, s.Now())
	if err != nil {
		return err
	}
	for _, one := range in.Set.Series {
		one.Filters = query.InProject(one.Filters, c.project)
	}
	table, err := s.Store.Charts(c.ctx(), c.project.ID, &in.Set)
	if err != nil {
		return err
	}
	return c.answer(wire.AppendCharts(nil, in, table))
}

// eventValues answers with the values of a field, most frequent first.
func (s *Server) eventValues(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	q, err := wire.DecodeValues(body, s.Now())
	if err != nil {
		return err
	}
	q.Search.Filters = query.InProject(q.Search.Filters, c.project)
	answer, err := s.Store.Values(c.ctx(), c.project.ID, q)
	if err != nil {
		return err
	}
	return c.answer(wire.AppendValues(nil, answer))
}

// getEvent answers with an event and what is below it: the tree node older documents promise,
// with the event alone under the key "event", which newer clients read. The id of a session
// returns the session's tree. With children=none it is the event alone, for which nothing else is read.
func (s *Server) getEvent(c *call) error {
	id, err := c.id("event_id")
	if err != nil {
		return err
	}
	var params struct {
		Children string `query:"children"`
	}
	if err := c.query(&params); err != nil {
		return err
	}
	switch params.Children {
	case "", "all":
	case "none":
		e, err := s.Store.Event(c.ctx(), c.project.ID, id)
		if err != nil {
			return err
		}
		return c.answer(wire.AppendEvent(nil, &e, &c.project))
	default:
		return fault.InvalidField("children", "must be all or none")
	}
	set, at, err := s.around(c, id)
	if err != nil {
		return err
	}
	c.objectOutputs = c.fromPython()
	return c.stream(func(out *wire.Stream) error {
		return wire.WriteTree(c.ctx(), out, set, wire.Tree{At: at, WithEvent: true}, &c.project)
	})
}

// around returns the session of an event, since its place in the tree is known only among the
// other events of its session. at is the event; zero if id is another id of the session.
func (s *Server) around(c *call, id uuid.UUID) (set *event.Set, at uuid.UUID, err error) {
	session := id
	e, missing := s.Store.Event(c.ctx(), c.project.ID, id)
	switch {
	case missing == nil:
		session, at = e.SessionID, e.ID
	case fault.Of(missing) != fault.NotFound:
		return nil, uuid.Nil, missing
	}
	// An unknown event may still be another id of a session.
	set, err = s.Store.Session(c.ctx(), c.project.ID, session)
	if missing != nil && fault.IsNotFound(err) {
		err = missing
	}
	return set, at, err
}

// updateEvent merges the body into the event it names.
func (s *Server) updateEvent(c *call) error { return s.update(c, uuid.Nil) }

// updateEventByID merges the body into the event of the path.
func (s *Server) updateEventByID(c *call) error {
	id, err := c.id("event_id")
	if err != nil {
		return err
	}
	return s.update(c, id)
}

func (s *Server) update(c *call, id uuid.UUID) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	if s.Scrub != nil {
		body = s.Scrub(body)
	}
	u, err := wire.DecodeUpdate(body, id)
	if err != nil {
		return err
	}
	if s.Forward != nil {
		answer, err := s.Forward(c.ctx(), u.EventID, body)
		if err != nil {
			return err
		}
		return c.answer(answer)
	}
	u.Telemetry = !c.scope.Allows(project.ScopeFull)
	pending, err := s.Store.Update(c.ctx(), c.project.ID, u)
	if err != nil {
		return err
	}
	var b rawjson.Builder
	b.Bool("success", true)
	b.String("event_id", u.EventID.String())
	if pending && c.scope.Allows(project.ScopeRead) { // whether the event is stored is for readers to know
		b.Bool("pending", true)
	}
	return c.json(&b)
}

// deleteEvent deletes one event; the id of a session deletes the whole session, since nothing
// would be left to hang its events under.
func (s *Server) deleteEvent(c *call) error {
	id, err := c.id("event_id")
	if err != nil {
		return err
	}
	copies, err := s.copiesOf(c, id)
	if err != nil {
		return err
	}
	err = s.Store.DeleteEvent(c.ctx(), c.project.ID, id)
	if fault.IsNotFound(err) {
		// It may still be another id of a session, by which that was known before.
		if again := s.Store.DeleteSession(c.ctx(), c.project.ID, id); fault.Of(again) != fault.NotFound {
			err = again
		}
	}
	if err != nil {
		return err
	}
	return c.deletedWith(id, copies)
}
