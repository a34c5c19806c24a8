package httpapi

import (
	"context"
	"net/http"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Schemas is what knows which fields events have.
type Schemas interface {
	// FieldIndex lists which keys the events of a project have, by type and name of event, and the
	// datasets that they and the runs of that time name, sorted. Of q, only From, To, RunID and
	// InRuns count. It knows days: a key is listed if it was first seen before the range ends and
	// last seen after it begins. When the last event that had it is deleted, it goes in the background.
	//
	// Of a run, it lists the keys of the events that named the run, or whose session did, when they
	// were stored. For other kinds of events in the sessions that the run lists, it is the keys that
	// such events have in the project.
	FieldIndex(ctx context.Context, projectID int64, q query.Search) (*event.FieldIndex, error)
	// MetricNames lists the metrics that events of a project carry, sorted. What a metric holds
	// in addition to its value, such as its explanation, is not a metric.
	MetricNames(ctx context.Context, projectID int64) ([]string, error)
}

var schemaOperations = []apiOperation{
	{"getEventsSchema", http.MethodGet, []string{"/events/schema"}, project.ScopeRead, (*Server).eventsSchema},
	{"getRunsSchema", http.MethodGet, []string{"/runs/schema"}, project.ScopeRead, (*Server).runsSchema},
	{"getRunSchema", http.MethodGet, []string{"/runs/{id}/schema"}, project.ScopeRead, (*Server).runSchema},
}

func (s *Server) eventsSchema(c *call) error {
	q, err := wire.DecodeSchema(c.r.URL.RawQuery, s.Now())
	if err != nil {
		return err
	}
	return s.schema(c, q)
}

// runsSchema answers with the fields of the events of experiment runs.
func (s *Server) runsSchema(c *call) error {
	q, err := wire.DecodeSchema(c.r.URL.RawQuery, s.Now())
	if err != nil {
		return err
	}
	q.InRuns = true
	return s.schema(c, q)
}

func (s *Server) runSchema(c *call) error {
	q, err := wire.DecodeSchema(c.r.URL.RawQuery, s.Now())
	if err != nil {
		return err
	}
	r, err := s.Store.Run(c.ctx(), c.project.ID, c.runID("id"))
	if err != nil {
		return err
	}
	q.RunID = r.ID
	return s.schema(c, q)
}

func (s *Server) schema(c *call, q query.Search) error {
	index, err := s.Store.FieldIndex(c.ctx(), c.project.ID, q)
	if err != nil {
		return err
	}
	return c.answer(wire.AppendSchema(nil, index))
}
