package store

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What differs between the databases stands in files with their names. Opening, migrating and
// the field of the options that says so are all that others know of them.
func TestDatabasesStayApart(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`(?i)\b\w*(sqlite|postgres|pgx)\w*`)
	allowed := map[string]bool{"openSQLite": true, "OpenSQLite": true, "newSQLiteBulk": true, "newPostgresBulk": true, "openPostgres": true, "OpenPostgres": true,
		"migrateSQLite": true, "migratePostgres": true, "SQLite": true, "Postgres": true}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "sqlite") || strings.HasPrefix(file, "postgres") {
			continue
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, src, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			if p := i.Path.Value; strings.Contains(p, "pgx") || strings.Contains(p, "modernc") {
				t.Errorf("%s imports a driver: %s", file, p)
			}
		}
		for n, line := range strings.Split(string(src), "\n") {
			code, _, _ := strings.Cut(line, "//")
			if file == "migrate.go" {
				continue // one function for each
			}
			for _, word := range name.FindAllString(code, -1) {
				if !allowed[word] {
					t.Errorf("%s:%d asks which database it is: %s", file, n+1, strings.TrimSpace(line))
				}
			}
		}
	}
}
