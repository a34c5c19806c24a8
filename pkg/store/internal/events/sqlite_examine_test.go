package events

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// planned is a connection that collects how SQLite runs what is read by it.
type planned struct {
	sqldb.Conn
	plan []string
}

func (p *planned) Query(ctx context.Context, text string, args ...any) (sqldb.Rows, error) {
	err := sqldb.Each(ctx, p.Conn, `EXPLAIN QUERY PLAN `+text, args, func(scan func(...any) error) error {
		var id, parent, unused int
		var detail string
		err := scan(&id, &parent, &unused, &detail)
		p.plan = append(p.plan, detail)
		return err
	})
	if err != nil {
		return nil, err
	}
	return p.Conn.Query(ctx, text, args...)
}

// The events of a session are found by their session: the index of keys has them in the order that is asked for, after reading all events
// of the project.
func TestSessionIsReadByItsIndex(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{})
	p := &planned{Conn: s.db}
	if err := s.eachOfSession(t.Context(), p, 1, uuid.New(), func([]*Stored) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if plan := strings.Join(p.plan, "; "); !strings.Contains(plan, "event_session (session_rowid=?") {
		t.Error(plan)
	}
}
