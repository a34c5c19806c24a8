package resource

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// The events of a run are found by their sessions, also where SQLite could as well read all that the project has.
func TestRunsAreReadByTheirSessions(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	b := query.NewBuilder(s.events.Dialect)
	where := s.ofSessions(b, 1, []uuid.UUID{uuid.New(), uuid.New()})
	for _, columns := range []string{"DISTINCT e.type, e.name FROM event AS e", s.events.Columns() + " FROM " + s.events.Dialect.From()} {
		var steps []string
		err := sqldb.Each(t.Context(), s.db, `EXPLAIN QUERY PLAN SELECT `+columns+` WHERE `+where, b.Args(), func(scan func(...any) error) error {
			var id, parent, unused int
			var step string
			err := scan(&id, &parent, &unused, &step)
			steps = append(steps, step)
			return err
		})
		if err != nil || !strings.Contains(strings.Join(steps, "\n"), "SEARCH e USING INDEX event_session (session_rowid=?)") {
			t.Errorf("%q %v", steps, err)
		}
	}
}
