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
	var files []string
	for _, dir := range []string{".", "internal/sqldb", "internal/writer", "internal/events", "internal/resource", "internal/evalqueue"} {
		list, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(list) == 0 {
			t.Fatal(dir, err)
		}
		files = append(files, list...)
	}
	name := regexp.MustCompile(`(?i)\b\w*(sqlite|postgres|pgx)\w*`)
	allowed := map[string]bool{"OpenSQLite": true, "NewSQLiteBulk": true, "OpenPostgres": true, "NewPostgresBulk": true, "SQLite": true, "Postgres": true}
	for _, file := range files {
		if base := filepath.Base(file); strings.HasSuffix(base, "_test.go") || strings.HasPrefix(base, "sqlite") || strings.HasPrefix(base, "postgres") {
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
			if filepath.Base(file) == "migrate.go" {
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
