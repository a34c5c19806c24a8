package resource

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// maxDatasets bounds the ids of datasets of runs that an answer lists; which of them, if there are more, is not defined.
const maxDatasets = 10_000

// FieldIndex lists which keys the events of a project have, by type and name of event, and the
// datasets that they and the runs of that time name, sorted.
func (s *Store) FieldIndex(ctx context.Context, projectID int64, q query.Search) (*event.FieldIndex, error) {
	ctx, end, err := s.events.HeavyRead(ctx, projectID, 1)
	if err != nil {
		return nil, err
	}
	defer end()
	c, err := s.readFieldIndex(ctx, projectID, q)
	if err != nil {
		return nil, sqldb.WrapError(s.db, err, "read field index")
	}
	slices.SortFunc(c.Keys, func(a, b event.Key) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Name, b.Name))
	})
	slices.Sort(c.Datasets)
	c.Datasets = slices.Compact(c.Datasets)
	return c, nil
}

func (s *Store) readFieldIndex(ctx context.Context, projectID int64, q query.Search) (*event.FieldIndex, error) {
	c := &event.FieldIndex{}
	if q.RunID != "" {
		return c, s.runFieldIndex(ctx, projectID, q, c)
	}
	scope := events.ScopeAll
	if q.InRuns {
		scope = events.ScopeRuns
	}
	err := s.events.EachRow(ctx, projectID, scope, q, "", nil, func(typ int, k event.Key) { add(c, typ, k) })
	if err != nil {
		return nil, err
	}
	cond, args := "", []any{projectID}
	if q.From != nil {
		args = append(args, int64(events.ClampMillis(*q.From)))
		cond += fmt.Sprintf(" AND created_ms >= $%d", len(args))
	}
	if q.To != nil {
		args = append(args, int64(events.ClampMillis(*q.To)))
		cond += fmt.Sprintf(" AND created_ms <= $%d", len(args))
	}
	return c, sqldb.Each(ctx, s.db, fmt.Sprintf(`SELECT DISTINCT dataset_id
		FROM run
		WHERE project_id = $1 AND dataset_id <> ''%s
		LIMIT %d`, cond, maxDatasets), args,
		func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			c.Datasets = append(c.Datasets, id)
			return err
		})
}

func add(c *event.FieldIndex, typ int, k event.Key) {
	if typ == events.FieldIndexDataset {
		c.Datasets = append(c.Datasets, k.Path)
	} else {
		c.Keys = append(c.Keys, k)
	}
}

// runFieldIndex adds what is listed of one run.
//
// The keys of events that carry the run's id are listed under the run's scope. Other events of its sessions do not carry the id, nor do any in
// sessions that only the run's document names. For kinds of events (name and type) that the scope lacks, it takes the keys of that kind in the
// whole project, which may be more than the run has.
func (s *Store) runFieldIndex(ctx context.Context, projectID int64, q query.Search, c *event.FieldIndex) error {
	r, err := s.Run(ctx, projectID, run.FoldID(q.RunID))
	switch {
	case fault.IsNotFound(err): // events may name a run that does not exist
		r.ID = run.FoldID(q.RunID)
	case err != nil:
		return err
	case r.Dataset() != "":
		c.Datasets = append(c.Datasets, r.Dataset())
	}
	known := map[run.Kind]bool{}
	kind := func(k event.Key) run.Kind { return run.Kind{Name: k.Name, Type: string(k.Type)} }
	learn := func(_ int, k event.Key) { known[kind(k)] = true }
	// First without the range of time: a kind whose keys all lie outside it is known all the same, and the
	// project's keys must not stand in for them.
	if err := s.events.EachRow(ctx, projectID, events.ScopeRun+r.ID, query.Search{}, "", nil, learn); err != nil {
		return err
	}
	if err := s.events.EachRow(ctx, projectID, events.ScopeRun+r.ID, q, "", nil, func(typ int, k event.Key) { add(c, typ, k) }); err != nil {
		return err
	}
	sessions, err := s.runSessions(ctx, projectID, &r)
	if err != nil || len(sessions) == 0 {
		return err
	}
	kinds, err := s.runKinds(ctx, projectID, sessions)
	if err != nil {
		return err
	}
	other := map[run.Kind]bool{}
	for _, k := range kinds {
		// The empty name stands for all names of a type that did not fit into the run's scope.
		if !known[k] && !known[run.Kind{Type: k.Type}] {
			other[k] = true
		}
	}
	if len(other) == 0 {
		return nil
	}
	return s.events.EachRow(ctx, projectID, events.ScopeAll, q, "", nil, func(typ int, k event.Key) {
		if typ != events.FieldIndexDataset && other[kind(k)] {
			c.Keys = append(c.Keys, k)
		}
	})
}

// sweepRun deletes what is listed of a run that is deleted.
func sweepRun(ctx context.Context, tx *events.Commit, project int64, id string) (more bool, err error) {
	return events.DeleteRows(
		ctx,
		tx,
		"field_index",
		"project_id, scope, type, name, path",
		"project_id = $1 AND scope = $2",
		project,
		events.ScopeRun+id,
	)
}
