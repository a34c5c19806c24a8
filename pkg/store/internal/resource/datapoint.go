package resource

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// datapoints is the table of datapoints. A datapoint's links are the datasets that have it now, read from dataset_row; only links
// to what is no dataset of ours are in its text.
//
// A change of a datapoint holds the datasets that have it, by the order of their ids, and then the datapoint (holdLinked). A change
// of a dataset's rows holds the dataset and then the datapoints that it adds. So no two wait for each other in a circle.
var datapoints = Documents{Table: "datapoint", Noun: "datapoint"}

// CreateDatapoints stores datapoints that are complete and valid, all or none, adds each to its
// LinkedDatasets, and returns their ids in the same order.
func (s *Store) CreateDatapoints(ctx context.Context, projectID int64, list []dataset.Datapoint) (ids []string, err error) {
	fresh := s.newPoints(projectID, list)
	ids, rows, revs, size := fresh.ids, fresh.rows, fresh.revs, fresh.size
	byDataset := map[string][]string{}
	for i := range list {
		// A dataset that is named twice gets the datapoint once.
		for _, link := range dataset.Unique(list[i].Links(false)) {
			byDataset[link] = append(byDataset[link], ids[i])
		}
	}
	links := slices.Sorted(maps.Keys(byDataset))
	err = s.changeDatasets(ctx, size, "create datapoints", func(ctx context.Context, c *datasetChange) error {
		// The datasets are held from here to the commit, so the positions that follow last are free until then.
		held, last, err := s.roomFor(ctx, c, projectID, links, func(id string) int { return len(byDataset[id]) })
		if err != nil {
			return err
		}
		changes := make([]rowChange, len(links))
		for i, link := range links {
			changes[i] = rowChange{set: held[link], last: last[link], add: byDataset[link], revs: revs}
			// The rows hold from the version that this change makes, which nobody can read before it is published.
			changes[i].set.Version++
		}
		// This function runs in the last transaction of the change. On SQLite other transactions have staged rows before it,
		// which nobody sees until it commits.
		return c.publish(ctx, projectID, changes, func(ctx context.Context, tx *events.Commit) error {
			if _, err := events.InsertRows(ctx, tx, datapoints.Table, datapoints.key(), rows); err != nil {
				return err
			}
			for _, link := range links {
				if _, err := s.nextVersion(ctx, tx, projectID, held[link], nil); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return ids, err
}

// newPoints are datapoints to be stored. Their documents are made before the transaction: it may run again, and must give the same ids
// each time.
type newPoints struct {
	ids  []string
	rows [][]any
	revs map[string]int64 // by id
	size int
}

func (s *Store) newPoints(projectID int64, list []dataset.Datapoint) newPoints {
	now := s.options.Now()
	p := newPoints{rows: make([][]any, len(list)), revs: make(map[string]int64, len(list))}
	for i := range list {
		d := Document{ID: NewDocumentID(now), Version: 1, Created: now.UnixMilli(), Doc: list[i].Doc()}
		p.ids, p.rows[i], p.revs[d.ID] = append(p.ids, d.ID), datapoints.row(projectID, d, nil), 1
		p.size += len(d.Doc)
	}
	return p
}

// CreateDatasetOf stores a dataset that is complete and valid together with new datapoints, which are its rows, all or nothing, and returns its id
// and theirs.
func (s *Store) CreateDatasetOf(ctx context.Context, projectID int64, set dataset.Dataset, list []dataset.Datapoint) (
	id string, ids []string, err error) {
	if len(list) > dataset.MaxDatapoints {
		return "", nil, errTooManyPoints
	}
	now := s.options.Now()
	fresh := s.newPoints(projectID, list)
	d := Document{ID: NewDocumentID(now), Version: 1, Created: now.UnixMilli(), Doc: set.Doc()}
	change := rowChange{set: d, add: fresh.ids, revs: fresh.revs}
	err = s.changeDatasets(ctx, fresh.size+len(d.Doc), "create dataset", func(ctx context.Context, c *datasetChange) error {
		return c.publish(ctx, projectID, []rowChange{change}, func(ctx context.Context, tx *events.Commit) error {
			if _, err := events.InsertRows(ctx, tx, datapoints.Table, datapoints.key(), fresh.rows); err != nil {
				return err
			}
			return datasets.Insert(ctx, tx, projectID, d, set.Name, set.Type)
		})
	})
	return d.ID, fresh.ids, err
}

// roomFor holds datasets to which datapoints are added, and returns the last position of each. more says how many each gets.
// fault.NotFound if there is no such dataset, fault.Invalid if one would have more than dataset.MaxDatapoints.
func (s *Store) roomFor(ctx context.Context, c sqldb.Conn, project int64, ids []string, more func(id string) int) (
	held map[string]Document, last map[string]int64, err error) {
	if held, err = s.holdDatasets(ctx, c, project, ids); err != nil {
		return nil, nil, err
	}
	last = make(map[string]int64, len(ids))
	for _, id := range ids {
		if _, there := held[id]; !there {
			return nil, nil, datasets.Missing(id)
		}
		var n int64
		if last[id], n, err = lastRow(ctx, c, project, id); err != nil {
			return nil, nil, err
		}
		// Counted while the dataset is held, so that two requests cannot pass the bound together.
		if n+int64(more(id)) > dataset.MaxDatapoints {
			return nil, nil, fault.New(fault.Invalid, "dataset %s would have more than %d datapoints", id, dataset.MaxDatapoints)
		}
	}
	return held, last, nil
}

// FindDatapoints lists the ids of the datapoints that match, oldest first, a page of them, and
// counts all that do.
func (s *Store) FindDatapoints(ctx context.Context, projectID int64, q dataset.PointQuery) (ids []string, total int, err error) {
	ctx, end, err := s.events.HeavyRead(ctx, projectID, 1)
	if err != nil {
		return nil, 0, err
	}
	defer end()
	cond := "1 = 1"
	var args []any
	if q.IDs != nil {
		// An empty list of ids matches nothing, unlike none at all.
		if len(q.IDs) == 0 {
			return nil, 0, nil
		}
		any, list := s.db.AnyText("id", 2, q.IDs)
		cond, args = cond+" AND "+any, list
	}
	if q.Dataset != "" {
		args = append(args, q.Dataset)
		cond += fmt.Sprintf(` AND id IN (
			SELECT r.datapoint_id
			FROM dataset_row r
			JOIN dataset s ON s.project_id = r.project_id AND s.id = r.dataset_id
			WHERE r.project_id = $1 AND `+rowsNow+` AND s.name = $%d)`, len(args)+1)
	}
	ids, total, err = datapoints.Find(ctx, s.db, projectID, cond, args, q.Limit, q.Page)
	return ids, total, sqldb.WrapError(s.db, err, "find datapoints")
}

// LoadDatapoints reads datapoints in the order of ids.
func (s *Store) LoadDatapoints(ctx context.Context, projectID int64, ids []string) ([]dataset.Datapoint, error) {
	docs, err := datapoints.load(ctx, s.db, projectID, ids)
	if err != nil {
		return nil, sqldb.WrapError(s.db, err, "read datapoints")
	}
	list, err := s.pointsOf(ctx, projectID, docs)
	return list, sqldb.WrapError(s.db, err, "read datapoints")
}

// pointsOf makes datapoints of their documents, with their links: those of now, also for a document of an old version. Links are
// read for all of them together and not one by one.
func (s *Store) pointsOf(ctx context.Context, project int64, docs []Document) ([]dataset.Datapoint, error) {
	list := make([]dataset.Datapoint, len(docs))
	at := make(map[string]int, len(docs))
	ids := make([]string, len(docs))
	for i, d := range docs {
		ids[i], at[d.ID] = d.ID, i
	}
	// One query for up to IDsPerQuery datapoints. Only rows that hold now count, whatever version of the document was asked for.
	links := make([][]string, len(docs))
	for group := range slices.Chunk(ids, sqldb.IDsPerQuery) {
		cond, args := s.db.AnyText("r.datapoint_id", 2, group)
		rows := `SELECT r.datapoint_id, r.dataset_id
			FROM dataset_row r
			JOIN dataset s ON s.project_id = r.project_id AND s.id = r.dataset_id
			WHERE r.project_id = $1 AND ` + rowsNow + ` AND ` + cond + `
			ORDER BY r.dataset_id`
		err := sqldb.Each(ctx, s.db, rows, append([]any{project}, args...), func(scan func(...any) error) error {
			var point, set string
			err := scan(&point, &set)
			links[at[point]] = append(links[at[point]], set)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for i, d := range docs {
		list[i] = pointOf(d)
		// Datasets of this server first, then ids that name none here, as the sender gave them.
		list[i].LinkedDatasets = slices.Concat(links[i], list[i].LinkedDatasets)
	}
	return list, nil
}

// pointOf makes a datapoint with none but its external links.
func pointOf(d Document) dataset.Datapoint {
	p := dataset.PointFromDoc(d.Doc)
	p.ID, p.Created, p.Updated, p.Version = d.ID, d.Created, d.Updated, d.Version
	return p
}

// openRow is an open row of a datapoint: it is in this dataset now, at this position.
type openRow struct {
	dataset string
	pos     int64
}

// holdLinked holds the datasets that have a datapoint, those in more, and then the datapoint, and
// returns its links. Whoever changes links holds a dataset first, so nobody waits in a circle; if
// the links have changed meanwhile, the transaction is run again. Links are therefore read twice: to know which datasets to
// hold, and once all are held. On SQLite the second reading finds what the first did.
func (s *Store) holdLinked(ctx context.Context, tx *events.Commit, project int64, id string, more []string) (
	d Document, links []openRow, held map[string]Document, err error) {
	if links, err = linksOf(ctx, tx, project, id); err != nil {
		return
	}
	// A copy: the transaction may run again with the caller's list.
	ids := slices.Clone(more)
	for _, l := range links {
		ids = append(ids, l.dataset)
	}
	if held, err = s.holdDatasets(ctx, tx, project, ids); err != nil {
		return
	}
	if d, err = datapoints.getForUpdate(ctx, tx, project, id); err != nil {
		return
	}
	if links, err = linksOf(ctx, tx, project, id); err != nil {
		return
	}
	for _, l := range links {
		if !slices.Contains(ids, l.dataset) {
			err = sqldb.ErrConflict
			return
		}
	}
	// The rows of a dataset that is being deleted do not count any more.
	links = slices.DeleteFunc(links, func(l openRow) bool { _, there := held[l.dataset]; return !there })
	return
}

func linksOf(ctx context.Context, tx *events.Commit, project int64, id string) (links []openRow, err error) {
	err = sqldb.Each(ctx, tx, `SELECT dataset_id, pos
		FROM dataset_row
		WHERE project_id = $1 AND datapoint_id = $2 AND to_version IS NULL
		ORDER BY dataset_id`,
		[]any{project, id}, func(scan func(...any) error) error {
			var l openRow
			err := scan(&l.dataset, &l.pos)
			links = append(links, l)
			return err
		})
	return links, err
}

// keepPoint keeps a datapoint as it is for the versions of datasets that had it so, if there are
// any. A datapoint that no dataset ever had in this version has no history: nobody could ask for it.
func keepPoint(ctx context.Context, tx *events.Commit, project int64, d Document) error {
	var n int
	// A row of any dataset counts, also one that is closed: an old version of the dataset still shows the datapoint so.
	needed, err := sqldb.One(ctx, tx, `SELECT 1
		FROM dataset_row
		WHERE project_id = $1 AND datapoint_id = $2 AND datapoint_version = $3
		LIMIT 1`, []any{project, d.ID, d.Version}, &n)
	if err != nil || !needed {
		return err
	}
	return datapoints.archiveVersion(ctx, tx, project, d, false)
}

// UpdateDatapoint changes a datapoint; changed is false if it was so before.
func (s *Store) UpdateDatapoint(ctx context.Context, projectID int64, u dataset.PointUpdate) (changed bool, err error) {
	size := len(u.Inputs) + len(u.History) + len(u.GroundTruth) + len(u.Metadata)
	var wanted dataset.Datapoint
	wanted.Apply(&u)
	err = s.changeLinks(ctx, size, "update datapoint", func(ctx context.Context, tx *events.Commit) error {
		d, links, held, err := s.holdLinked(ctx, tx, projectID, u.ID, wanted.Links(false))
		if err != nil {
			return err
		}
		if u.IfVersion != 0 && u.IfVersion != d.Version {
			return fault.New(fault.Conflict, "datapoint %s was changed meanwhile: it is in version %d, not %d", d.ID, d.Version, u.IfVersion)
		}
		p := pointOf(d)
		p.Apply(&u)
		if err := p.Validate(); err != nil {
			return err
		}
		doc := p.Doc()
		same := bytes.Equal(doc, d.Doc)
		// Without LinkedDatasets in the request the links stay as they are; an empty list takes the datapoint out of all of them.
		add, gone := []string{}, []openRow{}
		if u.LinkedDatasets != nil {
			add = slices.DeleteFunc(wanted.Links(false), func(id string) bool {
				return slices.ContainsFunc(links, func(l openRow) bool { return l.dataset == id })
			})
			gone = slices.DeleteFunc(slices.Clone(links), func(l openRow) bool { return slices.Contains(u.LinkedDatasets, l.dataset) })
			links = slices.DeleteFunc(links, func(l openRow) bool { return !slices.Contains(u.LinkedDatasets, l.dataset) })
		}
		// Before the first write, so that a dataset that is full refuses the request while nothing has changed.
		_, last, err := s.roomFor(ctx, tx, projectID, add, func(string) int { return 1 })
		if fault.IsNotFound(err) {
			return fault.In("linked_datasets", err)
		}
		if err != nil {
			return err
		}
		if changed = !same || len(add)+len(gone) > 0; !changed {
			return nil
		}
		// The old text is kept before the row is overwritten: there is no other copy of it.
		if !same {
			if err := keepPoint(ctx, tx, projectID, d); err != nil {
				return err
			}
			d.Doc = doc
			if err := datapoints.Update(ctx, tx, projectID, &d, s.options.Now()); err != nil {
				return err
			}
		}
		return s.relink(ctx, tx, projectID, d, held, relinking{stay: links, rewritten: !same, gone: gone, add: add, last: last})
	})
	return changed, err
}

// relinking is what a change of a datapoint means for its datasets.
type relinking struct {
	stay      []openRow
	rewritten bool // what stays gets a row of the datapoint's new version
	gone      []openRow
	add       []string
	last      map[string]int64
}

// relink makes a new version of every dataset concerned. Where a datapoint stays and has changed, its row is closed and opened
// again at the same position, with the datapoint's new version, so that the order of the dataset stays.
func (s *Store) relink(ctx context.Context, tx *events.Commit, project int64, d Document, held map[string]Document, r relinking) error {
	revs := map[string]int64{d.ID: d.Version}
	next := func(id string, closed []int64, last int64, open []string) error {
		set, err := s.nextVersion(ctx, tx, project, held[id], nil)
		if err != nil {
			return err
		}
		if err := closeRows(ctx, tx, project, &set, closed); err != nil {
			return err
		}
		return s.addRows(ctx, tx, project, &set, last, open, revs)
	}
	for _, l := range r.gone {
		if err := next(l.dataset, []int64{l.pos}, 0, nil); err != nil {
			return err
		}
	}
	for _, l := range r.stay {
		if !r.rewritten {
			break
		}
		// addRows begins behind the position that it is given, so this is the datapoint's own place.
		if err := next(l.dataset, []int64{l.pos}, l.pos-1, []string{d.ID}); err != nil {
			return err
		}
	}
	for _, id := range r.add {
		if err := next(id, nil, r.last[id], []string{d.ID}); err != nil {
			return err
		}
	}
	return nil
}

// DeleteDatapoint deletes a datapoint with all its versions and takes it out of its datasets. Their earlier versions keep its rows
// and show it as deleted: what was in it must not be found there.
func (s *Store) DeleteDatapoint(ctx context.Context, projectID int64, id string) error {
	err := s.changeLinks(ctx, 0, "delete datapoint", func(ctx context.Context, tx *events.Commit) error {
		d, links, held, err := s.holdLinked(ctx, tx, projectID, id, nil)
		if err != nil {
			return err
		}
		// Rows are closed while the datapoint is held, so that no dataset can get it again before it is gone.
		if err := s.relink(ctx, tx, projectID, d, held, relinking{gone: links}); err != nil {
			return err
		}
		// The row in deletion makes the rest certain: if this process ends before sweep, the next one deletes the old versions.
		columns, row := []string{"project_id", "kind", "id"}, []any{projectID, datapoints.Table, id}
		if _, err := events.InsertRows(ctx, tx, "deletion", columns, [][]any{row}); err != nil {
			return err
		}
		return datapoints.remove(ctx, tx, projectID, id)
	})
	if err != nil {
		return err
	}
	return s.sweep(ctx, datapoints.Table, projectID, id)
}
