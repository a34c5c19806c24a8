package resource

import (
	"context"
	"encoding/json"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/view"
)

// views is the table of saved views: what somebody wants to see again in the web interface. The table is saved_view since VIEW is a
// word of SQL.
var views = collection[view.View]{
	Documents: Documents{Table: "saved_view", Noun: "view"},
	many:      "views",
	decode:    view.FromDoc,
	stamp:     func(v *view.View, d *Document) { v.ID, v.Created, v.Updated = d.ID, d.Created, d.Updated },
}

// CreateView saves a view that is valid, and returns it as it is stored.
func (s *Store) CreateView(ctx context.Context, projectID int64, v view.View) (view.View, error) {
	d, err := views.create(ctx, s, "save", projectID, v.Doc())
	return views.of(d), err
}

// FindViews lists the ids of all views of a project, oldest first, a page of them, and counts all.
func (s *Store) FindViews(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error) {
	return views.find(ctx, s, projectID, "", nil, limit, page)
}

// LoadViews reads views in the order of ids.
func (s *Store) LoadViews(ctx context.Context, projectID int64, ids []string) ([]view.View, error) {
	return views.list(ctx, s, projectID, ids)
}

// View returns a saved view.
func (s *Store) View(ctx context.Context, projectID int64, id string) (view.View, error) {
	d, err := views.One(ctx, s.db, projectID, id)
	return views.of(d), sqldb.WrapError(s.db, err, "read view")
}

// UpdateView changes a view and returns the updated one.
func (s *Store) UpdateView(ctx context.Context, projectID int64, u view.Update) (view.View, error) {
	return views.change(ctx, s, projectID, u.ID, len(u.State), func(v *view.View) (json.RawMessage, error) {
		v.Apply(&u)
		return v.Doc(), v.Validate()
	})
}

// DeleteView deletes a view.
func (s *Store) DeleteView(ctx context.Context, projectID int64, id string) error {
	return views.delete(ctx, s, projectID, id)
}
