package store

import (
	"context"

	"github.com/spangrove/spangrove/pkg/chart"
)

var savedCharts = documents{table: "chart", noun: "chart"}

// CreateChart saves a chart that is complete and valid, and returns it as it is stored.
func (s *Store) CreateChart(ctx context.Context, projectID int64, c chart.Chart) (chart.Chart, error) {
	now := s.options.Now()
	d := document{id: newDocumentID(now), version: 1, created: now.UnixMilli(), doc: c.Doc()}
	err := s.changeDocs(ctx, len(d.doc), "save chart", func(ctx context.Context, tx *commit) error {
		return savedCharts.insert(ctx, tx, projectID, d)
	})
	return chartOf(d), err
}

// FindCharts lists the ids of all saved charts of a project, oldest first, a page of them, and
// counts all.
func (s *Store) FindCharts(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error) {
	ids, total, err = savedCharts.find(ctx, s.db, projectID, "", nil, limit, page)
	return ids, total, wrapDBError(s.db, err, "find charts")
}

// LoadCharts reads saved charts in the order of ids. Those that are gone are left out.
func (s *Store) LoadCharts(ctx context.Context, projectID int64, ids []string) ([]chart.Chart, error) {
	docs, err := savedCharts.load(ctx, s.db, projectID, ids)
	list := make([]chart.Chart, len(docs))
	for i, d := range docs {
		list[i] = chartOf(d)
	}
	return list, wrapDBError(s.db, err, "read charts")
}

// SavedChart returns a saved chart. fault.NotFound if there is none.
func (s *Store) SavedChart(ctx context.Context, projectID int64, id string) (chart.Chart, error) {
	d, err := savedCharts.one(ctx, s.db, projectID, id)
	return chartOf(d), wrapDBError(s.db, err, "read chart")
}

// UpdateChart changes a saved chart and returns the updated one. fault.NotFound if there is none,
// fault.Invalid if it would break a rule.
func (s *Store) UpdateChart(ctx context.Context, projectID int64, u chart.Update) (c chart.Chart, err error) {
	err = s.changeDocs(ctx, len(u.DateRange)+len(u.Query), "update chart", func(ctx context.Context, tx *commit) error {
		d, err := savedCharts.getForUpdate(ctx, tx, projectID, u.ID)
		if err != nil {
			return err
		}
		c = chartOf(d)
		c.Apply(&u)
		if err := c.Validate(); err != nil {
			return err
		}
		d.doc = c.Doc()
		err = savedCharts.update(ctx, tx, projectID, &d, s.options.Now())
		c.Updated = d.updated
		return err
	})
	return c, err
}

// DeleteChart deletes a saved chart. fault.NotFound if there is none.
func (s *Store) DeleteChart(ctx context.Context, projectID int64, id string) error {
	return s.changeDocs(ctx, 0, "delete chart", func(ctx context.Context, tx *commit) error {
		return savedCharts.remove(ctx, tx, projectID, id)
	})
}

func chartOf(d document) chart.Chart {
	c := chart.FromDoc(d.doc)
	c.ID, c.Created, c.Updated = d.id, d.created, d.updated
	return c
}
