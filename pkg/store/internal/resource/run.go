package resource

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// runs is the table of experiment runs. Clients may choose a run's id, and events may name it before it is created, or without it
// ever being: searches by a run's id do not need the row.
//
// Its sessions are those that its text lists and those whose events carry its id (run_scores.go). What its events are like is in
// the field index, under a scope of the run's own (run_fields.go); nothing else belongs to a run, and its sessions stay when it
// is deleted.
var runs = Documents{Table: "run", Noun: "run", Columns: []string{"name", "status", "dataset_id"}}

// CreateRun stores a run and returns it complete. One that is there is changed instead, as by UpdateRun: clients send the request
// again when they do not know whether it came through.
func (s *Store) CreateRun(ctx context.Context, projectID int64, u run.Update) (r run.Run, err error) {
	fresh := run.Run{ID: u.ID}
	fresh.Apply(&u)
	fresh.Complete()
	if err := fresh.Validate(); err != nil {
		return r, err
	}
	err = s.ChangeDocs(ctx, len(fresh.Doc()), "create run", func(ctx context.Context, tx *events.Commit) error {
		for {
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
			d = Document{ID: r.ID, Version: 1, Created: r.Created, Doc: r.Doc()}
			// Another server may have created it since the look, by the same request sent to it as well. Insert has waited for its
			// commit, so the next look finds the run, unless it was deleted as quickly.
			if err = runs.Insert(ctx, tx, projectID, d, r.Name, r.Status, r.Dataset()); fault.Of(err) != fault.Conflict {
				return err
			}
		}
	})
	return r, err
}

// versionOf returns the version of a stored dataset, 0 if the id names none. A run keeps the version that its dataset had when the run
// got it, so that results can be read against the datapoints as they were.
func versionOf(ctx context.Context, c sqldb.Conn, projectID int64, datasetID string) (int64, error) {
	if datasetID == "" {
		return 0, nil
	}
	d, err := datasets.One(ctx, c, projectID, datasetID)
	if fault.IsNotFound(err) {
		return 0, nil
	}
	return d.Version, err
}

// UpdateRun changes a run and returns the updated one.
func (s *Store) UpdateRun(ctx context.Context, projectID int64, u run.Update) (r run.Run, err error) {
	// About the bytes that wait in the queue: an id as text takes 36, and 40 with its quotes and comma.
	size := len(u.Metadata) + len(u.Results) + len(u.Configuration) + len(u.Evaluators) +
		40*(len(u.EventIDs)+len(u.SessionIDs)+len(u.DatapointIDs))
	err = s.ChangeDocs(ctx, size, "update run", func(ctx context.Context, tx *events.Commit) error {
		d, err := runs.getForUpdate(ctx, tx, projectID, u.ID)
		if err == nil {
			r, err = s.changeRun(ctx, tx, projectID, d, &u)
		}
		return err
	})
	return r, err
}

func (s *Store) changeRun(ctx context.Context, tx *events.Commit, projectID int64, d Document, u *run.Update) (run.Run, error) {
	r := runOf(d)
	dataset := r.DatasetID
	r.Apply(u)
	if err := r.Validate(); err != nil {
		return r, err
	}
	// A run that stays with its dataset keeps the version that it began with, however far the dataset has moved on.
	if r.DatasetID != dataset {
		var err error
		if r.DatasetVersion, err = versionOf(ctx, tx, projectID, r.DatasetID); err != nil {
			return r, err
		}
	}
	d.Doc = r.Doc()
	err := runs.Update(ctx, tx, projectID, &d, s.options.Now(), r.Name, r.Status, r.Dataset())
	r.Updated = d.Updated
	return r, err
}

// Run returns a run.
func (s *Store) Run(ctx context.Context, projectID int64, id string) (run.Run, error) {
	d, err := runs.One(ctx, s.db, projectID, id)
	if err != nil {
		return run.Run{}, sqldb.WrapError(s.db, err, "read run")
	}
	return runOf(d), nil
}

// DeleteRun deletes a run; its sessions stay.
func (s *Store) DeleteRun(ctx context.Context, projectID int64, id string) error {
	if err := s.deleteDocument(ctx, runs, projectID, id); err != nil {
		return err
	}
	// Its keys leave the memory of this server at once, or a run of the same id would be taken for one whose keys are all listed.
	s.events.ForgetFields(projectID, events.ScopeRun+id)
	return nil
}

// FindRuns returns a page of the runs that match, the number of all that match, and of all there
// are. What to sort by is looked up in a list of columns, never put into the statement as it came; runs that are equal in it are
// in the order of their ids, so that pages do not overlap.
func (s *Store) FindRuns(ctx context.Context, projectID int64, q run.Query) (list []run.Run, total, unfiltered int, err error) {
	ctx, end, err := s.events.HeavyRead(ctx, projectID, 1)
	if err != nil {
		return nil, 0, 0, err
	}
	defer end()
	// Counted before the filters are added: a list shows how many there are in all.
	where, args := " FROM run WHERE project_id = $1", []any{projectID}
	if _, err := sqldb.One(ctx, s.db, "SELECT count(*)"+where, args, &unfiltered); err != nil {
		return nil, 0, 0, sqldb.WrapError(s.db, err, "count runs")
	}
	and := func(cond string, arg any) {
		args = append(args, arg)
		where += " AND " + fmt.Sprintf(cond, len(args))
	}
	if q.DatasetID != "" {
		and("dataset_id = $%d", q.DatasetID)
	}
	if q.Name != "" {
		and(s.events.Dialect.Contains("name", "$%d"), q.Name)
	}
	if q.Status != "" {
		and("status = $%d", q.Status)
	}
	if q.From != nil {
		and("created_ms >= $%d", int64(math.Ceil(events.ClampMillis(*q.From))))
	}
	if q.To != nil {
		and("created_ms <= $%d", int64(math.Floor(events.ClampMillis(*q.To))))
	}
	if q.IDs != nil {
		cond, more := s.db.AnyText("id", len(args)+1, q.IDs)
		args, where = append(args, more...), where+" AND "+cond
	}
	if _, err := sqldb.One(ctx, s.db, "SELECT count(*)"+where, args, &total); err != nil {
		return nil, 0, 0, sqldb.WrapError(s.db, err, "count runs")
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
	err = sqldb.Each(ctx, s.db, sql, append(slices.Clone(args), q.Limit, (q.Page-1)*q.Limit), func(scan func(...any) error) error {
		var d Document
		var doc string
		if err := scan(&d.ID, &d.Version, &d.Created, &d.Updated, &doc); err != nil {
			return err
		}
		d.Doc = []byte(doc)
		list = append(list, runOf(d))
		return nil
	})
	return list, total, unfiltered, sqldb.WrapError(s.db, err, "find runs")
}

func runOf(d Document) run.Run {
	r := run.FromDoc(d.ID, d.Doc)
	r.Created, r.Updated = d.Created, d.Updated
	return r
}
