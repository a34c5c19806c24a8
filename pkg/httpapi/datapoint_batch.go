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
	making := pointMaker{c: c, batch: batch}
	if batch.All {
		err = making.all(s.Store)
	} else {
		err = making.each(s.Store)
	}
	if err != nil {
		return err
	}
	ids := []string{}
	if len(making.list) > 0 {
		if ids, err = s.Store.CreateDatapoints(c.ctx(), c.project.ID, making.list); err != nil {
			return err
		}
	}
	return c.insertedAll("insertedIds", ids)
}

// pointMaker collects the datapoints of a batch, within the bounds of one request.
type pointMaker struct {
	c     *call
	batch *wire.DatapointBatch
	list  []dataset.Datapoint
	bytes int
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

// all takes the events that a search finds, newest first, but for those that are excepted.
func (m *pointMaker) all(r Reader) error {
	q := m.batch.Search
	q.Filters = query.InProject(q.Filters, m.c.project)
	q.Limit = query.MaxLimit
	taken := map[uuid.UUID]bool{}
	for q.Page = 1; ; q.Page++ {
		set, err := r.Search(m.c.ctx(), m.c.project.ID, q)
		if err != nil {
			return err
		}
		if most := dataset.MaxRows + len(m.batch.Except); set.Total > most {
			return fault.InvalidField(
				"selectAll",
				"selects %d events, and a request may make at most %d datapoints: narrow filters or dateRange",
				set.Total,
				dataset.MaxRows,
			)
		}
		for i := range set.Events {
			// New events push those of a later page back: none is taken twice.
			id := set.Events[i].ID
			if m.batch.Except[id] || taken[id] {
				continue
			}
			taken[id] = true
			e, err := set.Load(m.c.ctx(), i)
			if err != nil {
				return err
			}
			if err := m.add(&e); err != nil {
				return err
			}
		}
		if len(set.Events) < q.Limit {
			return nil
		}
	}
}

var errBatchTooLarge = errors.New("batch of datapoints")

func (m *pointMaker) add(e *event.Event) error {
	d := m.batch.Mapping.FromEvent(e.ID.String(), wire.AppendEvent(nil, e, &m.c.project))
	d.LinkedDatasets = m.batch.Datasets
	m.bytes += d.Size()
	switch {
	case len(m.list) == dataset.MaxRows:
		return fault.InvalidField("selectAll", "selects more than %d events", dataset.MaxRows)
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
