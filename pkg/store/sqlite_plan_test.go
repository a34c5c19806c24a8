package store

import (
	"strings"
	"testing"

	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// TestSQLitePlans holds the index by which each search finds its events, with a range of time and without one.
func TestSQLitePlans(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{})
	is := func(field, typ, value string) string {
		return `{"field":"` + field + `","operator":"is","type":"` + typ + `","value":"` + value + `"}`
	}
	const id = "6b0f2c1e-0f5d-4d53-9a52-0d1f4a3f8a11"
	session, model := is("session_id", "id", id), is("event_type", "string", "model")
	for _, tt := range []struct{ name, filters, index string }{
		{"all", "", "event_start (project_id=?"},
		{"session", session, "event_session (session_rowid=?)"},
		{"session and type", session + "," + model, "event_session (session_rowid=?)"},
		{"event", is("event_id", "id", id), "AND event_id=?)"},
		{"run", is("metadata.run_id", "string", "r"), "event_run (project_id=? AND run_id=?)"},
		{"user", is("user_properties.user_id", "string", "u"), "event_user (project_id=? AND user_id=?"},
		{"type", model, "event_start (project_id=?"},
		{"sessions", is("event_type", "string", "session"), "event_session_start (project_id=?"},
	} {
		for _, ranged := range []bool{false, true} {
			filters, err := query.ParseFilters([]byte("["+tt.filters+"]"), "filters")
			if err != nil {
				t.Fatal(err)
			}
			q := query.Search{Filters: filters, Limit: 100}
			from, to := 1790000000000.0, 1795000000000.0
			if ranged {
				q.From, q.To = &from, &to
			}
			b := query.NewBuilder(query.SQLite)
			where := query.CompileSearch(b, 1, &q).Where
			for _, text := range []string{
				`SELECT e.event_id FROM ` + query.SQLite.From() + ` WHERE ` + where + ` ORDER BY e.start_ms DESC, e.event_id DESC LIMIT 100`,
				`SELECT count(*) FROM event AS e WHERE ` + where,
			} {
				if plan := explain(t, s.db, text, b.Args()); !strings.Contains(plan, tt.index) {
					t.Errorf("%s, range %v: %s\nwant index %s:\n%s", tt.name, ranged, text, tt.index, plan)
				}
			}
		}
	}
}

// explain returns the lines of SQLite's plan of a statement.
func explain(t *testing.T, db sqldb.Conn, text string, args []any) string {
	t.Helper()
	var lines []string
	err := sqldb.Each(t.Context(), db, `EXPLAIN QUERY PLAN `+text, args, func(scan func(...any) error) error {
		var id, parent, unused int
		var line string
		err := scan(&id, &parent, &unused, &line)
		lines = append(lines, line)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return strings.Join(lines, "\n")
}
