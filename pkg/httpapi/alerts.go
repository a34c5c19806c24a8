package httpapi

import (
	"context"
	"net/http"

	"github.com/spangrove/spangrove/pkg/alert"
	"github.com/spangrove/spangrove/pkg/chart"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Alerts is where the alerts of a project are.
type Alerts interface {
	// FindAlerts lists the ids of all alerts of a project, oldest first, a page of them, and counts all.
	FindAlerts(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error)
	// LoadAlerts reads alerts with their states in the order of ids. Those that are gone are left out.
	LoadAlerts(ctx context.Context, projectID int64, ids []string) ([]alert.Alert, error)
	// Alert returns an alert with its state. fault.NotFound if there is none.
	Alert(ctx context.Context, projectID int64, id string) (alert.Alert, error)
	// DeleteAlert deletes an alert with its history; notices that wait are not sent. fault.NotFound if there is none.
	DeleteAlert(ctx context.Context, projectID int64, id string) error
	// AlertChanges lists how the state of an alert has changed, newest first, a page of what is kept, and counts all of that.
	// fault.NotFound if there is no such alert.
	AlertChanges(ctx context.Context, projectID int64, id string, limit, page int) ([]alert.Change, int, error)
	// AlertNotices lists the notices of an alert, likewise.
	AlertNotices(ctx context.Context, projectID int64, id string, limit, page int) ([]alert.Notice, int, error)
}

// AlertKeeper makes alerts, whose secrets it seals, and tests them.
type AlertKeeper interface {
	// CreateAlert stores a new alert. fault.Invalid if it would break a rule, fault.Conflict if this server cannot keep secrets.
	CreateAlert(ctx context.Context, projectID int64, u alert.Update) (alert.Alert, error)
	// UpdateAlert changes an alert and returns the updated one. fault.NotFound if there is none.
	UpdateAlert(ctx context.Context, projectID int64, id string, u alert.Update) (alert.Alert, error)
	// TestAlert measures an alert now and sends a notice to each of its channels, once. fault.NotFound if there is no such alert.
	TestAlert(ctx context.Context, projectID int64, id string) (alert.Reading, []alert.Notice, error)
}

var alertOperations = []apiOperation{
	{"listAlerts", http.MethodGet, []string{"/alerts"}, project.ScopeRead, (*Server).listAlerts},
	{"createAlert", http.MethodPost, []string{"/alerts"}, project.ScopeFull, withAlerts((*Server).createAlert)},
	{"getAlert", http.MethodGet, []string{"/alerts/{alert}"}, project.ScopeRead, (*Server).getAlert},
	{"updateAlert", http.MethodPut, []string{"/alerts/{alert}"}, project.ScopeFull, withAlerts((*Server).updateAlert)},
	{"deleteAlert", http.MethodDelete, []string{"/alerts/{alert}"}, project.ScopeFull, (*Server).deleteAlert},
	{"testAlert", http.MethodPost, []string{"/alerts/{alert}/test"}, project.ScopeFull, withAlerts((*Server).testAlert)},
	{"listAlertHistory", http.MethodGet, []string{"/alerts/{alert}/history"}, project.ScopeRead, (*Server).listAlertHistory},
	{"listAlertNotices", http.MethodGet, []string{"/alerts/{alert}/notices"}, project.ScopeRead, (*Server).listAlertNotices},
}

// withAlerts serves an operation where alerts run at all.
func withAlerts(handle func(*Server, *call) error) func(*Server, *call) error {
	return func(s *Server, c *call) error {
		if s.Alerts == nil {
			return fault.New(fault.Unavailable, "this server runs no alerts: it runs without spangrove_evaluate")
		}
		return handle(s, c)
	}
}

func (s *Server) listAlerts(c *call) error {
	return dataPage(c, s.Store.FindAlerts, s.Store.LoadAlerts, wire.AppendAlert)
}

func (s *Server) createAlert(c *call) error {
	u, err := alertBody(c)
	if err != nil {
		return err
	}
	a, err := s.Alerts.CreateAlert(c.ctx(), c.project.ID, u)
	if err != nil {
		return err
	}
	return s.savedAlert(c, &a)
}

// savedAlert answers with an alert that was stored, and with what in it may not work.
func (s *Server) savedAlert(c *call, a *alert.Alert) error {
	var b rawjson.Builder
	b.Bool("success", true)
	b.Raw("data", wire.AppendAlert(nil, a))
	if list := s.alertWarnings(c, a); len(list) > 0 {
		b.Raw("warnings", rawjson.AppendStrings(nil, list))
	}
	return c.json(&b)
}

// alertWarnings returns what in an alert may not work. The alert is stored: if it cannot be told now, nothing is said.
func (s *Server) alertWarnings(c *call, a *alert.Alert) (list []string) {
	var saved *chart.Chart
	if a.ChartID != "" {
		item, err := s.Store.SavedChart(c.ctx(), c.project.ID, a.ChartID)
		if err != nil {
			return nil
		}
		saved = &item
	}
	if path := wire.AlertPath(a, saved); path != "" {
		list = s.fieldWarnings(c, path)
	}
	if text := wire.WindowWarning(a, saved); text != "" {
		list = append(list, text)
	}
	return list
}

// fieldWarnings returns what is wrong with the field that an alert sums up: that neither an event nor a metric of the project has it.
func (s *Server) fieldWarnings(c *call, path string) []string {
	index, err := s.Store.FieldIndex(c.ctx(), c.project.ID, query.Search{})
	if err != nil || index.Full() {
		return nil
	}
	var known []string
	for _, k := range index.Keys {
		known = append(known, k.Path)
	}
	for m, err := range metric.All(c.ctx(), s.Store, c.project.ID, "") {
		if err != nil {
			return nil
		}
		known = append(known, "metrics."+m.Name)
	}
	return wire.AlertWarnings(path, known)
}

func alertBody(c *call) (alert.Update, error) {
	body, err := c.body()
	if err != nil {
		return alert.Update{}, err
	}
	return wire.DecodeAlert(body)
}

func (s *Server) getAlert(c *call) error {
	a, err := s.Store.Alert(c.ctx(), c.project.ID, c.text("alert"))
	if err != nil {
		return err
	}
	return c.data(wire.AppendAlert(nil, &a))
}

// updateAlert changes the fields that are given.
func (s *Server) updateAlert(c *call) error {
	u, err := alertBody(c)
	if err != nil {
		return err
	}
	a, err := s.Alerts.UpdateAlert(c.ctx(), c.project.ID, c.text("alert"), u)
	if err != nil {
		return err
	}
	return s.savedAlert(c, &a)
}

func (s *Server) deleteAlert(c *call) error {
	id := c.text("alert")
	if err := s.Store.DeleteAlert(c.ctx(), c.project.ID, id); err != nil {
		return err
	}
	return c.dataDeleted("alert", id)
}

func (s *Server) testAlert(c *call) error {
	id := c.text("alert")
	reading, notices, err := s.Alerts.TestAlert(c.ctx(), c.project.ID, id)
	if err != nil {
		return err
	}
	a, err := s.Store.Alert(c.ctx(), c.project.ID, id)
	if err != nil {
		return err
	}
	return c.answer(wire.AlertTest(&a, &reading, notices))
}

func (s *Server) listAlertHistory(c *call) error {
	return ofAlert(c, s.Store.AlertChanges, wire.AppendAlertChange)
}

func (s *Server) listAlertNotices(c *call) error {
	return ofAlert(c, s.Store.AlertNotices, wire.AppendNotice)
}

// ofAlert answers with a page of what belongs to the alert in the path.
func ofAlert[T any](
	c *call,
	read func(ctx context.Context, projectID int64, id string, limit, page int) ([]T, int, error),
	item func(dst []byte, item *T) []byte,
) error {
	limit, page, err := c.page()
	if err != nil {
		return err
	}
	list, total, err := read(c.ctx(), c.project.ID, c.text("alert"), limit, page)
	if err != nil {
		return err
	}
	c.total(total)
	out := []byte(`{"success":true,"data":[`)
	for i := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = item(out, &list[i])
	}
	return c.answer(append(out, "]}"...))
}
