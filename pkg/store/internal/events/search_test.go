package events

import (
	"strings"
	"testing"

	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// The index of failed events has the condition of the filter "error exists", or no database would use it.
func TestErrorsAreFoundByTheirIndex(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{})
	filters, err := query.ParseFilters([]byte(`[{"field":"error","operator":"exists"}]`), "filters")
	if err != nil {
		t.Fatal(err)
	}
	from, to := 1000.0, 2000.0
	b := query.NewBuilder(query.SQLite)
	plan := query.CompileSearch(b, testProject, &query.Search{Filters: filters, From: &from, To: &to})
	var steps []string
	err = sqldb.Each(t.Context(), s.db, `EXPLAIN QUERY PLAN SELECT count(*) FROM event e WHERE `+plan.Where, b.Args(),
		func(scan func(...any) error) error {
			var id, parent, unused int
			var step string
			err := scan(&id, &parent, &unused, &step)
			steps = append(steps, step)
			return err
		})
	if err != nil || !strings.Contains(strings.Join(steps, "\n"), "INDEX event_error (project_id=? AND start_ms>? AND start_ms<?)") {
		t.Errorf("%q %v", steps, err)
	}
}
