package sqldb

import (
	"io/fs"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tablesOf returns the tables of a schema, with those of their columns that have the same names in both
// databases.
func tablesOf(t *testing.T, dialect string) map[string][]string {
	t.Helper()
	files, err := fs.Glob(migrations, "migrations/"+dialect+"/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	table := regexp.MustCompile(`(?s)CREATE TABLE (\w+) \((.*?)\n\)`)
	column := regexp.MustCompile(`(?m)^\s*([a-z]\w+)\s`)
	found := map[string][]string{}
	for _, file := range files {
		text, err := fs.ReadFile(migrations, file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range table.FindAllSubmatch(text, -1) {
			for _, c := range column.FindAllSubmatch(m[2], -1) {
				found[string(m[1])] = append(found[string(m[1])], string(c[1]))
			}
		}
	}
	return found
}

// A row that belongs to a project says so in both databases: what deletes a project's rows goes by it.
func TestSchemasHaveTheSameTables(t *testing.T) {
	t.Parallel()
	ofProject := func(dialect string) (list []string) {
		for name, columns := range tablesOf(t, dialect) {
			if slices.Contains(columns, "project_id") {
				list = append(list, name)
			}
		}
		slices.Sort(list)
		return list
	}
	sqlite := slices.DeleteFunc(ofProject("sqlite"), func(name string) bool {
		return name == "id_filter_day" || name == "far_event" // PostgreSQL finds ids in all partitions
	})
	if diff := cmp.Diff(sqlite, ofProject("postgres")); diff != "" || len(sqlite) < 20 {
		t.Errorf("tables with a project's rows (-sqlite +postgres):\n%s", diff)
	}
}
