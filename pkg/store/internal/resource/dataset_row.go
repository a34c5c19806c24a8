package resource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// The rows of a dataset record which datapoints it has, in which order, in which version of theirs,
// and from which version of the dataset on up to which. For whoever writes them, those that are open
// (to_version is NULL) hold in the current version; whoever reads goes by its number, since a
// change may be under way (dataset_change.go). Rows are never changed but to be closed, so that
// every version can be read; whoever writes them holds the dataset.

// rowChange is what turns the open rows of a dataset into another list of datapoints.
type rowChange struct {
	set  Document // the dataset as it will be; its version is what the rows are written with
	gone []int64  // positions of the rows to close
	last int64    // the last position that is taken
	add  []string // what follows after it
	revs map[string]int64
}

func (c *rowChange) rows() int { return len(c.gone) + len(c.add) }

// planRows finds out how to make points, in which none comes twice, the datapoints of a dataset.
// Rows that need not move stay open. fault.NotFound if a new one is not there, fault.Invalid if
// they are too many.
//
// It goes through the open rows once and keeps those that stand, in their order, for the next datapoint of the new list; what the
// list has after the last of them is opened behind all rows. To take datapoints out, or to add some at the end, writes
// just their rows. To put one in at the beginning writes all of them anew: positions are not renumbered.
func (s *Store) planRows(ctx context.Context, from sqldb.Conn, project int64, id string, points []string) (c rowChange, err error) {
	open := map[string]int64{}
	kept := 0 // rows that are where they should be
	err = sqldb.Each(ctx, from, `SELECT pos, datapoint_id, datapoint_version
		FROM dataset_row
		WHERE project_id = $1 AND dataset_id = $2 AND to_version IS NULL
		ORDER BY pos`,
		[]any{project, id}, func(scan func(...any) error) error {
			var pos, rev int64
			var point string
			if err := scan(&pos, &point, &rev); err != nil {
				return err
			}
			c.last, open[point] = pos, rev
			// One pass in the order of positions, with one list to compare: 10,000 rows and 10,000 datapoints cost 20,000 steps.
			if kept < len(points) && points[kept] == point {
				kept++
			} else {
				c.gone = append(c.gone, pos)
			}
			return nil
		})
	if err != nil {
		return c, err
	}
	c.add = points[kept:]
	c.revs, err = s.holdPoints(ctx, from, project, points, open)
	return c, err
}

// missingPoint is the error that a datapoint is not there.
type missingPoint struct {
	id  string
	err error
}

func (m *missingPoint) Error() string { return m.err.Error() }
func (m *missingPoint) Unwrap() error { return m.err }

// inList names the place in a request's list of the datapoint that is not there.
func inList(err error, field string, ids []string) error {
	var m *missingPoint
	if !errors.As(err, &m) {
		return err
	}
	return fault.In(fmt.Sprintf("%s[%d]", field, slices.Index(ids, m.id)), m.err)
}

var errTooManyPoints = fault.InvalidField("datapoints", "a dataset has at most %d datapoints", dataset.MaxDatapoints)

// holdPoints returns the versions of datapoints: of those in known as given there, of the others as they
// are, and keeps other writers from these. fault.NotFound if one of them is not there.
func (s *Store) holdPoints(
	ctx context.Context,
	c sqldb.Conn,
	project int64,
	ids []string,
	known map[string]int64,
) (map[string]int64, error) {
	if len(ids) > dataset.MaxDatapoints {
		return nil, errTooManyPoints
	}
	revs := make(map[string]int64, len(ids))
	var ask []string
	for _, id := range ids {
		if rev, ok := known[id]; ok {
			revs[id] = rev
		} else {
			ask = append(ask, id)
		}
	}
	slices.Sort(ask) // always in the same order, so that writers do not wait in a circle
	for group := range slices.Chunk(ask, sqldb.IDsPerQuery) {
		cond, args := c.AnyText("id", 2, group)
		err := sqldb.Each(ctx, c, `SELECT id, version FROM datapoint WHERE project_id = $1 AND `+cond+` ORDER BY id`+c.ForUpdate(""),
			append([]any{project}, args...), func(scan func(...any) error) error {
				var id string
				var rev int64
				err := scan(&id, &rev)
				revs[id] = rev
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	for _, id := range ids {
		if _, there := revs[id]; !there {
			return nil, &missingPoint{id, datapoints.Missing(id)}
		}
	}
	return revs, nil
}

// addRows opens rows behind position last, from the dataset's version on. All stand in one JSON
// text, since binding each value costs SQLite as much as storing it, and ingestion waits meanwhile. A position may have been
// another datapoint's in an earlier version: the key of a row has the version from which it holds, too.
func (s *Store) addRows(ctx context.Context, tx *events.Commit, project int64, d *Document, last int64, points []string,
	revs map[string]int64) error {
	if len(points) == 0 {
		return nil
	}
	rows := []byte{'['}
	for i, p := range points {
		if i > 0 {
			rows = append(rows, ',')
		}
		rows = append(rawjson.AppendString(append(rows, '['), p), ',')
		rows = append(strconv.AppendInt(rows, revs[p], 10), ']')
	}
	_, err := tx.Exec(ctx, `INSERT INTO dataset_row(project_id, dataset_id, pos, from_version, datapoint_id, datapoint_version)
		SELECT $1, $2, $3 + n, $4, name, number
		FROM `+
		s.db.JSONPairs("$5"), project, d.ID, last, d.Version, string(append(rows, ']')))
	return err
}

// closeRows closes the open rows at these positions with the dataset's version: it is the first in which they are no longer.
// InsertSizes end with 1, so that all are closed by statements of few different lengths.
func closeRows(ctx context.Context, tx *events.Commit, project int64, d *Document, positions []int64) error {
	for _, size := range events.InsertSizes {
		for ; len(positions) >= size; positions = positions[size:] {
			cond, args := tx.AnyNumber("pos", 4, positions[:size])
			if _, err := tx.Exec(ctx, `UPDATE dataset_row
				SET to_version = $3
				WHERE project_id = $1 AND dataset_id = $2 AND to_version IS NULL AND `+cond,
				append([]any{project, d.ID, d.Version}, args...)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// lastRow returns the highest position of a dataset's open rows, and how many there are.
func lastRow(ctx context.Context, c sqldb.Conn, project int64, id string) (last, n int64, err error) {
	_, err = sqldb.One(ctx, c, `SELECT coalesce(max(pos), 0), count(*)
		FROM dataset_row
		WHERE project_id = $1 AND dataset_id = $2 AND to_version IS NULL`,
		[]any{project, id}, &last, &n)
	return last, n, err
}

// openPoints lists the datapoints of a dataset that is held, in order.
func openPoints(ctx context.Context, c sqldb.Conn, project int64, id string) (ids []string, err error) {
	ids = []string{} // not nil, since it is also a list if it is empty
	err = sqldb.Each(ctx, c, `SELECT datapoint_id
		FROM dataset_row
		WHERE project_id = $1 AND dataset_id = $2 AND to_version IS NULL
		ORDER BY pos`,
		[]any{project, id}, func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			ids = append(ids, id)
			return err
		})
	return ids, err
}

// rowsNow is the condition on dataset_row r that a row holds in the current version of dataset s.
const rowsNow = `r.from_version <= s.version AND (r.to_version IS NULL OR r.to_version > s.version)`

// rowsIn is the condition on dataset_row r that a row holds in version $3 of dataset $2 of project $1.
const rowsIn = `r.project_id = $1 AND r.dataset_id = $2 AND r.from_version <= $3 AND (r.to_version IS NULL OR r.to_version > $3)`

// DatapointIDs lists the datapoints that a dataset had in a version, in order.
func (s *Store) DatapointIDs(ctx context.Context, projectID int64, datasetID string, version int64) ([]string, error) {
	ctx, end, err := s.events.HeavyRead(ctx, projectID, 1)
	if err != nil {
		return nil, err
	}
	defer end()
	ids := []string{}
	err = sqldb.Each(ctx, s.db, `SELECT r.datapoint_id FROM dataset_row r WHERE `+rowsIn+` ORDER BY r.pos`,
		[]any{projectID, datasetID, version}, func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			ids = append(ids, id)
			return err
		})
	return ids, sqldb.WrapError(s.db, err, "read dataset")
}

// DatapointsIn reads the datapoints that a dataset had in a version as they were then, in order: at
// most limit of them behind position after, which is 0 at first. next is where to go on, 0 at the
// end. Pages of one version fit together however the dataset changes meanwhile, since its rows stay. A datapoint stands in its own
// table if it has not changed since, else in document_version, and in neither if it is deleted.
func (s *Store) DatapointsIn(ctx context.Context, projectID int64, datasetID string, version, after int64, limit int) (
	list []dataset.Datapoint, next int64, err error) {
	var docs []Document
	var places []int64
	err = sqldb.Each(ctx, s.db, `
		SELECT
			r.pos,
			r.datapoint_id,
			r.datapoint_version,
			coalesce(d.created_ms, v.created_ms),
			coalesce(d.updated_ms, v.updated_ms),
			coalesce(d.doc, v.doc)
		FROM dataset_row r
		LEFT JOIN datapoint d ON d.project_id = r.project_id AND d.id = r.datapoint_id AND d.version = r.datapoint_version
		LEFT JOIN document_version v ON v.project_id = r.project_id AND v.kind = 'datapoint'
			AND v.id = r.datapoint_id AND v.version = r.datapoint_version
		WHERE `+rowsIn+` AND r.pos > $4 ORDER BY r.pos LIMIT $5`,
		[]any{projectID, datasetID, version, after, limit}, func(scan func(...any) error) error {
			var d Document
			var created, updated *int64
			var doc *string
			if err := scan(&next, &d.ID, &d.Version, &created, &updated, &doc); err != nil {
				return err
			}
			if doc != nil { // else it is deleted
				d.Created, d.Updated, d.Doc = *created, *updated, []byte(*doc)
			}
			docs, places = append(docs, d), append(places, next)
			return nil
		})
	if err == nil {
		list, err = s.pointsOf(ctx, projectID, docs)
	}
	for i := range list {
		if docs[i].Doc == nil {
			list[i] = deletedPoint(docs[i].ID)
		}
		list[i].Position = places[i]
	}
	return list, next, sqldb.WrapError(s.db, err, "read datapoints")
}

// deletedPoint is what is left of a datapoint that is deleted.
func deletedPoint(id string) dataset.Datapoint {
	p := dataset.Datapoint{ID: id, Deleted: true}
	p.Complete()
	return p
}

// CountDatapoints returns how many datapoints a dataset had in a version.
func (s *Store) CountDatapoints(ctx context.Context, projectID int64, datasetID string, version int64) (n int, err error) {
	ctx, end, err := s.events.HeavyRead(ctx, projectID, 1)
	if err != nil {
		return 0, err
	}
	defer end()
	_, err = sqldb.One(ctx, s.db, `SELECT count(*) FROM dataset_row r WHERE `+rowsIn, []any{projectID, datasetID, version}, &n)
	return n, sqldb.WrapError(s.db, err, "read dataset")
}
