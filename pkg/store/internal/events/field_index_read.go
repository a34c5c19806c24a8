package events

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// ClampMillis returns the time nearest to one, in Unix milliseconds, that an event may have.
func ClampMillis(ms float64) float64 { return min(max(ms, event.MinMillis), event.MaxMillis) }

// The index of fields answers which fields events have without reading events: rows of (scope, type, name, path) with the first
// and the last day on which the path occurred. A range of time chooses rows whose days overlap with it, so a path that paused
// in between may be listed for a range in which no event has it; never the other way round.

// EachRow calls f for the rows of a scope, in the order of their key.
func (s *Store) EachRow(ctx context.Context, projectID int64, scope string, q query.Search, cond string, more []any,
	f func(typ int, k event.Key)) error {
	args := append([]any{projectID, scope}, more...)
	if q.From != nil {
		args = append(args, dayOf(ClampMillis(*q.From)))
		cond += fmt.Sprintf(" AND last_day >= $%d", len(args))
	}
	if q.To != nil {
		args = append(args, dayOf(ClampMillis(*q.To)))
		cond += fmt.Sprintf(" AND first_day <= $%d", len(args))
	}
	return sqldb.Each(ctx, s.db, `SELECT type, name, path
		FROM field_index
		WHERE project_id = $1 AND scope = $2`+cond+`
		ORDER BY type, name, path`, args,
		func(scan func(...any) error) error {
			var typ int
			var k event.Key
			if err := scan(&typ, &k.Name, &k.Path); err != nil {
				return err
			}
			k.Type = query.TypeOf(typ)
			f(typ, k)
			return nil
		})
}

// ExplanationSuffix ends the name of the member that explains a metric's value.
const ExplanationSuffix = "_explanation"

// MetricNames lists the metrics that events of a project carry, sorted.
func (s *Store) MetricNames(ctx context.Context, projectID int64) ([]string, error) {
	ctx, end, err := s.HeavyRead(ctx, projectID, 1)
	if err != nil {
		return nil, err
	}
	defer end()
	const under = "metrics."
	paths := map[string]bool{}
	// "/" is the character after ".", so the range holds exactly the paths that begin with "metrics.", and the key's index finds it.
	const within = " AND path >= $3 AND path < $4"
	err = s.EachRow(ctx, projectID, ScopeAll, query.Search{}, within, []any{under, "metrics/"}, func(typ int, k event.Key) {
		if typ != FieldIndexDataset {
			paths[k.Path] = true
		}
	})
	var names []string
	for p := range paths {
		// A metric whose value is an object is listed with its members; the metric is the name, and its members are not.
		if i := strings.LastIndexByte(p, '.'); i >= len(under) && paths[p[:i]] {
			continue // within a value
		}
		if main, ok := strings.CutSuffix(p, ExplanationSuffix); ok && paths[main] {
			continue
		}
		names = append(names, p[len(under):])
	}
	slices.Sort(names)
	return names, sqldb.WrapError(s.db, err, "read field index")
}
