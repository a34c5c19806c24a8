package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
)

func clampMillis(ms float64) float64 { return min(max(ms, event.MinMillis), event.MaxMillis) }

// eachRow calls f for the rows of a scope, in the order of their key.
func (s *Store) eachRow(ctx context.Context, projectID int64, scope string, q query.Search, cond string, more []any,
	f func(typ int, k event.Key)) error {
	args := append([]any{projectID, scope}, more...)
	if q.From != nil {
		args = append(args, dayOf(clampMillis(*q.From)))
		cond += fmt.Sprintf(" AND last_day >= $%d", len(args))
	}
	if q.To != nil {
		args = append(args, dayOf(clampMillis(*q.To)))
		cond += fmt.Sprintf(" AND first_day <= $%d", len(args))
	}
	return each(ctx, s.db, `SELECT type, name, path
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

// explanationSuffix ends the name of the member that explains a metric's value.
const explanationSuffix = "_explanation"

// MetricNames lists the metrics that events of a project carry, sorted. What a metric holds
// in addition to its value, such as its explanation, is not a metric.
func (s *Store) MetricNames(ctx context.Context, projectID int64) ([]string, error) {
	ctx, end, err := s.heavyRead(ctx, projectID, 1)
	if err != nil {
		return nil, err
	}
	defer end()
	const under = "metrics."
	paths := map[string]bool{}
	const within = " AND path >= $3 AND path < $4"
	err = s.eachRow(ctx, projectID, scopeAll, query.Search{}, within, []any{under, "metrics/"}, func(typ int, k event.Key) {
		if typ != fieldIndexDataset {
			paths[k.Path] = true
		}
	})
	var names []string
	for p := range paths {
		if i := strings.LastIndexByte(p, '.'); i >= len(under) && paths[p[:i]] {
			continue // within a value
		}
		if main, ok := strings.CutSuffix(p, explanationSuffix); ok && paths[main] {
			continue
		}
		names = append(names, p[len(under):])
	}
	slices.Sort(names)
	return names, wrapDBError(s.db, err, "read field index")
}
