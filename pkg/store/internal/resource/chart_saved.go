package resource

import (
	"context"

	"github.com/spangrove/spangrove/pkg/chart"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

var savedCharts = Documents{Table: "chart", Noun: "chart"}

// CreateChart saves a chart that is complete and valid, and returns it as it is stored.
func (s *Store) CreateChart(ctx context.Context, projectID int64, c chart.Chart) (chart.Chart, error) {
	now := s.options.Now()
	d := Document{ID: NewDocumentID(now), Version: 1, Created: now.UnixMilli(), Doc: c.Doc()}
	err := s.ChangeDocs(ctx, len(d.Doc), "save chart", func(ctx context.Context, tx *events.Commit) error {
		return savedCharts.Insert(ctx, tx, projectID, d)
	})
	return chartOf(d), err
}

// FindCharts lists the ids of all saved charts of a project, oldest first, a page of them, and
// counts all.
func (s *Store) FindCharts(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error) {
	ids, total, err = savedCharts.Find(ctx, s.db, projectID, "", nil, limit, page)
	return ids, total, sqldb.WrapError(s.db, err, "find charts")
}

// LoadCharts reads saved charts in the order of ids.
func (s *Store) LoadCharts(ctx context.Context, projectID int64, ids []string) ([]chart.Chart, error) {
	docs, err := savedCharts.load(ctx, s.db, projectID, ids)
	list := make([]chart.Chart, len(docs))
	for i, d := range docs {
		list[i] = chartOf(d)
	}
	return list, sqldb.WrapError(s.db, err, "read charts")
}

// SavedChart returns a saved chart.
func (s *Store) SavedChart(ctx context.Context, projectID int64, id string) (chart.Chart, error) {
	d, err := savedCharts.One(ctx, s.db, projectID, id)
	return chartOf(d), sqldb.WrapError(s.db, err, "read chart")
}

// UpdateChart changes a saved chart and returns the updated one.
func (s *Store) UpdateChart(ctx context.Context, projectID int64, u chart.Update) (c chart.Chart, err error) {
	err = s.ChangeDocs(ctx, len(u.DateRange)+len(u.Query), "update chart", func(ctx context.Context, tx *events.Commit) error {
		d, err := savedCharts.getForUpdate(ctx, tx, projectID, u.ID)
		if err != nil {
			return err
		}
		c = chartOf(d)
		c.Apply(&u)
		if err := c.Validate(); err != nil {
			return err
		}
		d.Doc = c.Doc()
		err = savedCharts.Update(ctx, tx, projectID, &d, s.options.Now())
		c.Updated = d.Updated
		return err
	})
	return c, err
}

// DeleteChart deletes a saved chart.
func (s *Store) DeleteChart(ctx context.Context, projectID int64, id string) error {
	return s.ChangeDocs(ctx, 0, "delete chart", func(ctx context.Context, tx *events.Commit) error {
		return savedCharts.remove(ctx, tx, projectID, id)
	})
}

func chartOf(d Document) chart.Chart {
	c := chart.FromDoc(d.Doc)
	c.ID, c.Created, c.Updated = d.ID, d.Created, d.Updated
	return c
}
