package httpapi

import (
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/wire"
)

// createDatapointBatch makes a datapoint of each of the chosen events, all or none.
func (s *Server) createDatapointBatch(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	batch, err := wire.DecodeDatapointBatch(body, s.Now())
	if err != nil {
		return err
	}
	making := pointMaker{c: c, batch: batch, most: dataset.MaxRows, field: "selectAll"}
	if batch.All {
		_, err = making.all(s.Store)
	} else {
		err = making.each(s.Store)
	}
	if err != nil {
		return err
	}
	ids := []string{}
	if len(making.list) > 0 {
		if ids, err = s.Store.CreateDatapoints(c.ctx(), c.project.ID, making.list); err != nil {
			return missing("dataset_id", err)
		}
	}
	return c.insertedAll("insertedIds", ids)
}

// pointMaker collects the datapoints of a batch, within the bounds of one request.
type pointMaker struct {
	c     *call
	batch *wire.DatapointBatch
	most  int    // datapoints; a dry run stops at fewer than may be stored
	field string // that chooses more than may be stored, if they are more
	list  []dataset.Datapoint
	bytes int
}

// dry reports whether the datapoints are only to be looked at.
func (m *pointMaker) dry() bool { return m.most < dataset.MaxRows }

// check refuses what selects more than may be stored.
func (m *pointMaker) check(total int, what string) error {
	if most := dataset.MaxRows + len(m.batch.Except); total > most && !m.dry() {
		return fault.InvalidField(m.field, "selects %d %s, and a request may make at most %d datapoints: narrow filters or dateRange",
			total, what, dataset.MaxRows)
	}
	return nil
}

// each takes the events that are named.
func (m *pointMaker) each(r Reader) error {
	for i, id := range m.batch.Events {
		e, err := r.Event(m.c.ctx(), m.c.project.ID, id)
		if err != nil {
			return fault.In(fmt.Sprintf("events[%d]", i), err)
		}
		if err := m.add(&e); err != nil {
			return err
		}
	}
	return nil
}

// all takes the events that a search finds, newest first, but for those that are excepted, and counts all that it finds. Each page begins behind the
// last event of the page before: what comes in or is deleted meanwhile neither moves nor hides others.
func (m *pointMaker) all(r Reader) (total int, err error) {
	q := m.batch.Search
	q.Filters = query.InProject(q.Filters, m.c.project)
	q.Sort, q.Page, q.Limit, q.Continued = query.EventsByStart, 1, min(query.MaxLimit, m.most), true
	for {
		set, err := r.Search(m.c.ctx(), m.c.project.ID, q)
		if err != nil {
			return total, err
		}
		if !q.Uncounted {
			total = set.Total
			if err := m.check(total, "events"); err != nil {
				return total, err
			}
		}
		before := len(m.list)
		for i := range set.Events {
			if m.batch.Except[set.Events[i].ID] {
				continue
			}
			e, err := set.Load(m.c.ctx(), i)
			if err != nil {
				return total, err
			}
			if err := m.add(&e); err != nil {
				return total, err
			}
		}
		if err := m.leaveOutGone(r, before); err != nil {
			return total, err
		}
		if !set.HasMore || len(set.Events) == 0 || m.dry() {
			return total, nil
		}
		q.Uncounted, q.After = true, &query.Place{Value: set.Last, ID: set.Events[len(set.Events)-1].ID}
	}
}

// sessions takes the session events of the sessions that a search finds, newest first, and counts all that it finds.
func (m *pointMaker) sessions(r Reader, q query.SessionSearch) (total int, err error) {
	q.Filters = query.InProject(q.Filters, m.c.project)
	if q.EventFilters != nil {
		q.EventFilters = query.InProject(q.EventFilters, m.c.project)
	}
	q.Sort, q.Limit, q.Counted = query.SortStart, min(wire.MaxSessions, m.most), true
	for {
		set, err := r.SearchSessions(m.c.ctx(), m.c.project.ID, q)
		if err != nil {
			return total, err
		}
		if q.Counted {
			total = set.Total
			if err := m.check(total, "sessions"); err != nil {
				return total, err
			}
		}
		before := len(m.list)
		for i := range set.Events {
			e, err := set.Load(m.c.ctx(), i)
			if err != nil {
				return total, err
			}
			if err := m.add(&e); err != nil {
				return total, err
			}
		}
		if err := m.leaveOutGone(r, before); err != nil {
			return total, err
		}
		if !set.HasMore || len(set.Events) == 0 || m.dry() {
			return total, nil
		}
		q.Counted, q.After = false, &query.Place{Value: set.Last, ID: set.Events[len(set.Events)-1].ID}
	}
}

var errBatchTooLarge = errors.New("batch of datapoints")

func (m *pointMaker) add(e *event.Event) error {
	d := m.batch.Mapping.FromEvent(e.ID.String(), wire.AppendEvent(nil, e, &m.c.project))
	d.LinkedDatasets = m.batch.Datasets
	m.bytes += d.Size()
	switch {
	case len(m.list) == m.most && !m.dry():
		return fault.InvalidField(m.field, "selects more than %d", dataset.MaxRows)
	case m.bytes > dataset.MaxBatchBytes:
		return fault.Wrap(
			fault.TooLarge,
			errBatchTooLarge,
			"the datapoints of these events take more than %d bytes: choose fewer",
			dataset.MaxBatchBytes,
		)
	}
	m.list = append(m.list, d)
	return nil
}

// leaveOutGone takes out those datapoints behind the first n whose events are gone by now: of an event that is deleted between the search and its
// turn, nothing may be left to be read, or of a session a part.
func (m *pointMaker) leaveOutGone(r Reader, n int) error {
	if len(m.list) == n {
		return nil
	}
	ids := make([]uuid.UUID, len(m.list)-n)
	for i := range ids {
		ids[i] = uuid.MustParse(m.list[n+i].LinkedEvent) // as add wrote it
	}
	set, err := r.EventsByID(m.c.ctx(), m.c.project.ID, ids)
	if err != nil {
		return err
	}
	there := make(map[uuid.UUID]bool, len(ids))
	for i := range set.Events {
		there[set.Events[i].ID] = true
	}
	kept := m.list[:n]
	for i, d := range m.list[n:] {
		if !there[ids[i]] { // or it is a session that has another id by now
			_, err := r.Event(m.c.ctx(), m.c.project.ID, ids[i])
			if fault.IsNotFound(err) {
				m.bytes -= d.Size()
				continue
			}
			if err != nil {
				return err
			}
		}
		kept = append(kept, d)
	}
	m.list = kept
	return nil
}
