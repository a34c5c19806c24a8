package resource

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// datasets is the table of datasets. What a dataset has, table dataset_row says (dataset_row.go); the text has the rest. Each change
// of either makes a new version, and every version can be read as it was: the text from document_version, the rows by the versions
// that they hold in, the datapoints in the versions that the rows name.
//
// Datapoints are rows of their own and may be in many datasets. To change one makes a new version of every dataset that has it
// (datapoint.go). Whoever changes rows holds the dataset before the datapoint.
var datasets = Documents{Table: "dataset", Noun: "dataset", Columns: []string{"name", "type"}}

// CreateDataset stores a dataset that is complete and valid, with these datapoints in order, and
// returns its id.
func (s *Store) CreateDataset(ctx context.Context, projectID int64, set dataset.Dataset, points []string) (id string, err error) {
	now := s.options.Now()
	asked := points
	points = dataset.Unique(points)
	d := Document{ID: NewDocumentID(now), Version: 1, Created: now.UnixMilli(), Doc: set.Doc()}
	err = s.changeDatasets(ctx, len(d.Doc)+sizeOfIDs(points), "create dataset", func(ctx context.Context, c *datasetChange) error {
		// The versions that the datapoints have now: the rows name them, so that this version of the dataset shows them so for good.
		revs, err := s.holdPoints(ctx, c, projectID, points, nil)
		if err != nil {
			return inList(err, "datapoints", asked)
		}
		return c.publish(ctx, projectID, []rowChange{{set: d, add: points, revs: revs}}, func(ctx context.Context, tx *events.Commit) error {
			return datasets.Insert(ctx, tx, projectID, d, set.Name, set.Type)
		})
	})
	return d.ID, err
}

// FindDatasets lists the ids of the datasets that match, oldest first, a page of them, and counts
// all that do.
func (s *Store) FindDatasets(ctx context.Context, projectID int64, q dataset.Query) (ids []string, total int, err error) {
	cond := "1 = 1"
	var args []any
	for _, c := range []struct{ column, value string }{{"id", q.ID}, {"name", q.Name}, {"type", q.Type}} {
		if c.value != "" {
			args = append(args, c.value)
			cond += fmt.Sprintf(" AND %s = $%d", c.column, len(args)+1)
		}
	}
	ids, total, err = datasets.Find(ctx, s.db, projectID, cond, args, q.Limit, q.Page)
	return ids, total, sqldb.WrapError(s.db, err, "find datasets")
}

// Dataset returns a dataset as it was in a version; 0 is the current one.
func (s *Store) Dataset(ctx context.Context, projectID int64, id string, version int64) (dataset.Dataset, error) {
	d, err := datasets.getVersion(ctx, s.db, projectID, id, version)
	return datasetOf(d), sqldb.WrapError(s.db, err, "read dataset")
}

// DatasetVersions lists the versions of a dataset, newest first, a page of them, and counts all.
func (s *Store) DatasetVersions(ctx context.Context, projectID int64, id string, limit, page int) ([]dataset.Dataset, int, error) {
	docs, total, err := datasets.versions(ctx, s.db, projectID, id, limit, page)
	list := make([]dataset.Dataset, len(docs))
	for i, d := range docs {
		list[i] = dataset.Dataset{ID: id, Version: d.Version, Created: d.Created, Updated: d.since()}
	}
	return list, total, sqldb.WrapError(s.db, err, "read dataset")
}

// UpdateDataset changes a dataset and returns the updated one. What changes neither the text nor a row makes no version. The rows
// are written with the number of the version that the last transaction makes, whether or not they are written by it.
func (s *Store) UpdateDataset(ctx context.Context, projectID int64, u dataset.Update) (set dataset.Dataset, err error) {
	size := len(u.Metadata) + len(u.LinkedEvals) + sizeOfIDs(u.Datapoints) + sizeOfIDs(u.Add)
	err = s.changeDatasets(ctx, size, "update dataset", func(ctx context.Context, c *datasetChange) error {
		d, err := datasets.getForUpdate(ctx, c, projectID, u.ID)
		if err != nil {
			return err
		}
		set = datasetOf(d)
		set.Apply(&u)
		if err := set.Validate(); err != nil {
			return err
		}
		doc := set.Doc()
		same := bytes.Equal(doc, d.Doc)
		var change rowChange
		var now []string
		if u.Add != nil || u.Remove != nil {
			if now, err = openPoints(ctx, c, projectID, d.ID); err != nil {
				return err
			}
		}
		if points := u.Rows(now); points != nil {
			// Only rows that must move are closed or added: to add some at the end writes just these.
			if change, err = s.planRows(ctx, c, projectID, d.ID, dataset.Unique(points)); err != nil {
				if u.Add != nil {
					return inList(err, "add_datapoints", u.Add)
				}
				return inList(err, "datapoints", u.Datapoints)
			}
		}
		// A request that is sent again makes no version.
		if same && change.rows() == 0 {
			return nil
		}
		change.set = d
		change.set.Version++
		return c.publish(ctx, projectID, []rowChange{change}, func(ctx context.Context, tx *events.Commit) error {
			next, err := s.nextVersion(ctx, tx, projectID, d, doc)
			set.Version, set.Updated = next.Version, next.Updated
			return err
		})
	})
	return set, err
}

// nextVersion makes the next version of a dataset that is held, with a new text; nil is the same. It writes no rows: they are
// written by the caller, with the version that it returns.
func (s *Store) nextVersion(ctx context.Context, tx *events.Commit, project int64, d Document, doc []byte) (Document, error) {
	same := doc == nil || bytes.Equal(doc, d.Doc)
	if err := datasets.archiveVersion(ctx, tx, project, d, same); err != nil {
		return d, err
	}
	if !same {
		d.Doc = doc
	}
	set := dataset.FromDoc(d.Doc)
	err := datasets.Update(ctx, tx, project, &d, s.options.Now(), set.Name, set.Type)
	return d, err
}

// RemoveRow takes a datapoint out of a dataset; the datapoint stays.
func (s *Store) RemoveRow(ctx context.Context, projectID int64, datasetID, datapointID string) error {
	return s.changeLinks(ctx, 0, "remove datapoint", func(ctx context.Context, tx *events.Commit) error {
		d, err := datasets.getForUpdate(ctx, tx, projectID, datasetID)
		if err != nil {
			return err
		}
		var pos int64
		found, err := sqldb.One(ctx, tx, `SELECT pos
			FROM dataset_row
			WHERE project_id = $1 AND dataset_id = $2 AND datapoint_id = $3 AND to_version IS NULL`,
			[]any{projectID, datasetID, datapointID}, &pos)
		if err != nil {
			return err
		}
		if !found {
			return fault.New(fault.NotFound, "no datapoint %.60q in dataset %s", datapointID, datasetID)
		}
		if d, err = s.nextVersion(ctx, tx, projectID, d, nil); err != nil {
			return err
		}
		return closeRows(ctx, tx, projectID, &d, []int64{pos})
	})
}

// DeleteDataset deletes a dataset with all its versions; its datapoints stay. On SQLite it waits until no other change of datasets
// is under way, which may have staged rows for this one.
func (s *Store) DeleteDataset(ctx context.Context, projectID int64, id string) error {
	return s.serialize(ctx, func() error { return s.deleteDocument(ctx, datasets, projectID, id) })
}

// sweepDataset deletes a slice of the rows of a dataset that is deleted, with what only they
// still needed of old datapoints, and then its old versions. A datapoint's old version is kept as long as any row of any dataset
// names it (keepPoint); its current one stays whatever becomes of the datasets.
func sweepDataset(ctx context.Context, tx *events.Commit, project int64, id string) (more bool, err error) {
	var points []string
	var pos, from int64 // of the last row of the slice
	err = sqldb.Each(ctx, tx, `SELECT pos, from_version, datapoint_id FROM dataset_row WHERE project_id = $1 AND dataset_id = $2
		ORDER BY pos, from_version LIMIT $3`, []any{project, id, events.DeleteDocsSlice}, func(scan func(...any) error) error {
		var point string
		err := scan(&pos, &from, &point)
		points = append(points, point)
		return err
	})
	if err != nil {
		return false, err
	}
	if len(points) == 0 {
		return datasets.deleteVersions(ctx, tx, project, id)
	}
	if _, err := tx.Exec(ctx, `DELETE FROM dataset_row
		WHERE project_id = $1 AND dataset_id = $2 AND (pos, from_version) <= ($3, $4)`,
		project, id, pos, from); err != nil {
		return false, err
	}
	for len(points) < events.DeleteDocsSlice { // always the same statement, since SQLite keeps it
		points = append(points, points[0])
	}
	cond, args := tx.AnyText("id", 2, points)
	_, err = tx.Exec(ctx, `DELETE FROM document_version
		WHERE project_id = $1 AND kind = 'datapoint' AND `+cond+` AND NOT EXISTS (
			SELECT 1
			FROM dataset_row r
			WHERE r.project_id = document_version.project_id
				AND r.datapoint_id = document_version.id
				AND r.datapoint_version = document_version.version)`, append([]any{project}, args...)...)
	return true, err
}

func datasetOf(d Document) dataset.Dataset {
	set := dataset.FromDoc(d.Doc)
	set.ID, set.Version, set.Created, set.Updated = d.ID, d.Version, d.Created, d.Updated
	return set
}

func sizeOfIDs(ids []string) int { return 64 * len(ids) }

// holdDatasets holds the datasets with these ids, always in the same order, so that writers do
// not wait for one another in a circle. Those that are not there are left out.
func (s *Store) holdDatasets(ctx context.Context, c sqldb.Conn, project int64, ids []string) (map[string]Document, error) {
	held := make(map[string]Document, len(ids))
	for _, id := range slices.Sorted(slices.Values(ids)) {
		if _, done := held[id]; done {
			continue
		}
		d, err := datasets.getForUpdate(ctx, c, project, id)
		if fault.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		held[id] = d
	}
	return held, nil
}
