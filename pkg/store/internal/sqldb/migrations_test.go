package sqldb

import (
	"io/fs"
	"regexp"
	"slices"
	"testing"
	"github.com/spangrove/spangrove/pkg/store/internal/resource"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Every table with a project's rows must be deleted with the project.
func TestDeletionKnowsEveryTable(t *testing.T) {
	t.Parallel()
	known := []string{"event", "api_key", "id_filter_day", "far_event"} // the last two go with their events: removeIDs
	for _, t := range slices.Concat(resource.ofProject, resource.documentTables) {
		known = append(known, t.table)
	}
	table := regexp.MustCompile(`(?s)CREATE TABLE (\w+) \((.*?)\n\)`)
	column := regexp.MustCompile(`(?m)^\s*project_id\s`)
	for _, dialect := range []string{"sqlite", "postgres"} {
		files, err := fs.Glob(migrations, "migrations/"+dialect+"/*.sql")
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			text, err := fs.ReadFile(migrations, file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range table.FindAllSubmatch(text, -1) {
				if name := string(m[1]); column.Match(m[2]) && !slices.Contains(known, name) {
					t.Errorf("%s: rows of %s stay when their project is deleted: add it to ofProject in project_delete.go, or to documentTables", file, name)
				}
			}
		}
	}
}
