package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/run"
)

var runs = documents{table: "run", noun: "run", columns: []string{"name", "status", "dataset_id"}}

// CreateRun stores a run and returns it complete. If the project has a run of that id already,
// that one is updated: clients choose ids, and send again what may not have arrived.
func (s *Store) CreateRun(ctx context.Context, projectID int64, u run.Update) (r run.Run, err error) {
	fresh := run.Run{ID: u.ID}
	fresh.Apply(&u)
	fresh.Complete()
	if err := fresh.Validate(); err != nil {
		return r, err
	}
	err = s.changeDocs(ctx, len(fresh.Doc()), "create run", func(ctx context.Context, tx *commit) error {
		d, err := runs.getForUpdate(ctx, tx, projectID, fresh.ID)
		switch {
		case err == nil:
			r, err = s.changeRun(ctx, tx, projectID, d, &u)
			return err
		case fault.Of(err) != fault.NotFound:
			return err
		}
		r = fresh
		if r.DatasetVersion, err = versionOf(ctx, tx, projectID, r.DatasetID); err != nil {
			return err
		}
		r.Created = s.options.Now().UnixMilli()
		return runs.insert(ctx, tx, projectID, document{id: r.ID, version: 1, created: r.Created, doc: r.Doc()}, r.Name, r.Status, r.DatasetID)
	})
	return r, err
}

// versionOf returns the version of a stored dataset, 0 if the id names none.
func versionOf(ctx context.Context, c conn, projectID int64, datasetID string) (int64, error) {
	if datasetID == "" {
		return 0, nil
	}
	d, err := datasets.one(ctx, c, projectID, datasetID)
	if fault.IsNotFound(err) {
		return 0, nil
	}
	return d.version, err
}

// UpdateRun changes a run and returns the updated one. fault.NotFound if there is none,
// fault.Invalid if it would break a rule.
func (s *Store) UpdateRun(ctx context.Context, projectID int64, u run.Update) (r run.Run, err error) {
	size := len(u.Metadata) + len(u.Results) + len(u.Configuration) + len(u.Evaluators) +
		40*(len(u.EventIDs)+len(u.SessionIDs)+len(u.DatapointIDs))
	err = s.changeDocs(ctx, size, "update run", func(ctx context.Context, tx *commit) error {
		d, err := runs.getForUpdate(ctx, tx, projectID, u.ID)
		if err == nil {
			r, err = s.changeRun(ctx, tx, projectID, d, &u)
		}
		return err
	})
	return r, err
}

func (s *Store) changeRun(ctx context.Context, tx *commit, projectID int64, d document, u *run.Update) (run.Run, error) {
	r := runOf(d)
	dataset := r.DatasetID
	r.Apply(u)
	if err := r.Validate(); err != nil {
		return r, err
	}
	if r.DatasetID != dataset {
		var err error
		if r.DatasetVersion, err = versionOf(ctx, tx, projectID, r.DatasetID); err != nil {
			return r, err
		}
	}
	d.doc = r.Doc()
	err := runs.update(ctx, tx, projectID, &d, s.options.Now(), r.Name, r.Status, r.DatasetID)
	r.Updated = d.updated
	return r, err
}

// Run returns a run. fault.NotFound if there is none.
func (s *Store) Run(ctx context.Context, projectID int64, id string) (run.Run, error) {
	d, err := runs.one(ctx, s.db, projectID, id)
	if err != nil {
		return run.Run{}, wrapDBError(s.db, err, "read run")
	}
	return runOf(d), nil
}

// DeleteRun deletes a run; its sessions stay. fault.NotFound if there is none.
func (s *Store) DeleteRun(ctx context.Context, projectID int64, id string) error {
	if err := s.deleteDocument(ctx, runs, projectID, id); err != nil {
		return err
	}
	s.forgetFields(projectID, scopeRun+id)
	return nil
}

// FindRuns returns a page of the runs that match, the number of all that match, and of all there
// are.
func (s *Store) FindRuns(ctx context.Context, projectID int64, q run.Query) (list []run.Run, total, unfiltered int, err error) {
	ctx, end, err := s.heavyRead(ctx, projectID, 1)
	if err != nil {
		return nil, 0, 0, err
	}
	defer end()
	where, args := " FROM run WHERE project_id = $1", []any{projectID}
	if _, err := one(ctx, s.db, "SELECT count(*)"+where, args, &unfiltered); err != nil {
		return nil, 0, 0, wrapDBError(s.db, err, "count runs")
	}
	and := func(cond string, arg any) {
		args = append(args, arg)
		where += " AND " + fmt.Sprintf(cond, len(args))
	}
	if q.DatasetID != "" {
		and("dataset_id = $%d", q.DatasetID)
	}
	if q.Name != "" {
		and(s.dialect.Contains("name", "$%d"), q.Name)
	}
	if q.Status != "" {
		and("status = $%d", q.Status)
	}
	if q.From != nil {
		and("created_ms >= $%d", int64(*q.From))
	}
	if q.To != nil {
		and("created_ms <= $%d", int64(*q.To))
	}
	if q.IDs != nil {
		cond, more := s.db.anyText("id", len(args)+1, q.IDs)
		args, where = append(args, more...), where+" AND "+cond
	}
	if _, err := one(ctx, s.db, "SELECT count(*)"+where, args, &total); err != nil {
		return nil, 0, 0, wrapDBError(s.db, err, "count runs")
	}
	column := map[string]string{
		"name":       "name",
		"status":     "status",
		"updated_at": "(CASE WHEN updated_ms > 0 THEN updated_ms ELSE created_ms END)",
	}[q.SortBy]
	if column == "" {
		column = "created_ms"
	}
	way := "DESC"
	if q.Ascending {
		way = "ASC"
	}
	sql := fmt.Sprintf(`SELECT id, version, created_ms, updated_ms, doc%s
		ORDER BY %s %s, id %s LIMIT $%d OFFSET $%d`,
		where, column, way, way, len(args)+1, len(args)+2)
	err = each(ctx, s.db, sql, append(slices.Clone(args), q.Limit, (q.Page-1)*q.Limit), func(scan func(...any) error) error {
		var d document
		var doc string
		if err := scan(&d.id, &d.version, &d.created, &d.updated, &doc); err != nil {
			return err
		}
		d.doc = []byte(doc)
		list = append(list, runOf(d))
		return nil
	})
	return list, total, unfiltered, wrapDBError(s.db, err, "find runs")
}

func runOf(d document) run.Run {
	r := run.FromDoc(d.id, d.doc)
	r.Created, r.Updated = d.created, d.updated
	return r
}
