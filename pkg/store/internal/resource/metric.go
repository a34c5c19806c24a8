package resource

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// A metric's row holds the current definition. Each definition it has, had or may be given is a
// row of metric_version, numbered from 1.
//
// A version never changes. The current one is named by its number in the metric's text (deployed), next to a copy of its
// definition, so that a list of metrics, and the look at new events, read one table. The version of the row (Document.Version) is
// another number: it counts changes of the row, to deploy an old version among them.
//
// The column online repeats whether the current definition runs over new events. Evaluations name the version that is to score,
// and keep to it if another one is deployed meanwhile.
var Metrics = Documents{Table: "metric", Noun: "metric", Columns: []string{"type", "online"}}

// CreateMetric stores a metric whose definition is complete and valid, as its first version, and
// returns its id.
func (s *Store) CreateMetric(ctx context.Context, projectID int64, def metric.Definition) (id string, err error) {
	m := s.newMetric(def)
	err = s.changeMetrics(ctx, 2*len(m.Row()), "create metric", func(ctx context.Context, tx *events.Commit) error {
		return insertMetric(ctx, tx, projectID, &m)
	})
	return m.ID, err
}

// EnableMetric is CreateMetric for a metric whose name no other metric of the project may have: the two would overwrite each other's
// scores, and cost twice. If there is one with the same definition, its id is returned, and inserted is false. One with another definition is
// fault.Conflict.
//
// Metrics may be many and large, so they are read before the transaction, which reads only those that were made meanwhile. Calls that enable
// metrics take turns in it.
func (s *Store) EnableMetric(ctx context.Context, projectID int64, def metric.Definition) (id string, inserted bool, err error) {
	m := s.newMetric(def)
	var before namesake
	seen := map[string]bool{}
	for other, err := range metric.All(ctx, s, projectID, "") {
		if err != nil {
			return "", false, err
		}
		seen[other.ID] = true
		before.look(other, &m)
	}
	err = s.changeMetrics(ctx, 2*len(m.Row()), "create metric", func(ctx context.Context, tx *events.Commit) error {
		if err := LockBound(ctx, tx, projectID, Metrics); err != nil {
			return err
		}
		var made []string
		err := sqldb.Each(ctx, tx, `SELECT id FROM metric WHERE project_id = $1`, []any{projectID}, func(scan func(...any) error) error {
			var other string
			err := scan(&other)
			if !seen[other] {
				made = append(made, other)
			}
			return err
		})
		if err != nil {
			return err
		}
		docs, err := Metrics.load(ctx, tx, projectID, made)
		if err != nil {
			return err
		}
		found := before
		for _, d := range docs {
			other := metricOf(d)
			found.look(&other, &m)
		}
		switch {
		case found.id == "":
			id, inserted = m.ID, true
			return insertMetric(ctx, tx, projectID, &m)
		case !found.same:
			return fault.New(fault.Conflict, "The project has a metric %q already, %s: change that one, or give another name.", def.Name, found.id)
		}
		id, inserted = found.id, false
		return nil
	})
	return id, inserted, err
}

// namesake is a metric with the name of another one: the first that also has the same definition, or else the first.
type namesake struct {
	id   string // empty: there is none
	same bool   // it has the same definition
}

// look takes other as the namesake of m if it is one, and a better one than before.
func (n *namesake) look(other, m *metric.Metric) {
	if other.Name != m.Name || n.same {
		return
	}
	if same := bytes.Equal(other.Doc(), m.Doc()); same || n.id == "" {
		*n = namesake{other.ID, same}
	}
}

// newMetric returns a metric that is to be stored, with its first version.
func (s *Store) newMetric(def metric.Definition) metric.Metric {
	now := s.options.Now()
	return metric.Metric{Definition: def, ID: NewDocumentID(now), Created: now.UnixMilli(), Deployed: 1}
}

func insertMetric(ctx context.Context, tx *events.Commit, project int64, m *metric.Metric) error {
	if err := checkOnline(ctx, tx, project, m.ID, &m.Definition); err != nil {
		return err
	}
	d := Document{ID: m.ID, Version: 1, Created: m.Created, Doc: m.Row()}
	if err := Metrics.Insert(ctx, tx, project, d, string(m.Type), sqldb.BoolInt(m.EnabledInProd)); err != nil {
		return err
	}
	return insertMetricVersion(ctx, tx, project, &metric.Version{
		Definition: m.Definition,
		MetricID:   m.ID,
		Number:     1,
		Message:    "Created",
		Created:    m.Created,
	})
}

// FindMetrics lists the ids of the metrics that match, oldest first, a page of them, and counts
// all that do.
func (s *Store) FindMetrics(ctx context.Context, projectID int64, q metric.Query) (ids []string, total int, err error) {
	var cond string
	var args []any
	and := func(column, value string) {
		if value == "" {
			return
		}
		if cond != "" {
			cond += " AND "
		}
		args = append(args, value)
		cond += fmt.Sprintf("%s = $%d", column, len(args)+1)
	}
	and("id", q.ID)
	and("type", string(q.Type))
	ids, total, err = Metrics.Find(ctx, s.db, projectID, cond, args, q.Limit, q.Page)
	return ids, total, sqldb.WrapError(s.db, err, "find metrics")
}

// LoadMetrics reads metrics in the order of ids.
func (s *Store) LoadMetrics(ctx context.Context, projectID int64, ids []string) ([]metric.Metric, error) {
	docs, err := Metrics.load(ctx, s.db, projectID, ids)
	list := make([]metric.Metric, len(docs))
	for i, d := range docs {
		list[i] = metricOf(d)
	}
	return list, sqldb.WrapError(s.db, err, "read metrics")
}

// OnlineMetrics reads the metrics of a project that run over new events, oldest first.
func (s *Store) OnlineMetrics(ctx context.Context, projectID int64) ([]metric.Metric, error) {
	// At most MaxOnline are read, which is also how many there may be.
	ids, _, err := Metrics.Find(ctx, s.db, projectID, "online = 1", nil, metric.MaxOnline, 1)
	if err != nil {
		return nil, sqldb.WrapError(s.db, err, "find metrics")
	}
	return s.LoadMetrics(ctx, projectID, ids)
}

// checkOnline refuses a definition of a metric that is to run over new events where metric.MaxOnline others do: each new event of
// the project is held against all of them. The metric itself does not count: it may be one of them already.
func checkOnline(ctx context.Context, tx *events.Commit, project int64, id string, d *metric.Definition) error {
	if !d.EnabledInProd {
		return nil
	}
	// After the metric's row, in this order everywhere, so that no two wait for each other.
	if err := LockBound(ctx, tx, project, Metrics); err != nil {
		return err
	}
	var n int
	if _, err := sqldb.One(ctx, tx, `SELECT count(*)
		FROM metric
		WHERE project_id = $1 AND online = 1 AND id <> $2`, []any{project, id}, &n); err != nil {
		return err
	}
	if n >= metric.MaxOnline {
		return fault.InvalidField("enabled_in_prod", "at most %d metrics of a project may run over new events", metric.MaxOnline)
	}
	return nil
}

// UpdateMetric changes a metric, which makes a new current version unless nothing changes.
func (s *Store) UpdateMetric(ctx context.Context, projectID int64, id string, p metric.Patch) (m metric.Metric, err error) {
	err = s.changeMetrics(ctx, 2*p.Size(), "update metric", func(ctx context.Context, tx *events.Commit) error {
		d, err := Metrics.getForUpdate(ctx, tx, projectID, id)
		if err != nil {
			return err
		}
		m = metricOf(d)
		before := m.Doc()
		m.Apply(&p)
		if err := m.Validate(); err != nil {
			return err
		}
		// A request that is sent again makes no second version with the same text.
		if bytes.Equal(before, m.Doc()) {
			return nil
		}
		v := metric.Version{Definition: m.Definition, Message: "Updated"}
		return s.addMetricVersion(ctx, tx, projectID, &d, &m, &v, true)
	})
	return m, err
}

// DeleteMetric deletes a metric with all its versions. Scores stay in their events, and results in the table of evaluations. What
// waits for the metric is dropped by the worker that meets it, and its backfills end with one of their next steps.
func (s *Store) DeleteMetric(ctx context.Context, projectID int64, id string) error {
	if err := s.deleteDocument(ctx, Metrics, projectID, id); err != nil {
		return err
	}
	return sqldb.WrapError(s.db, s.loadOnline(ctx), "delete metric")
}

// forgetMetricVersions deletes a slice of the versions of a metric that is deleted: the sweep of table metric.
func forgetMetricVersions(ctx context.Context, tx *events.Commit, project int64, id string) (more bool, err error) {
	return events.DeleteRows(ctx, tx, "metric_version", "project_id, metric_id, number", "project_id = $1 AND metric_id = $2", project, id)
}

// CreateMetricVersion stores a version of a metric whose definition is complete and valid, in force
// from then on if deploy, and returns the updated one.
func (s *Store) CreateMetricVersion(ctx context.Context, projectID int64, id string, v metric.Version, deploy bool) (
	metric.Version, error) {
	err := s.changeMetrics(ctx, 2*len(v.Doc()), "create version", func(ctx context.Context, tx *events.Commit) error {
		d, err := Metrics.getForUpdate(ctx, tx, projectID, id)
		if err != nil {
			return err
		}
		m := metricOf(d)
		return s.addMetricVersion(ctx, tx, projectID, &d, &m, &v, deploy)
	})
	return v, err
}

// DeployMetricVersion makes a version the current one, named by its name or its SHA, and returns
// it. To deploy the one that is current changes nothing.
func (s *Store) DeployMetricVersion(ctx context.Context, projectID int64, id, name string) (v metric.Version, err error) {
	err = s.changeMetrics(ctx, 0, "deploy version", func(ctx context.Context, tx *events.Commit) error {
		d, err := Metrics.getForUpdate(ctx, tx, projectID, id)
		if err != nil {
			return err
		}
		v = metric.Version{MetricID: id}
		found := false
		err = sqldb.Each(ctx, tx, versionColumns+`project_id = $1 AND metric_id = $2 AND (sha = $3 OR number = $4)`,
			// A version is named by its number or by its hash, which no other version has (Version.Seal): one row at most.
			[]any{projectID, id, name, metric.VersionNumber(name)}, func(scan func(...any) error) (err error) {
				found = true
				return scanVersion(scan, &v)
			})
		if err != nil {
			return err
		}
		if !found {
			return fault.New(fault.NotFound, "metric %s has no version %.80q", id, name)
		}
		v.Deployed = true
		m := metricOf(d)
		if m.Deployed == v.Number {
			return nil
		}
		if err := checkOnline(ctx, tx, projectID, id, &v.Definition); err != nil {
			return err
		}
		return s.deployMetric(ctx, tx, projectID, &d, &m, &v)
	})
	return v, err
}

// FindMetricVersions lists the names of a metric's versions, newest first, a page of them, and
// counts all.
func (s *Store) FindMetricVersions(ctx context.Context, projectID int64, id string, limit, page int) (
	names []string, total int, err error) {
	if _, err := Metrics.One(ctx, s.db, projectID, id); err != nil {
		return nil, 0, sqldb.WrapError(s.db, err, "read metric")
	}
	if _, err := sqldb.One(ctx, s.db, `SELECT count(*)
		FROM metric_version
		WHERE project_id = $1 AND metric_id = $2`, []any{projectID, id}, &total); err != nil {
		return nil, 0, sqldb.WrapError(s.db, err, "count versions")
	}
	err = sqldb.Each(ctx, s.db, `SELECT number
		FROM metric_version
		WHERE project_id = $1 AND metric_id = $2
		ORDER BY number DESC LIMIT $3 OFFSET $4`,
		[]any{projectID, id, limit, int64(limit) * int64(page-1)}, func(scan func(...any) error) error {
			var n int64
			err := scan(&n)
			names = append(names, metric.VersionName(n))
			return err
		})
	return names, total, sqldb.WrapError(s.db, err, "find versions")
}

// LoadMetricVersions reads versions of a metric by their names, which follow one another as in
// FindMetricVersions, newest first: the first and the last bound what is read. None, and no error, if the metric is gone: a
// worker asks for the version of an evaluation that waits.
func (s *Store) LoadMetricVersions(ctx context.Context, projectID int64, id string, names []string) (list []metric.Version, err error) {
	d, err := Metrics.One(ctx, s.db, projectID, id)
	if fault.IsNotFound(err) || len(names) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, sqldb.WrapError(s.db, err, "read metric")
	}
	deployed := metricOf(d).Deployed
	first, last := metric.VersionNumber(names[0]), metric.VersionNumber(names[len(names)-1])
	err = sqldb.Each(ctx, s.db, versionColumns+`project_id = $1 AND metric_id = $2 AND number BETWEEN $3 AND $4 ORDER BY number DESC`,
		[]any{projectID, id, last, first}, func(scan func(...any) error) error {
			v := metric.Version{MetricID: id}
			err := scanVersion(scan, &v)
			v.Deployed = v.Number == deployed
			list = append(list, v)
			return err
		})
	return list, sqldb.WrapError(s.db, err, "read versions")
}

// addMetricVersion stores the next version of a metric that is held, so that no other gets the same number. It fills in what of v
// the store decides. Without deploy the metric's row stays as it is.
func (s *Store) addMetricVersion(ctx context.Context, tx *events.Commit, project int64, d *Document, m *metric.Metric,
	v *metric.Version, deploy bool) error {
	if deploy {
		if err := checkOnline(ctx, tx, project, m.ID, &v.Definition); err != nil {
			return err
		}
	}
	// Numbers are never used again: versions are only deleted together with their metric.
	if _, err := sqldb.One(ctx, tx, `SELECT max(number)
		FROM metric_version
		WHERE project_id = $1 AND metric_id = $2`, []any{project, m.ID}, &v.Number); err != nil {
		return err
	}
	v.Number++
	v.MetricID, v.Created, v.Deployed = m.ID, s.options.Now().UnixMilli(), deploy
	if err := insertMetricVersion(ctx, tx, project, v); err != nil || !deploy {
		return err
	}
	return s.deployMetric(ctx, tx, project, d, m, v)
}

// deployMetric makes a stored version the current one of a metric that is held: its definition is copied into the row, and the
// columns follow it.
func (s *Store) deployMetric(
	ctx context.Context,
	tx *events.Commit,
	project int64,
	d *Document,
	m *metric.Metric,
	v *metric.Version,
) error {
	m.Definition, m.Deployed = v.Definition, v.Number
	d.Doc = m.Row()
	err := Metrics.Update(ctx, tx, project, d, s.options.Now(), string(m.Type), sqldb.BoolInt(m.EnabledInProd))
	m.Updated = d.Updated
	return err
}

func insertMetricVersion(ctx context.Context, tx *events.Commit, project int64, v *metric.Version) error {
	v.Seal()
	_, err := tx.Exec(ctx, `INSERT INTO metric_version(project_id, metric_id, number, sha, message, created_ms, doc)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		project, v.MetricID, v.Number, v.SHA, v.Message, v.Created, string(v.Doc()))
	return err
}

const versionColumns = `SELECT number, sha, message, created_ms, doc FROM metric_version WHERE `

func scanVersion(scan func(...any) error, v *metric.Version) error {
	var doc string
	err := scan(&v.Number, &v.SHA, &v.Message, &v.Created, &doc)
	v.Definition = metric.FromDoc(json.RawMessage(doc))
	return err
}

func metricOf(d Document) metric.Metric {
	m := metric.FromRow(d.Doc)
	m.ID, m.Created, m.Updated = d.ID, d.Created, d.Updated
	return m
}
