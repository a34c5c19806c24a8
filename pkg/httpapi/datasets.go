package httpapi

import (
	"context"
	"net/http"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Datasets is where the datasets of a project are.
type Datasets interface {
	DatasetHistory
	// CreateDataset stores a dataset that is complete and valid, with these datapoints in order, and
	// returns its id. fault.NotFound if one of them is not there.
	CreateDataset(ctx context.Context, projectID int64, d dataset.Dataset, points []string) (id string, err error)
	// CreateDatasetOf stores a dataset that is complete and valid together with new datapoints, which are its rows in order, all or
	// nothing, and returns its id and theirs. fault.Invalid if they are too many.
	CreateDatasetOf(ctx context.Context, projectID int64, d dataset.Dataset, list []dataset.Datapoint) (id string, ids []string, err error)
	// FindDatasets lists the ids of the datasets that match, oldest first, a page of them, and counts
	// all that do.
	FindDatasets(ctx context.Context, projectID int64, q dataset.Query) (ids []string, total int, err error)
	// UpdateDataset changes a dataset and returns the updated one. What changes nothing makes no new
	// version. fault.NotFound if there is no such dataset or one of its datapoints is not there,
	// fault.Invalid if it would break a rule.
	UpdateDataset(ctx context.Context, projectID int64, u dataset.Update) (dataset.Dataset, error)
	// RemoveRow takes a datapoint out of a dataset; the datapoint stays. fault.NotFound if there is no
	// such dataset, or the datapoint is not in it.
	RemoveRow(ctx context.Context, projectID int64, datasetID, datapointID string) error
	// DeleteDataset deletes a dataset with all its versions; its datapoints stay. fault.NotFound if
	// there is none.
	DeleteDataset(ctx context.Context, projectID int64, id string) error
}

// DatasetHistory reads earlier versions of datasets.
type DatasetHistory interface {
	// Dataset returns a dataset as it was in a version; 0 is the current one. fault.NotFound if there
	// is none.
	Dataset(ctx context.Context, projectID int64, id string, version int64) (dataset.Dataset, error)
	// DatapointIDs lists the datapoints that a dataset had in a version, in order.
	DatapointIDs(ctx context.Context, projectID int64, datasetID string, version int64) ([]string, error)
	// CountDatapoints counts them.
	CountDatapoints(ctx context.Context, projectID int64, datasetID string, version int64) (int, error)
	// DiffDataset returns how the datapoints of a dataset differ between two of its versions: a page of them, and how many there are in
	// all. LinkedDatasets are left out; of those that are deleted by now only the id is left, and Deleted is set.
	DiffDataset(ctx context.Context, projectID int64, id string, q dataset.DiffQuery) (dataset.Diff, error)
	// DatapointsIn reads the datapoints that a dataset had in a version as they were then, in order:
	// at most limit of them behind position after, which is 0 at first. next is where to go on, 0 at
	// the end. Each has its Position. Their LinkedDatasets are those of now. Of those that are deleted by now only the id is left,
	// and Deleted is set.
	DatapointsIn(
		ctx context.Context,
		projectID int64,
		datasetID string,
		version, after int64,
		limit int,
	) (list []dataset.Datapoint, next int64, err error)
	// DatasetVersions lists the versions of a dataset, newest first, a page of them, and counts all. Of
	// each it returns Version and since when it was current (Updated). fault.NotFound if there is no
	// such dataset.
	DatasetVersions(ctx context.Context, projectID int64, id string, limit, page int) ([]dataset.Dataset, int, error)
}

var datasetOperations = []apiOperation{
	{"listDatasets", http.MethodGet, []string{"/datasets"}, project.ScopeRead, (*Server).listDatasets},
	{"createDataset", http.MethodPost, []string{"/datasets"}, project.ScopeFull, (*Server).createDataset},
	{"updateDataset", http.MethodPut, []string{"/datasets"}, project.ScopeFull, (*Server).updateDataset},
	{"deleteDataset", http.MethodDelete, []string{"/datasets"}, project.ScopeFull, (*Server).deleteDataset},
	{"getDataset", http.MethodGet, []string{"/datasets/{id}"}, project.ScopeRead, (*Server).getDataset},
	{"listDatasetVersions", http.MethodGet, []string{"/datasets/{id}/versions"}, project.ScopeRead, (*Server).listDatasetVersions},
	{"updateDatasetById", http.MethodPut, []string{"/datasets/{id}"}, project.ScopeFull, (*Server).updateDataset},
	{"deleteDatasetById", http.MethodDelete, []string{"/datasets/{id}"}, project.ScopeFull, (*Server).deleteDataset},
	{"addDatapoints", http.MethodPost, []string{"/datasets/{id}/datapoints"}, project.ScopeFull, (*Server).addDatapoints},
	{"removeDatapoint", http.MethodDelete, []string{"/datasets/{id}/datapoints/{datapoint}", "/datasets/{id}/{datapoint}"},
		project.ScopeFull, (*Server).removeDatapoint},
	{"listDatasetRows", http.MethodGet, []string{"/datasets/{id}/rows"}, project.ScopeRead, (*Server).listDatasetRows},
	{"getDatasetSplits", http.MethodGet, []string{"/datasets/{id}/splits"}, project.ScopeRead, (*Server).getDatasetSplits},
	{"getDatasetDiff", http.MethodGet, []string{"/datasets/{id}/diff"}, project.ScopeRead, (*Server).getDatasetDiff},
	{"exportDataset", http.MethodGet, []string{"/datasets/{id}/export"}, project.ScopeRead, (*Server).exportDataset},
	{"importDataset", http.MethodPost, []string{"/datasets/import"}, project.ScopeFull, (*Server).importDataset},
	{"createDatasetFromSearch", http.MethodPost, []string{"/datasets/from_search"}, project.ScopeFull, (*Server).createDatasetFromSearch},
}

// listDatasets answers under both names of the list, since each kind of client knows one.
func (s *Server) listDatasets(c *call) error {
	var params struct {
		ID                string `query:"dataset_id"`
		Name              string `query:"name"`
		Type              string `query:"type"`
		IncludeDatapoints bool   `query:"include_datapoints"`
		Version           int64  `query:"version"` // 0: the current one
		IDs               *bool  `query:"ids"`     // nil is true
	}
	if err := c.query(&params); err != nil {
		return err
	}
	if params.Version != 0 && params.ID == "" {
		return fault.InvalidField("version", "needs a dataset_id")
	}
	limit, page, err := c.page()
	if err != nil {
		return err
	}
	ids, total, err := s.Store.FindDatasets(c.ctx(), c.project.ID,
		dataset.Query{ID: params.ID, Name: params.Name, Type: params.Type, Limit: limit, Page: page})
	if err != nil {
		return err
	}
	if params.Version != 0 && len(ids) == 1 { // that there is no such version is an error, no empty list
		if _, err := s.Store.Dataset(c.ctx(), c.project.ID, ids[0], params.Version); err != nil {
			return err
		}
	}
	c.total(total)
	keys := []string{"datasets", "testcases"}
	if c.dialect == wire.V0 {
		keys = []string{"testcases", "datasets"}
	}
	withIDs := params.IDs == nil || *params.IDs
	if !withIDs {
		keys = []string{"datasets"} // whoever knows the parameter knows where to look
	}
	return c.stream(func(out *wire.Stream) error {
		for i, key := range keys {
			out.Text([]string{"{", ","}[i] + `"` + key + `":[`)
			first := true
			for _, id := range ids {
				d, err := s.Store.Dataset(c.ctx(), c.project.ID, id, params.Version)
				if fault.IsNotFound(err) {
					continue // deleted meanwhile
				}
				if err != nil {
					return err
				}
				if !first {
					out.Text(",")
				}
				first = false
				if err := s.writeDataset(c, out, &d, params.IncludeDatapoints, withIDs); err != nil {
					return err
				}
			}
			out.Text("]")
		}
		out.Text("}")
		return nil
	})
}

// includeGroup is how many datapoints of a dataset stand in memory at once.
const includeGroup = 200

// writeDataset writes a dataset in the version it has, with the contents of its datapoints if they
// are asked for, and without their ids if these are not.
func (s *Server) writeDataset(c *call, out *wire.Stream, d *dataset.Dataset, include, withIDs bool) (err error) {
	var ids []string
	n := 0
	if withIDs {
		ids, err = s.Store.DatapointIDs(c.ctx(), c.project.ID, d.ID, d.Version)
		n = len(ids)
	} else {
		n, err = s.Store.CountDatapoints(c.ctx(), c.project.ID, d.ID, d.Version)
	}
	if err != nil {
		return err
	}
	if err := out.Append(func(dst []byte) ([]byte, error) {
		return wire.BeginDataset(dst, d, n, ids, &c.project, c.dialect), nil
	}); err != nil {
		return err
	}
	if include {
		out.Text(`,"included_datapoints":[`)
		comma := ""
		for after := int64(0); ; {
			list, next, err := s.Store.DatapointsIn(c.ctx(), c.project.ID, d.ID, d.Version, after, includeGroup)
			if err != nil {
				return err
			}
			for i := range list {
				out.Text(comma)
				comma = ","
				if err := out.Append(func(dst []byte) ([]byte, error) {
					return wire.AppendDatapoint(dst, &list[i], &c.project, c.dialect), nil
				}); err != nil {
					return err
				}
			}
			if after = next; next == 0 {
				break
			}
		}
		out.Text("]")
	}
	out.Text("}")
	return nil
}

// oneDataset answers with a dataset under a key.
func (s *Server) oneDataset(c *call, key string, d *dataset.Dataset, include, withIDs bool) error {
	return c.stream(func(out *wire.Stream) error {
		out.Text(`{"` + key + `":`)
		err := s.writeDataset(c, out, d, include, withIDs)
		out.Text("}")
		return err
	})
}

func (s *Server) getDataset(c *call) error {
	var params struct {
		IncludeDatapoints bool  `query:"include_datapoints"`
		Version           int64 `query:"version"` // 0: the current one
		IDs               *bool `query:"ids"`     // nil is true
	}
	if err := c.query(&params); err != nil {
		return err
	}
	d, err := s.Store.Dataset(c.ctx(), c.project.ID, c.text("id"), params.Version)
	if err != nil {
		return err
	}
	return s.oneDataset(c, "dataset", &d, params.IncludeDatapoints, params.IDs == nil || *params.IDs)
}

func (s *Server) listDatasetVersions(c *call) error {
	limit, page, err := c.page()
	if err != nil {
		return err
	}
	list, total, err := s.Store.DatasetVersions(c.ctx(), c.project.ID, c.text("id"), limit, page)
	if err != nil {
		return err
	}
	return c.versions(len(list), total, func(i int) (int64, int64) { return list[i].Version, list[i].Updated })
}

func (s *Server) createDataset(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	d, points, err := wire.DecodeDataset(body)
	if err != nil {
		return err
	}
	id, err := s.Store.CreateDataset(c.ctx(), c.project.ID, d, points)
	if err != nil {
		return err
	}
	return c.json(inserted(func(b *rawjson.Builder) { b.String("insertedId", id) }))
}

// updateDataset takes the id from the path, or else from the body.
func (s *Server) updateDataset(c *call) error {
	var params struct {
		IDs *bool `query:"ids"` // nil is true
	}
	if err := c.query(&params); err != nil {
		return err
	}
	body, err := c.body()
	if err != nil {
		return err
	}
	u, err := wire.DecodeDatasetUpdate(body)
	if err != nil {
		return err
	}
	if id := c.text("id"); id != "" {
		u.ID = id
	}
	if u.ID == "" {
		return fault.InvalidField("dataset_id", "is required")
	}
	d, err := s.Store.UpdateDataset(c.ctx(), c.project.ID, u)
	if err != nil {
		return err
	}
	return s.oneDataset(c, "result", &d, false, params.IDs == nil || *params.IDs)
}

// deleteDataset takes the id from the path, or else from the query string.
func (s *Server) deleteDataset(c *call) (err error) {
	id := c.text("id")
	if id == "" {
		if id, err = c.paramID("dataset_id"); err != nil {
			return err
		}
	}
	if err := s.Store.DeleteDataset(c.ctx(), c.project.ID, id); err != nil {
		return err
	}
	var b, result rawjson.Builder
	result.String("id", id)
	b.Raw("result", result.Bytes())
	return c.json(&b)
}

// addDatapoints makes datapoints of rows and adds them to a dataset.
func (s *Server) addDatapoints(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	list, err := wire.DecodeRows(body)
	if err != nil {
		return err
	}
	id := c.text("id")
	if dataset.External(id) {
		return fault.New(fault.NotFound, "no dataset %.60q: its rows are with a client", id)
	}
	for i := range list {
		list[i].LinkedDatasets = []string{id}
	}
	ids, err := s.Store.CreateDatapoints(c.ctx(), c.project.ID, list)
	if err != nil {
		return err
	}
	return c.insertedAll("datapoint_ids", ids)
}

func (s *Server) removeDatapoint(c *call) error {
	if err := s.Store.RemoveRow(c.ctx(), c.project.ID, c.text("id"), c.text("datapoint")); err != nil {
		return err
	}
	var b rawjson.Builder
	b.Bool("dereferenced", true)
	b.String("message", "the datapoint was removed from the dataset")
	return c.json(&b)
}
