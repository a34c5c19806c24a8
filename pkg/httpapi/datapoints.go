package httpapi

import (
	"context"
	"net/http"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Datapoints is where the datapoints of a project are.
type Datapoints interface {
	// CreateDatapoints stores datapoints that are complete and valid, all or none, adds each to its
	// LinkedDatasets, and returns their ids in the same order. fault.NotFound if a dataset is not there,
	// fault.Invalid if one would have too many.
	CreateDatapoints(ctx context.Context, projectID int64, list []dataset.Datapoint) (ids []string, err error)
	// FindDatapoints lists the ids of the datapoints that match, oldest first, a page of them, and
	// counts all that do.
	FindDatapoints(ctx context.Context, projectID int64, q dataset.PointQuery) (ids []string, total int, err error)
	// LoadDatapoints reads datapoints in the order of ids. Those that are gone are left out.
	LoadDatapoints(ctx context.Context, projectID int64, ids []string) ([]dataset.Datapoint, error)
	// UpdateDatapoint changes a datapoint; changed is false if it was so before. Each dataset that
	// has it, had it or has it now gets a new version. fault.NotFound if it, or a dataset it shall be
	// linked with, is not there; fault.Invalid if it would break a rule.
	UpdateDatapoint(ctx context.Context, projectID int64, u dataset.PointUpdate) (changed bool, err error)
	// DeleteDatapoint deletes a datapoint with all its versions and takes it out of its datasets. Their
	// old versions still tell that it was there, by its id. fault.NotFound if there is none.
	DeleteDatapoint(ctx context.Context, projectID int64, id string) error
}

// datapointPages lets a whole dataset of usual size be read at once, as clients do that know no
// pages.
var datapointPages = query.PageRule{Default: dataset.MaxRows, Max: dataset.MaxRows}

// maxQueryIDs bounds the ids in a query string, which must fit into the headers of a request.
const maxQueryIDs = 2000

var datapointOperations = []apiOperation{
	{"listDatapoints", http.MethodGet, []string{"/datapoints"}, project.ScopeRead, (*Server).listDatapoints},
	{"createDatapoint", http.MethodPost, []string{"/datapoints"}, project.ScopeFull, (*Server).createDatapoint},
	{"createDatapointBatch", http.MethodPost, []string{"/datapoints/batch"}, project.ScopeFull, (*Server).createDatapointBatch},
	{"getDatapoint", http.MethodGet, []string{"/datapoints/{id}"}, project.ScopeRead, (*Server).getDatapoint},
	{"updateDatapoint", http.MethodPut, []string{"/datapoints/{id}"}, project.ScopeFull, (*Server).updateDatapoint},
	{"deleteDatapoint", http.MethodDelete, []string{"/datapoints/{id}"}, project.ScopeFull, (*Server).deleteDatapoint},
}

func (s *Server) listDatapoints(c *call) error {
	params, err := c.params()
	if err != nil {
		return err
	}
	var in struct {
		IDs     []string `query:"datapoint_ids"`
		Dataset string   `query:"dataset_name"`
	}
	if err := params.Read(&in); err != nil {
		return err
	}
	if len(in.IDs) > maxQueryIDs {
		return fault.InvalidField("datapoint_ids", "must be at most %d ids", maxQueryIDs)
	}
	q := dataset.PointQuery{IDs: in.IDs, Dataset: in.Dataset}
	if q.Limit, q.Page, err = params.Page(datapointPages); err != nil {
		return err
	}
	ids, total, err := s.Store.FindDatapoints(c.ctx(), c.project.ID, q)
	if err != nil {
		return err
	}
	c.total(total)
	return s.writeDatapoints(c, "datapoints", ids)
}

func (s *Server) writeDatapoints(c *call, key string, ids []string) error {
	return list(c, key, ids,
		func(ids []string) ([]dataset.Datapoint, error) {
			return s.Store.LoadDatapoints(c.ctx(), c.project.ID, ids)
		},
		func(dst []byte, d *dataset.Datapoint) []byte {
			return wire.AppendDatapoint(dst, d, &c.project, c.dialect)
		})
}

// getDatapoint answers with an array of the one, as clients expect it.
func (s *Server) getDatapoint(c *call) error {
	id := c.text("id")
	found, err := s.Store.LoadDatapoints(c.ctx(), c.project.ID, []string{id})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fault.New(fault.NotFound, "no datapoint %.60q", id)
	}
	return list(c, "datapoint", []string{id},
		func([]string) ([]dataset.Datapoint, error) { return found, nil },
		func(dst []byte, d *dataset.Datapoint) []byte {
			return wire.AppendDatapoint(dst, d, &c.project, c.dialect)
		})
}

// createDatapoint answers under both names of the id, since each kind of client knows one.
func (s *Server) createDatapoint(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	d, err := wire.DecodeDatapoint(body)
	if err != nil {
		return err
	}
	ids, err := s.Store.CreateDatapoints(c.ctx(), c.project.ID, []dataset.Datapoint{d})
	if err != nil {
		return missing("linked_datasets", err)
	}
	return c.json(inserted(func(b *rawjson.Builder) {
		b.String("insertedId", ids[0])
		b.Raw("insertedIds", rawjson.AppendStrings(nil, ids))
	}))
}

func (s *Server) updateDatapoint(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	u, err := wire.DecodeDatapointUpdate(body, c.text("id"))
	if err != nil {
		return err
	}
	changed, err := s.Store.UpdateDatapoint(c.ctx(), c.project.ID, u)
	if err != nil {
		return err
	}
	var b, result rawjson.Builder
	b.Bool("updated", true)
	count(&result, "modifiedCount", changed)
	b.Raw("result", result.Bytes())
	return c.json(&b)
}

func (s *Server) deleteDatapoint(c *call) error {
	if err := s.Store.DeleteDatapoint(c.ctx(), c.project.ID, c.text("id")); err != nil {
		return err
	}
	var b rawjson.Builder
	b.Bool("deleted", true)
	return c.json(&b)
}

// insertedAll answers the creation of many.
func (c *call) insertedAll(key string, ids []string) error {
	var b rawjson.Builder
	b.Bool("inserted", true)
	b.Raw(key, rawjson.AppendStrings(nil, ids))
	return c.json(&b)
}
