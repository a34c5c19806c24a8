package events

import (
	"context"
	"math"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/deletion"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Target is an event or a session that is to be deleted.
type Target struct {
	ID  uuid.UUID
	Day int32 // of the event, or of the session's own
	// Events is how many events a session has, without its own.
	Events int64
}

// EventTargets returns the events that a search finds and that are no session events, newest first, and counts the session events that it
// finds. Only filters, range and run of the search count. fault.Invalid if there are more than deletion.Max.
func (s *Store) EventTargets(ctx context.Context, projectID int64, q query.Search) (list []Target, sessions int64, err error) {
	ctx, end, err := s.HeavyRead(ctx, projectID, ScanConns)
	if err != nil {
		return nil, 0, err
	}
	defer end()
	list, sessions, err = s.eventTargets(ctx, projectID, q)
	return list, sessions, sqldb.WrapError(s.db, err, "find the events to be deleted")
}

func (s *Store) eventTargets(ctx context.Context, projectID int64, q query.Search) (list []Target, sessions int64, err error) {
	all := query.Search{Filters: q.Filters, From: q.From, To: q.To, RunID: q.RunID, Limit: 1, Page: 1, HeadOnly: true}
	own := all
	own.Filters = query.OfSessionEvents(q.Filters, true)
	set, err := s.search(ctx, projectID, own)
	if err != nil {
		return nil, 0, err
	}
	all.Filters, all.Limit = query.OfSessionEvents(q.Filters, false), deletion.Max
	if err := s.findRunSessions(ctx, projectID, &all); err != nil {
		return nil, 0, err
	}
	places, total, err := s.placesOf(ctx, projectID, &all)
	if err != nil {
		return nil, 0, err
	}
	if total > deletion.Max {
		return nil, 0, tooMany("events")
	}
	list = make([]Target, len(places))
	for i, p := range places {
		list[i] = Target{ID: p.ID, Day: p.Day}
	}
	return list, int64(set.Total), nil
}

func tooMany(what string) error {
	return fault.InvalidField("filters", "more than %d %s match, the most that one deletion may be of: narrow the filters or the date range", deletion.Max, what)
}

// placesOf returns the places of all events that a search finds, newest first, and how many there are. If there are more than q.Limit, the places may be
// incomplete.
func (s *Store) placesOf(ctx context.Context, projectID int64, q *query.Search) (places []EventPlace, total int, err error) {
	use, err := s.searchesSegments(ctx, projectID, q, 0)
	if err != nil {
		return nil, 0, err
	}
	if use {
		places, total, ok, err := s.searchSegments(ctx, projectID, q, 0)
		if ok || err != nil {
			return places, total, err
		}
	}
	b := query.NewBuilder(s.Dialect)
	plan := query.CompileSearch(b, projectID, q)
	undecided := len(plan.Residual) > 0
	if !undecided && plan.Reads != 0 {
		if undecided, err = s.anySpilled(ctx, projectID, plan.Reads); err != nil {
			return nil, 0, err
		}
	}
	if undecided {
		return s.scan(ctx, projectID, b, plan, q, 0)
	}
	// One statement, so that it is what was there at one moment.
	err = sqldb.Each(ctx, s.db, `SELECT e.start_ms, e.event_id, e.day FROM `+s.Dialect.From()+` WHERE `+plan.Where+` ORDER BY e.start_ms DESC, e.event_id DESC`,
		b.Args(), func(scan func(...any) error) error {
			var p EventPlace
			err := scan(&p.Value, sqldb.ScanID(&p.ID), &p.Day)
			if total++; total <= q.Limit {
				places = append(places, p)
			}
			return err
		})
	return places, total, err
}

// SessionTargets returns the sessions that a search finds, newest first. Only its filters and its range count. fault.Invalid if there are more than
// deletion.Max.
func (s *Store) SessionTargets(ctx context.Context, projectID int64, q query.SessionSearch) ([]Target, error) {
	ctx, end, err := s.HeavyRead(ctx, projectID, ScanConns)
	if err != nil {
		return nil, err
	}
	defer end()
	list, err := s.sessionTargets(ctx, projectID, &query.SessionSearch{
		Filters: q.Filters, EventFilters: q.EventFilters, From: q.From, To: q.To, Sort: query.SortStart, Limit: math.MaxInt32, Counted: true,
	})
	return list, sqldb.WrapError(s.db, err, "find the sessions to be deleted")
}

func (s *Store) sessionTargets(ctx context.Context, projectID int64, q *query.SessionSearch) (list []Target, err error) {
	places, total, ok, err := s.sessionsInSegments(ctx, projectID, q, deletion.Max)
	if err != nil {
		return nil, err
	}
	if ok {
		if total > deletion.Max {
			return nil, tooMany("sessions")
		}
		return s.countSessions(ctx, projectID, places)
	}
	scan, err := s.newSessionScan(ctx, projectID, q)
	if err != nil {
		return nil, err
	}
	err = scan.each(ctx, false, func(r *Stored, t event.SessionTotals, _ float64) error {
		if len(list) == deletion.Max {
			return tooMany("sessions")
		}
		list = append(list, Target{r.ID, r.Day, t.Events})
		return nil
	})
	return list, err
}

// countSessions reads how many events sessions have. Those that are gone by now are left out.
func (s *Store) countSessions(ctx context.Context, projectID int64, places []EventPlace) ([]Target, error) {
	list := make([]Target, 0, len(places))
	counts := make(map[uuid.UUID]int64, sqldb.IDsPerQuery)
	for len(places) > 0 {
		group := places[:min(len(places), sqldb.IDsPerQuery)]
		places = places[len(group):]
		ids := make([]uuid.UUID, len(group))
		for i, p := range group {
			ids[i] = p.ID
		}
		clear(counts)
		cond, args := s.db.AnyID("session_id", 2, ids)
		err := sqldb.Each(ctx, s.db, `SELECT session_id, num_events FROM session WHERE project_id = $1 AND `+cond, append([]any{projectID}, args...),
			func(scan func(...any) error) error {
				var id uuid.UUID
				var n int64
				err := scan(sqldb.ScanID(&id), &n)
				counts[id] = n
				return err
			})
		if err != nil {
			return nil, err
		}
		for _, p := range group {
			if n, ok := counts[p.ID]; ok {
				list = append(list, Target{p.ID, p.Day, n})
			}
		}
	}
	return list, nil
}
