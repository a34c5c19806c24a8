package resource

import (
	"slices"
	"testing"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Every table with a project's rows must be deleted with the project.
func TestDeletionKnowsEveryTable(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	known := []string{"event", "api_key", "id_filter_day", "far_event", "segment"} // id_filter_day and far_event go with their events
	for _, t := range slices.Concat(ofProject, documentTables) {
		known = append(known, t.table)
	}
	n := 0
	err := sqldb.Each(t.Context(), s.db, `SELECT m.name
		FROM sqlite_master m, pragma_table_info(m.name) c
		WHERE m.type = 'table' AND c.name = 'project_id'`, nil, func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		if n++; !slices.Contains(known, name) {
			t.Errorf("rows of %s stay when their project is deleted: add it to ofProject in project_delete.go, or to documentTables", name)
		}
		return err
	})
	if err != nil || n < 20 {
		t.Fatal(n, err)
	}
}
