package resource

import (
	"context"
	"encoding/json"

	"github.com/spangrove/spangrove/pkg/chart"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// savedCharts is the table of the charts that people saved: queries, not results, which are computed whenever a chart is
// shown (events/chart.go).
var savedCharts = collection[chart.Chart]{
	Documents: Documents{Table: "chart", Noun: "chart"},
	many:      "charts",
	decode:    chart.FromDoc,
	stamp:     func(c *chart.Chart, d *Document) { c.ID, c.Created, c.Updated = d.ID, d.Created, d.Updated },
}

// CreateChart saves a chart that is complete and valid, and returns it as it is stored.
func (s *Store) CreateChart(ctx context.Context, projectID int64, c chart.Chart) (chart.Chart, error) {
	d, err := savedCharts.create(ctx, s, "save", projectID, c.Doc())
	return savedCharts.of(d), err
}

// FindCharts lists the ids of all saved charts of a project, oldest first, a page of them, and
// counts all.
func (s *Store) FindCharts(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error) {
	return savedCharts.find(ctx, s, projectID, "", nil, limit, page)
}

// LoadCharts reads saved charts in the order of ids.
func (s *Store) LoadCharts(ctx context.Context, projectID int64, ids []string) ([]chart.Chart, error) {
	return savedCharts.list(ctx, s, projectID, ids)
}

// SavedChart returns a saved chart.
func (s *Store) SavedChart(ctx context.Context, projectID int64, id string) (chart.Chart, error) {
	d, err := savedCharts.One(ctx, s.db, projectID, id)
	return savedCharts.of(d), sqldb.WrapError(s.db, err, "read chart")
}

// UpdateChart changes a saved chart and returns the updated one.
func (s *Store) UpdateChart(ctx context.Context, projectID int64, u chart.Update) (chart.Chart, error) {
	return savedCharts.change(ctx, s, projectID, u.ID, len(u.DateRange)+len(u.Query), func(c *chart.Chart) (json.RawMessage, error) {
		c.Apply(&u)
		return c.Doc(), c.Validate()
	})
}

// DeleteChart deletes a saved chart.
func (s *Store) DeleteChart(ctx context.Context, projectID int64, id string) error {
	return savedCharts.delete(ctx, s, projectID, id)
}
