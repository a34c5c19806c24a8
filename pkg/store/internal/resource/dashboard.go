package resource

import (
	"context"
	"encoding/json"

	"github.com/spangrove/spangrove/pkg/dashboard"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// dashboards is the table of dashboards: places of saved charts on a page.
var dashboards = collection[dashboard.Dashboard]{
	Documents: Documents{Table: "dashboard", Noun: "dashboard"},
	many:      "dashboards",
	decode:    dashboard.FromDoc,
	stamp:     func(v *dashboard.Dashboard, d *Document) { v.ID, v.Created, v.Updated = d.ID, d.Created, d.Updated },
}

// CreateDashboard saves a dashboard that is valid, and returns it as it is stored.
func (s *Store) CreateDashboard(ctx context.Context, projectID int64, v dashboard.Dashboard) (dashboard.Dashboard, error) {
	d, err := dashboards.create(ctx, s, "save", projectID, v.Doc())
	return dashboards.of(d), err
}

// FindDashboards lists the ids of all dashboards of a project, oldest first, a page of them, and counts all.
func (s *Store) FindDashboards(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error) {
	return dashboards.find(ctx, s, projectID, "", nil, limit, page)
}

// LoadDashboards reads dashboards in the order of ids.
func (s *Store) LoadDashboards(ctx context.Context, projectID int64, ids []string) ([]dashboard.Dashboard, error) {
	return dashboards.list(ctx, s, projectID, ids)
}

// Dashboard returns a dashboard.
func (s *Store) Dashboard(ctx context.Context, projectID int64, id string) (dashboard.Dashboard, error) {
	d, err := dashboards.One(ctx, s.db, projectID, id)
	return dashboards.of(d), sqldb.WrapError(s.db, err, "read dashboard")
}

// UpdateDashboard changes a dashboard and returns the updated one.
func (s *Store) UpdateDashboard(ctx context.Context, projectID int64, u dashboard.Update) (dashboard.Dashboard, error) {
	return dashboards.change(ctx, s, projectID, u.ID, len(u.Layout), func(v *dashboard.Dashboard) (json.RawMessage, error) {
		v.Apply(&u)
		return v.Doc(), v.Validate()
	})
}

// DeleteDashboard deletes a dashboard.
func (s *Store) DeleteDashboard(ctx context.Context, projectID int64, id string) error {
	return dashboards.delete(ctx, s, projectID, id)
}
