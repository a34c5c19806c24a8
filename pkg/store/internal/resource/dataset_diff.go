package resource

import (
	"context"
	"fmt"
	"strings"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// holdsIn is the condition on dataset_row r that a row holds in the version of a placeholder.
func holdsIn(version string) string {
	return `(r.from_version <= ` + version + ` AND (r.to_version IS NULL OR r.to_version > ` + version + `))`
}

// textAt is the text of datapoint x.id in the version that a column of x names: it stands in its own table if it has not changed since, else
// among the old ones.
func textAt(column string) string {
	return strings.ReplaceAll(`coalesce(
		(SELECT CAST(d.doc AS text) FROM datapoint d WHERE d.project_id = $1 AND d.id = x.id AND d.version = x.?),
		(SELECT CAST(v.doc AS text) FROM document_version v WHERE v.project_id = $1 AND v.kind = 'datapoint' AND v.id = x.id AND v.version = x.?),
		'')`, "?", column)
}

// diffRows are the datapoints of dataset $2 of project $1 that differ between its versions $3 and $4, each with the version that it has in the first
// and in the second, 0 where it is not there. Only rows that hold in one of the two count: what is in both as it was costs no more than to
// read its row. A datapoint that was only put elsewhere has equal versions, and one that was changed and changed back has equal texts. Of one that is deleted by now no text is left: it counts as
// changed.
var diffRows = `SELECT x.id, x.a, x.b FROM (
		SELECT r.datapoint_id AS id,
			coalesce(max(CASE WHEN ` + holdsIn("$3") + ` THEN r.datapoint_version END), 0) AS a,
			coalesce(max(CASE WHEN ` + holdsIn("$4") + ` THEN r.datapoint_version END), 0) AS b
		FROM dataset_row r
		WHERE r.project_id = $1 AND r.dataset_id = $2 AND ` + holdsIn("$3") + ` <> ` + holdsIn("$4") + `
		GROUP BY r.datapoint_id
	) x
	WHERE x.a <> x.b AND (x.a = 0 OR x.b = 0 OR ` + textAt("a") + ` <> ` + textAt("b") + ` OR ` + textAt("b") + ` = '')`

// diffKinds are the conditions on the rows of diffRows by how a datapoint differs.
var diffKinds = map[string]string{dataset.Added: "y.a = 0", dataset.Removed: "y.b = 0", dataset.Changed: "y.a > 0 AND y.b > 0", "": "1 = 1"}

// DiffDataset returns how the datapoints of a dataset differ between two of its versions: a page of them, and how many there are in all.
func (s *Store) DiffDataset(ctx context.Context, projectID int64, id string, q dataset.DiffQuery) (diff dataset.Diff, err error) {
	ctx, end, err := s.events.HeavyRead(ctx, projectID, 1)
	if err != nil {
		return diff, err
	}
	defer end()
	diff, err = s.diffDataset(ctx, projectID, id, q)
	return diff, sqldb.WrapError(s.db, err, "compare versions of a dataset")
}

func (s *Store) diffDataset(ctx context.Context, projectID int64, id string, q dataset.DiffQuery) (diff dataset.Diff, err error) {
	versions := []any{projectID, id, q.From, q.To}
	sum := func(kind string) string {
		return `coalesce(sum(CASE WHEN ` + diffKinds[kind] + ` THEN 1 ELSE 0 END), 0)`
	}
	if _, err := sqldb.One(ctx, s.db, `SELECT `+sum(dataset.Added)+`, `+sum(dataset.Removed)+`, `+sum(dataset.Changed)+` FROM (`+diffRows+`) y`,
		versions, &diff.Added, &diff.Removed, &diff.Changed); err != nil {
		return diff, err
	}
	type pair struct{ before, after int64 }
	var ids []string
	pairs := map[string]pair{}
	err = sqldb.Each(ctx, s.db, fmt.Sprintf(`SELECT y.id, y.a, y.b FROM (%s) y WHERE y.id > $5 AND %s ORDER BY y.id LIMIT $6`, diffRows, diffKinds[q.Only]),
		append(versions, q.After, q.Limit+1), func(scan func(...any) error) error {
			var id string
			var p pair
			err := scan(&id, &p.before, &p.after)
			ids, pairs[id] = append(ids, id), p
			return err
		})
	if err != nil {
		return diff, err
	}
	if diff.More = len(ids) > q.Limit; diff.More {
		ids = ids[:q.Limit]
	}
	for _, id := range ids {
		row, p := dataset.DiffRow{ID: id}, pairs[id]
		if row.Before, err = s.pointAt(ctx, projectID, id, p.before); err != nil {
			return diff, err
		}
		if row.After, err = s.pointAt(ctx, projectID, id, p.after); err != nil {
			return diff, err
		}
		diff.Rows = append(diff.Rows, row)
	}
	return diff, nil
}

// pointAt reads a datapoint as it was in a version of its own, without its links; nil for version 0.
func (s *Store) pointAt(ctx context.Context, projectID int64, id string, version int64) (*dataset.Datapoint, error) {
	if version == 0 {
		return nil, nil
	}
	d := Document{ID: id, Version: version}
	var doc string
	found, err := sqldb.One(ctx, s.db, `SELECT created_ms, updated_ms, doc FROM datapoint WHERE project_id = $1 AND id = $2 AND version = $3
		UNION ALL
		SELECT created_ms, updated_ms, doc FROM document_version WHERE project_id = $1 AND kind = 'datapoint' AND id = $2 AND version = $3`,
		[]any{projectID, id, version}, &d.Created, &d.Updated, &doc)
	if err != nil {
		return nil, err
	}
	p := deletedPoint(id)
	if found {
		d.Doc = []byte(doc)
		p = pointOf(d)
	}
	return &p, nil
}
