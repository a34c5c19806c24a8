package resource

import (
	"cmp"
	"context"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// RunPairs pairs the events of two runs that are about the same datapoint and of the same kind, the
// first with the first and so on, in the order of the new run, a page of the pairs, and counts all. All events of both runs that may
// be paired are in memory, with their place, session and kind and nothing else: a page can only be found once all are paired.
func (s *Store) RunPairs(ctx context.Context, projectID int64, newRun, oldRun *run.Run, q run.PairQuery, filters []query.Filter) (
	pairs []run.Pair, total int, err error) {
	ctx, end, err := s.events.HeavyRead(ctx, projectID, 2*events.ScanConns) // both runs at once
	if err != nil {
		return nil, 0, err
	}
	defer end()
	var before []run.Pairable
	other := make(chan error, 1)
	read := func() {
		var err error
		before, err = s.pairable(ctx, projectID, oldRun, &q, filters)
		other <- err
	}
	// Two reads at once need the connections of two, or each could hold some and wait for the other's.
	if s.events.ReadShare() >= 2*events.ScanConns {
		go read()
	} else { // a small share is one run's
		read()
	}
	fresh, err := s.pairable(ctx, projectID, newRun, &q, filters)
	if err = cmp.Or(err, <-other); err != nil {
		return nil, 0, sqldb.WrapError(s.db, err, "pair events")
	}
	pairs, total = q.Pairs(fresh, before)
	return pairs, total, nil
}

// pairable lists the events of a run that may be paired, in no order: those of sessions whose datapoint is known. If there are
// filters, each event is read whole, after all rows: at that time no connection is held for which reading an event could wait.
func (s *Store) pairable(
	ctx context.Context,
	projectID int64,
	r *run.Run,
	q *run.PairQuery,
	filters []query.Filter,
) ([]run.Pairable, error) {
	// Without the request's filters: they choose events, and must not change which datapoint a session is about.
	scores, err := s.runScores(ctx, projectID, r, query.Search{})
	if err != nil {
		return nil, err
	}
	typ := q.Type()
	cond := func(b *query.Builder) string {
		text := "TRUE"
		if q.EventName != "" {
			text += " AND e.name = " + b.Arg(q.EventName)
		}
		if typ != "" {
			text += " AND e.type = " + b.Arg(query.TypeCode(event.Type(typ)))
		}
		return text
	}
	match := query.NewMatcher(filters)
	var list []run.Pairable
	take := func(h *events.Stored) {
		list = append(list, run.Pairable{
			Place: runPlace(&h.Event), Session: h.SessionID, Datapoint: scores.Datapoints[h.SessionID], Kind: kindOf(&h.Event),
		})
	}
	var later []*events.Stored // what needs a connection of its own
	err = s.runRows(ctx, projectID, scores.Sessions, cond, func(h *events.Stored) error {
		if scores.Datapoints[h.SessionID] == "" {
			return nil
		}
		if len(filters) > 0 {
			later = append(later, h)
		} else {
			take(h)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = s.events.EachWhole(ctx, projectID, later, func(h *events.Stored, e *event.Event) {
		if match.Match(e) {
			take(h)
		}
	})
	return list, err
}
