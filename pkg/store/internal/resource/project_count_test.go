package resource

import (
	"testing"

	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// The rows of a project that this program has made need no count at the next start, which would read all of them.
func TestNewProjectIsCounted(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	p, err := s.CreateProject(t.Context(), project.Project{Name: "new"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateProject(t.Context(), project.Project{Name: "new"}); err == nil {
		t.Fatal("two projects of one name")
	}
	var rows, bytes int64
	_, err = sqldb.One(t.Context(), s.db, `SELECT count(*), sum(bytes) FROM stored_bytes WHERE project_id = $1 AND writer = -1`, []any{p.ID}, &rows, &bytes)
	if err != nil || rows != 1 || bytes != 0 {
		t.Errorf("%d rows of %d bytes say from when on commits are counted, want one of 0; %v", rows, bytes, err)
	}
}
