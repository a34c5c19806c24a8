package resource

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// What the events of a run say: scores, the datapoints that its sessions are about, and the kinds of events. It is read from the
// events whenever somebody asks: from segments (events.Store.RunScores), or else from rows, in groups of sessions. The read is a heavy one
// (events.Store.HeavyRead): it grows with the run, which may have run.MaxSessions sessions.

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
	return s.scoresOf(ctx, projectID, sessions, q, nil)
}

// scoresOf returns what the events of a run's sessions carry. Unless outcomes is nil, it adds what the sessions came to, as far as that is read on the way.
func (s *Store) scoresOf(ctx context.Context, projectID int64, sessions []uuid.UUID, q query.Search, outcomes map[uuid.UUID]run.Outcome) (*run.Scores, error) {
	if len(sessions) == 0 {
		return run.NewCollector().Scores(), nil
	}
	if scores, ok, err := s.events.RunScores(ctx, projectID, sessions, &q, outcomes); ok || err != nil {
		return scores, err
	}
	var kinds []run.Kind
	// The channel has room for the answer, so the goroutine ends even if the scores failed first. It is always
	// waited for: kinds and the connection of the read belong to this call.
	other := make(chan error, 1)
	go func() { // beside the scores: both read many rows
		var err error
		kinds, err = s.runKinds(ctx, projectID, sessions)
		other <- err
	}()
	collector := run.NewCollector()
	err := s.readScores(ctx, projectID, sessions, q, collector)
	if err = cmp.Or(err, <-other); err != nil {
		return nil, err
	}
	out := collector.Scores()
	out.Kinds = kinds
	return out, nil
}

// readScores reads the events with scores, and those that name the datapoints of sessions.
//
//  1. Rows with metrics, and those of session events. What their columns do not hold is read when all rows were.
//  2. Of the sessions whose datapoint is still unknown, all events that carry a run: the earliest that names one decides.
func (s *Store) readScores(ctx context.Context, projectID int64, sessions []uuid.UUID, q query.Search, to *run.Collector) error {
	match := query.NewMatcher(q.Filters)
	whole := query.NeedPayload(q.Filters)
	// Only events with metrics, and those that name what a session is about.
	scored := fmt.Sprintf("(e.metrics IS NOT NULL OR e.type = %d OR (e.spill & %d) <> 0)",
		query.TypeCode(event.TypeSession), query.SpillMetrics)
	take := func(e *event.Event, at run.Place) {
		// All events are added, also those that the filters leave out: they may tell which datapoint their session is about.
		to.Add(at, run.Scored{Session: e.SessionID, Kind: kindOf(e), Metrics: e.Metrics}, e.Metadata,
			q.InRange(e.Start) && match.Match(e))
	}
	var later []*events.Stored // what needs a connection of its own: reading it beside the rows could wait for itself
	needed := query.SpillMetrics | query.SpillMetadata
	if len(q.Filters) > 0 {
		needed |= query.SpillFeedback | query.SpillUserProperties | query.SpillChildrenIDs | query.SpillError
	}
	err := s.runRows(ctx, projectID, sessions, plainly(scored), func(h *events.Stored) error {
		if whole || h.Spill&needed != 0 || (h.IsSession() && len(q.Filters) > 0) {
			later = append(later, h)
			return nil
		}
		take(&h.Event, runPlace(&h.Event))
		return nil
	})
	if err == nil {
		err = s.events.EachWhole(ctx, projectID, later, func(h *events.Stored, e *event.Event) { take(e, runPlace(&h.Event)) })
	}
	if err != nil {
		return err
	}
	// The other events of sessions whose session event does not name what it is about.
	// A second pass, for the few sessions whose session event says nothing: all events of a run with many steps
	// would be read otherwise.
	later = nil
	err = s.runRows(ctx, projectID, to.Unnamed(sessions), plainly("e.run_id IS NOT NULL"), func(h *events.Stored) error {
		if h.Spill&query.SpillMetadata != 0 {
			later = append(later, h)
			return nil
		}
		to.AddUnscored(runPlace(&h.Event), h.SessionID, h.Metadata)
		return nil
	})
	if err != nil {
		return err
	}
	return s.events.EachWhole(ctx, projectID, later, func(h *events.Stored, e *event.Event) { to.AddUnscored(runPlace(&h.Event), h.SessionID, e.Metadata) })
}

func runPlace(e *event.Event) run.Place { return run.Place{Start: e.Start, ID: e.ID} }

func kindOf(e *event.Event) run.Kind { return run.Kind{Name: e.Name, Type: string(e.Type)} }

// runSessions returns the sessions of a run, in no order: those it lists, those that belong to it,
// and those with an event that does. fault.Invalid if there are more than run.MaxSessions. A part of them would be a wrong result
// without a sign of it.
func (s *Store) runSessions(ctx context.Context, projectID int64, r *run.Run) ([]uuid.UUID, error) {
	seen := map[uuid.UUID]bool{}
	var list []uuid.UUID
	add := func(id uuid.UUID) error {
		if !seen[id] {
			seen[id] = true
			list = append(list, id)
		}
		// Checked with each session, so that no more than that are ever in memory.
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
	// A session belongs to a run as a whole, by its row, or has single events that name the run.
	for _, sql := range []string{
		`SELECT session_id FROM session WHERE project_id = $1 AND run_id = $2`,
		`SELECT DISTINCT ` + s.events.Dialect.SessionID() + ` FROM ` + s.events.Dialect.FromSessions() + `
			WHERE e.project_id = $1 AND e.run_id = $2 AND (s.run_id IS NULL OR s.run_id <> $2)`,
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
	// A run keeps the ids that it was told. A session that has moved since is found under the one that it has now.
	ids := r.Sessions()
	if !s.events.MayHaveMoved() {
		return ids, nil
	}
	to, err := events.AliasesOf(ctx, s.db, projectID, ids)
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

// ofSessions returns the condition that an event is of one of some sessions, which their index leads to.
func (s *Store) ofSessions(b *query.Builder, projectID int64, sessions []uuid.UUID) string {
	d := s.events.Dialect
	return d.NoIndex("e.project_id") + " = " + b.Arg(projectID) + " AND " + d.SessionIn(b, projectID, sessions)
}

// runRows reads head rows of sessions that meet cond.
func (s *Store) runRows(ctx context.Context, projectID int64, sessions []uuid.UUID, cond func(*query.Builder) string,
	f func(*events.Stored) error) error {
	for group := range slices.Chunk(sessions, sessionGroup) {
		b := query.NewBuilder(s.events.Dialect)
		where := s.ofSessions(b, projectID, group) + " AND " + cond(b)
		err := sqldb.Each(
			ctx,
			s.db,
			`SELECT `+s.events.Columns()+` FROM `+s.events.Dialect.From()+` WHERE `+where,
			b.Args(),
			func(scan func(...any) error) error {
				h, err := events.ScanHead(scan)
				if err != nil {
					return err
				}
				return f(h)
			},
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// runKinds returns the names and types of all events of sessions, sorted, at most run.MaxKinds of them.
func (s *Store) runKinds(ctx context.Context, projectID int64, sessions []uuid.UUID) ([]run.Kind, error) {
	kinds := run.KindSet{}
	for group := range slices.Chunk(sessions, sessionGroup) {
		b := query.NewBuilder(s.events.Dialect)
		where := s.ofSessions(b, projectID, group)
		err := sqldb.Each(ctx, s.db, `SELECT DISTINCT e.type, e.name
			FROM event e
			WHERE `+where, b.Args(), func(scan func(...any) error) error {
			var code int
			var k run.Kind
			if err := scan(&code, &k.Name); err != nil {
				return err
			}
			k.Type = string(query.TypeOf(code))
			kinds.Add(k)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return kinds.Sorted(), nil
}
