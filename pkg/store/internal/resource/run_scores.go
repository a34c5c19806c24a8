package resource

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// RunScores returns what the events of a run carry that match q's filters and date range: scores
// and sessions of those events alone, Kinds of all.
func (s *Store) RunScores(ctx context.Context, projectID int64, r *run.Run, q query.Search) (*run.Scores, error) {
	ctx, end, err := s.events.HeavyRead(ctx, projectID, events.ScanConns)
	if err != nil {
		return nil, err
	}
	defer end()
	scores, err := s.runScores(ctx, projectID, r, q)
	return scores, sqldb.WrapError(s.db, err, "read scores")
}

func (s *Store) runScores(ctx context.Context, projectID int64, r *run.Run, q query.Search) (*run.Scores, error) {
	sessions, err := s.runSessions(ctx, projectID, r)
	if err != nil {
		return nil, err
	}
	out := &run.Scores{Datapoints: map[uuid.UUID]string{}}
	if len(sessions) == 0 {
		return out, nil
	}
	kinds := make(chan error, 1)
	go func() { // beside the scores: both read many rows
		var err error
		out.Kinds, err = s.runKinds(ctx, projectID, sessions)
		kinds <- err
	}()
	err = s.readScores(ctx, projectID, sessions, q, out)
	return out, cmp.Or(err, <-kinds)
}

// readScores reads scores, sessions and datapoints.
func (s *Store) readScores(ctx context.Context, projectID int64, sessions []uuid.UUID, q query.Search, out *run.Scores) error {
	type row struct {
		events.EventPlace
		run.Scored
	}
	var rows []row
	first := map[uuid.UUID]events.EventPlace{}
	match := query.NewMatcher(q.Filters)
	whole := query.NeedPayload(q.Filters)
	// Only events with metrics, and those that name what a session is about.
	scored := fmt.Sprintf("(e.metrics IS NOT NULL OR e.type = %d OR (e.spill & %d) <> 0)",
		query.TypeCode(event.TypeSession), query.SpillMetrics)
	take := func(e *event.Event, at events.EventPlace) {
		if d := datapointOf(e); d != "" && (out.Datapoints[e.SessionID] == "" || e.IsSession()) {
			out.Datapoints[e.SessionID] = d
		}
		if f, ok := first[e.SessionID]; !ok || f.Before(at) {
			first[e.SessionID] = at
		}
		if inRange(e.Start, &q) && match.Match(e) {
			kind := run.Kind{Name: e.Name, Type: string(e.Type)}
			rows = append(rows, row{at, run.Scored{Session: e.SessionID, Kind: kind, Metrics: bytes.Clone(e.Metrics)}})
		}
	}
	var later []*events.Stored // what needs a connection of its own: reading it beside the rows could wait for itself
	err := s.runRows(ctx, projectID, sessions, plainly(scored), func(h *events.Stored) error {
		if whole || h.Spill&(query.SpillMetrics|query.SpillMetadata) != 0 || (h.IsSession() && len(q.Filters) > 0) {
			later = append(later, h)
			return nil
		}
		take(&h.Event, events.EventPlace{Start: h.Start, ID: h.ID, Day: h.Day})
		return nil
	})
	for _, h := range later {
		if err != nil {
			break
		}
		var e event.Event
		var ok bool
		if e, ok, err = s.events.AsRead(ctx, h); err == nil && ok {
			take(&e, events.EventPlace{Start: h.Start, ID: h.ID, Day: h.Day})
		}
	}
	if err == nil {
		err = s.otherDatapoints(ctx, projectID, sessions, out.Datapoints)
	}
	if err != nil {
		return err
	}
	byTime := func(a, b events.EventPlace) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), bytes.Compare(a.ID[:], b.ID[:]))
	}
	slices.SortFunc(rows, func(a, b row) int { return byTime(a.EventPlace, b.EventPlace) })
	shown := map[uuid.UUID]bool{}
	for _, x := range rows {
		shown[x.Session] = true
		if !rawjson.Empty(x.Metrics) {
			out.Events = append(out.Events, x.Scored)
		}
	}
	for id := range shown {
		out.Sessions = append(out.Sessions, id)
	}
	slices.SortFunc(out.Sessions, func(a, b uuid.UUID) int { return byTime(first[a], first[b]) })
	return nil
}

func inRange(start float64, q *query.Search) bool {
	return (q.From == nil || start >= *q.From) && (q.To == nil || start <= *q.To)
}

func datapointOf(e *event.Event) string {
	d, _ := rawjson.Text(rawjson.Get(e.Metadata, "datapoint_id"))
	return d
}

// otherDatapoints looks at the other events of sessions whose session event does not name what
// it is about.
func (s *Store) otherDatapoints(ctx context.Context, projectID int64, sessions []uuid.UUID, known map[uuid.UUID]string) error {
	var open []uuid.UUID
	for _, id := range sessions {
		if known[id] == "" {
			open = append(open, id)
		}
	}
	first := map[uuid.UUID]events.EventPlace{}
	return s.runRows(ctx, projectID, open, plainly("e.run_id IS NOT NULL"), func(h *events.Stored) error {
		at := events.EventPlace{Start: h.Start, ID: h.ID, Day: h.Day}
		if f, ok := first[h.SessionID]; ok && !f.Before(at) {
			return nil
		}
		if d := datapointOf(&h.Event); d != "" {
			first[h.SessionID], known[h.SessionID] = at, d
		}
		return nil
	})
}

// runSessions returns the sessions of a run, in no order: those it lists, those that belong to it,
// and those with an event that does. fault.Invalid if there are more than run.MaxSessions.
func (s *Store) runSessions(ctx context.Context, projectID int64, r *run.Run) ([]uuid.UUID, error) {
	seen := map[uuid.UUID]bool{}
	var list []uuid.UUID
	add := func(id uuid.UUID) error {
		if !seen[id] {
			seen[id] = true
			list = append(list, id)
		}
		if len(list) > run.MaxSessions {
			return fault.New(fault.Invalid, "run %s has more than %d sessions", r.ID, run.MaxSessions)
		}
		return nil
	}
	listed, err := s.listedSessions(ctx, projectID, r)
	if err != nil {
		return nil, err
	}
	for _, id := range listed {
		if err := add(id); err != nil {
			return nil, err
		}
	}
	for _, sql := range []string{
		`SELECT session_id FROM session WHERE project_id = $1 AND run_id = $2`,
		`SELECT DISTINCT ` + s.events.Dialect.SessionID() + ` FROM ` + s.events.Dialect.From() + ` WHERE e.project_id = $1 AND e.run_id = $2`,
	} {
		err := sqldb.Each(ctx, s.db, sql, []any{projectID, r.ID}, func(scan func(...any) error) error {
			var id uuid.UUID
			if err := scan(sqldb.ScanID(&id)); err != nil {
				return err
			}
			return add(id)
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// listedSessions returns the sessions that a run lists, under the ids that they have now.
func (s *Store) listedSessions(ctx context.Context, projectID int64, r *run.Run) ([]uuid.UUID, error) {
	ids := r.Sessions()
	to, err := s.targets(ctx, projectID, ids)
	for i, id := range ids {
		if t, ok := to[id]; ok {
			ids[i] = t
		}
	}
	return ids, err
}

// ListedSessionsOf returns the sessions that the run of an id lists. Events may name a run that does not
// exist, which lists none.
func (s *Store) ListedSessionsOf(ctx context.Context, projectID int64, runID string) ([]uuid.UUID, error) {
	r, err := s.Run(ctx, projectID, runID)
	if fault.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s.listedSessions(ctx, projectID, &r)
}

// sessionGroup is how many sessions one statement reads.
const sessionGroup = 2000

// plainly returns a condition without arguments.
func plainly(cond string) func(*query.Builder) string {
	return func(*query.Builder) string { return cond }
}

// runRows reads head rows of sessions that meet cond.
func (s *Store) runRows(ctx context.Context, projectID int64, sessions []uuid.UUID, cond func(*query.Builder) string,
	f func(*events.Stored) error) error {
	for group := range slices.Chunk(sessions, sessionGroup) {
		b := query.NewBuilder(s.events.Dialect)
		where := "e.project_id = " + b.Arg(projectID) + " AND " + s.events.Dialect.SessionIn(b, projectID, group) + " AND " + cond(b)
		err := sqldb.Each(ctx, s.db, `SELECT `+s.events.Columns()+` FROM `+s.events.Dialect.From()+` WHERE `+where, b.Args(), func(scan func(...any) error) error {
			h, err := events.ScanHead(scan)
			if err != nil {
				return err
			}
			return f(h)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// targets returns the sessions that other ids of theirs, given out before they moved, lead to.
func (s *Store) targets(ctx context.Context, projectID int64, ids []uuid.UUID) (map[uuid.UUID]uuid.UUID, error) {
	to := map[uuid.UUID]uuid.UUID{}
	for group := range slices.Chunk(ids, sqldb.IDsPerQuery) {
		cond, args := s.db.AnyID("session_id", 2, group)
		err := sqldb.Each(ctx, s.db, `SELECT session_id
			FROM alias
			WHERE project_id = $1 AND `+cond, append([]any{projectID}, args...), func(scan func(...any) error) error {
			var id uuid.UUID
			err := scan(sqldb.ScanID(&id))
			to[id] = id
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for id := range to {
		target, _, err := events.AliasOf(ctx, s.db, projectID, id)
		if err != nil {
			return nil, err
		}
		to[id] = target
	}
	return to, nil
}

// maxKinds bounds the kinds of events that an answer names.
const maxKinds = 10_000

// runKinds returns the names and types of all events of sessions.
func (s *Store) runKinds(ctx context.Context, projectID int64, sessions []uuid.UUID) ([]run.Kind, error) {
	seen := map[run.Kind]bool{}
	var kinds []run.Kind
	for group := range slices.Chunk(sessions, sessionGroup) {
		b := query.NewBuilder(s.events.Dialect)
		where := "e.project_id = " + b.Arg(projectID) + " AND " + s.events.Dialect.SessionIn(b, projectID, group)
		err := sqldb.Each(ctx, s.db, `SELECT DISTINCT e.type, e.name
			FROM event e
			WHERE `+where, b.Args(), func(scan func(...any) error) error {
			var code int
			var k run.Kind
			if err := scan(&code, &k.Name); err != nil {
				return err
			}
			k.Type = string(query.TypeOf(code))
			if !seen[k] && len(kinds) < maxKinds {
				seen[k] = true
				kinds = append(kinds, k)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(kinds, func(a, b run.Kind) int { return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name)) })
	return kinds, nil
}
