package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
)

// Catalogue lists which keys the events of a project have, by type and name of event, and the
// datasets they name. Of q, only From, To, RunID and InRuns count. It knows days: a key is listed
// if it was first seen before the range ends and last seen after it begins, and stays listed when
// the events that had it are deleted.
func (s *Store) Catalogue(ctx context.Context, projectID int64, q query.Search) (*event.Catalogue, error) {
	scope := scopeAll
	switch {
	case q.RunID != "":
		scope = scopeRun + q.RunID
	case q.InRuns:
		scope = scopeRuns
	}
	c := &event.Catalogue{}
	err := s.eachRow(ctx, projectID, scope, q, "", nil, func(typ int, k event.Key) {
		if typ == catalogueDataset {
			c.Datasets = append(c.Datasets, k.Path)
			return
		}
		c.Keys = append(c.Keys, k)
	})
	return c, s.kind(err, "read catalogue")
}

// eachRow calls f for the rows of a scope, in the order of their key.
func (s *Store) eachRow(ctx context.Context, projectID int64, scope string, q query.Search, cond string, more []any, f func(typ int, k event.Key)) error {
	args := append([]any{projectID, scope}, more...)
	if q.From != nil {
		args = append(args, dayOf(min(max(*q.From, event.MinMillis), event.MaxMillis)))
		cond += fmt.Sprintf(" AND last_day >= $%d", len(args))
	}
	if q.To != nil {
		args = append(args, dayOf(min(max(*q.To, event.MinMillis), event.MaxMillis)))
		cond += fmt.Sprintf(" AND first_day <= $%d", len(args))
	}
	return each(ctx, s.db, `SELECT type, name, path FROM catalogue WHERE project_id = $1 AND scope = $2`+cond+` ORDER BY type, name, path`, args,
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

// explanationSuffix ends the name of what explains a metric's value, beside it.
const explanationSuffix = "_explanation"

// MetricNames lists the metrics that events of a project carry, sorted. What a metric holds
// beside its value, such as its explanation, is none itself.
func (s *Store) MetricNames(ctx context.Context, projectID int64) ([]string, error) {
	const under = "metrics."
	paths := map[string]bool{}
	err := s.eachRow(ctx, projectID, scopeAll, query.Search{}, " AND path >= $3 AND path < $4", []any{under, "metrics/"}, func(typ int, k event.Key) {
		if typ != catalogueDataset {
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
	return names, s.kind(err, "read catalogue")
}
