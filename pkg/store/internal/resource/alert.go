package resource

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spangrove/spangrove/pkg/alert"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// alerts is the table of alerts. Besides the document a row has where the alert stands and when it is due, which the server
// that evaluates it writes (alert_claim.go): that is no change of the document.
var alerts = collection[alert.Alert]{
	Documents: Documents{Table: "alert", Noun: "alert", Columns: []string{"due_ms", "lease_ms", "status"}},
	many:      "alerts",
	decode:    alert.FromDoc,
	stamp:     func(a *alert.Alert, d *Document) { a.ID, a.Created, a.Updated = d.ID, d.Created, d.Updated },
}

// CreateAlert stores an alert that is valid, and returns it as it is stored. It is due at once.
func (s *Store) CreateAlert(ctx context.Context, projectID int64, a alert.Alert) (alert.Alert, error) {
	now := s.options.Now()
	d := Document{ID: NewDocumentID(now), Version: 1, Created: now.UnixMilli(), Doc: a.Doc()}
	a.Next = firstDue(&a, now)
	err := s.ChangeDocs(ctx, len(d.Doc), "save alert", func(ctx context.Context, tx *events.Commit) error {
		if err := LockBound(ctx, tx, projectID, alerts.Documents); err != nil {
			return err
		}
		var n int64
		if _, err := sqldb.One(ctx, tx, `SELECT count(*) FROM alert WHERE project_id = $1`, []any{projectID}, &n); err != nil {
			return err
		}
		if n >= alert.MaxPerProject {
			return fault.New(fault.Invalid, "a project has at most %d alerts", alert.MaxPerProject)
		}
		return alerts.Insert(ctx, tx, projectID, d, a.Next, 0, "{}")
	})
	alerts.stamp(&a, &d)
	return a, err
}

// firstDue returns when an alert that was made or changed is due: at once. The time need not be on the alert's grid.
func firstDue(a *alert.Alert, now time.Time) int64 {
	if !a.Enabled {
		return 0
	}
	return now.UnixMilli()
}

// FindAlerts lists the ids of all alerts of a project, oldest first, a page of them, and counts all.
func (s *Store) FindAlerts(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error) {
	return alerts.find(ctx, s, projectID, "", nil, limit, page)
}

// LoadAlerts reads alerts with their states in the order of ids. Those that are gone are left out.
func (s *Store) LoadAlerts(ctx context.Context, projectID int64, ids []string) ([]alert.Alert, error) {
	list, err := alerts.list(ctx, s, projectID, ids)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	places := make(map[string]*alert.Alert, len(list))
	names := make([]string, len(list))
	for i := range list {
		places[list[i].ID], names[i] = &list[i], list[i].ID
	}
	cond, args := s.db.AnyText("id", 2, names)
	err = sqldb.Each(ctx, s.db, `SELECT id, due_ms, status FROM alert WHERE project_id = $1 AND `+cond, append([]any{projectID}, args...),
		func(scan func(...any) error) error {
			var id, status string
			var due int64
			err := scan(&id, &due, &status)
			if a := places[id]; a != nil {
				a.Next, a.Status = due, alert.StatusFromDoc(json.RawMessage(status))
			}
			return err
		})
	return list, sqldb.WrapError(s.db, err, "read alerts")
}

// Alert returns an alert with its state. fault.NotFound if there is none.
func (s *Store) Alert(ctx context.Context, projectID int64, id string) (alert.Alert, error) {
	list, err := s.LoadAlerts(ctx, projectID, []string{id})
	if err == nil && len(list) == 0 {
		err = alerts.Missing(id)
	}
	if err != nil {
		return alert.Alert{}, err
	}
	return list[0], nil
}

// ChangeAlert hands an alert to change, and stores what change made of it. Errors of change are the answer, and nothing is stored.
// change may run more than once, each time with what is stored then.
//
// An alert that measures something else after the change is due at once, and the time for which it was out of bounds counts anew. One that is
// switched off loses its state, and an incident that was told is over. One that gets a channel after its others were told of an incident is due
// at once, too, and tells it. One that is being evaluated is evaluated anew, if the change is of what that comes to or who is told.
func (s *Store) ChangeAlert(ctx context.Context, projectID int64, id string, change func(*alert.Alert) error) (a alert.Alert, err error) {
	err = s.ChangeDocs(ctx, 0, "update alert", func(ctx context.Context, tx *events.Commit) error {
		d, err := alerts.getForUpdate(ctx, tx, projectID, id)
		if err != nil {
			return err
		}
		var lease int64
		var status string
		a = alerts.of(d)
		if _, err := sqldb.One(ctx, tx, `SELECT due_ms, lease_ms, status FROM alert WHERE project_id = $1 AND id = $2`, []any{projectID, id},
			&a.Next, &lease, &status); err != nil {
			return err
		}
		a.Status = alert.StatusFromDoc(json.RawMessage(status))
		before := a
		if err := change(&a); err != nil {
			return err
		}
		now := s.options.Now()
		if !a.SameQuestion(&before) {
			a.Next, lease, a.Status.BreachSince = firstDue(&a, now), 0, 0
		}
		if a.Status.Join(&a, &before) {
			a.Next, lease = firstDue(&a, now), 0
		}
		if !a.SameNotices(&before) {
			lease = 0 // whoever evaluates it now would go by what was before; it is still due
		}
		var stop *alert.Change
		var told []alert.Notice
		if before.Enabled && !a.Enabled && before.Status.State != "" {
			stop, told = s.stopped(&a, now)
		}
		d.Doc = a.Doc()
		if err := alerts.Update(ctx, tx, projectID, &d, now, a.Next, lease, string(a.Status.Doc())); err != nil {
			return err
		}
		alerts.stamp(&a, &d)
		return s.noteAlert(ctx, tx, projectID, id, stop, told)
	})
	return a, err
}

// stopped ends the state of an alert that was switched off.
func (s *Store) stopped(a *alert.Alert, now time.Time) (*alert.Change, []alert.Notice) {
	c := alert.Change{At: now.UnixMilli(), From: a.Status.State, Incident: a.Status.Incident}
	var list []alert.Notice
	if tell := a.Status.Stop(a); tell.Kind != "" {
		for i := range tell.To {
			n := alert.NewNotice(a, &tell.To[i], &alert.Reading{At: c.At, Error: "the alert was switched off"}, tell, alert.Measures{})
			list = append(list, n)
		}
	}
	return &c, list
}

// DeleteAlert deletes an alert with its history. Notices that wait are not sent any more.
func (s *Store) DeleteAlert(ctx context.Context, projectID int64, id string) error {
	return s.ChangeDocs(ctx, 0, "delete alert", func(ctx context.Context, tx *events.Commit) error {
		if err := alerts.remove(ctx, tx, projectID, id); err != nil {
			return err
		}
		// At most alert.MaxChanges and alert.MaxNotices rows, and those that wait.
		for _, table := range []string{"alert_change", "alert_notice"} {
			if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE project_id = $1 AND alert_id = $2`, projectID, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// AlertChanges lists how the state of an alert has changed, newest first, a page of it, and counts all that is kept. fault.NotFound
// if there is no such alert.
func (s *Store) AlertChanges(ctx context.Context, projectID int64, id string, limit, page int) (list []alert.Change, total int, err error) {
	total, err = s.alertRows(ctx, projectID, id, "alert_change", "at_ms, record", limit, page, func(scan func(...any) error) error {
		var at int64
		var record string
		err := scan(&at, &record)
		c := alert.ChangeFromDoc(json.RawMessage(record))
		c.At = at
		list = append(list, c)
		return err
	})
	return list, total, err
}

// AlertNotices lists the notices of an alert, newest first, as AlertChanges does.
func (s *Store) AlertNotices(ctx context.Context, projectID int64, id string, limit, page int) (list []alert.Notice, total int, err error) {
	total, err = s.alertRows(ctx, projectID, id, "alert_notice", noticeColumns, limit, page, func(scan func(...any) error) error {
		_, n, err := scanNotice(scan)
		list = append(list, n)
		return err
	})
	return list, total, err
}

// alertRows reads a page of what belongs to an alert.
func (s *Store) alertRows(
	ctx context.Context,
	projectID int64,
	id, table, columns string,
	limit, page int,
	scan func(func(...any) error) error,
) (total int, err error) {
	if _, err := alerts.One(ctx, s.db, projectID, id); err != nil {
		return 0, sqldb.WrapError(s.db, err, "read alert")
	}
	key := []any{projectID, id}
	where := ` FROM ` + table + ` WHERE project_id = $1 AND alert_id = $2`
	if _, err = sqldb.One(ctx, s.db, `SELECT count(*)`+where, key, &total); err == nil {
		err = sqldb.Each(ctx, s.db, `SELECT `+columns+where+` ORDER BY id DESC LIMIT $3 OFFSET $4`, append(key, limit, (page-1)*limit), scan)
	}
	return total, sqldb.WrapError(s.db, err, "read the history of an alert")
}
