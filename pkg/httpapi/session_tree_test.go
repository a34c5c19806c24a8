package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/wire"
)

// TestRememberedTrees answers with large trees, several versions of each: of all that is remembered of them there are so many rows at most, and the
// newest are among them.
func TestRememberedTrees(t *testing.T) {
	t.Parallel()
	trees := newTrees()
	remembered := func() (rows int) {
		for _, v := range trees.last.Values() {
			for _, version := range v.list[:cap(v.list)] {
				rows += len(version.rows)
			}
		}
		return rows
	}
	rows := make([]wire.TreeRow, maxTreeRows)
	for i := range rows {
		rows[i].ID = uuid.NewSHA1(uuid.Nil, fmt.Append(nil, i))
	}
	answer := func(session, version int, since string) string {
		rows[0].Name = fmt.Sprint(session, version)
		return string(trees.answer(treeKey{1, uuid.NewSHA1(uuid.Nil, fmt.Append(nil, "session", session))},
			treeAnswer{rows: rows, whole: true, complete: true, total: len(rows), since: since}))
	}
	const sessions = rememberedRows/maxTreeRows/maxTreeVersions + 2
	for session := range sessions {
		since := ""
		for version := range maxTreeVersions + 2 {
			text := answer(session, version, since)
			if isChange := strings.Contains(text, `"since"`); isChange != (version > 0) {
				t.Errorf("session %d, version %d: %.100s", session, version, text)
			}
			_, since, _ = strings.Cut(text, `"touched":"`)
			since, _, _ = strings.Cut(since, `"`)
		}
		if n := remembered(); n > rememberedRows || n != trees.rows {
			t.Fatalf("%d rows are remembered after %d sessions, counted as %d; at most %d may be", n, session+1, trees.rows, rememberedRows)
		}
	}
	if n := remembered(); n < rememberedRows-maxTreeVersions*maxTreeRows {
		t.Errorf("only %d rows are remembered", n)
	}
}
