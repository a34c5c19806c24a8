package resource

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// RunPairs pairs the events of two runs that are about the same datapoint and of the same kind, the
// first with the first and so on, in the order of the new run, a page of the pairs, and counts all.
func (s *Store) RunPairs(ctx context.Context, projectID int64, newRun, oldRun *run.Run, q run.PairQuery, filters []query.Filter) (
	pairs []run.Pair, total int, err error) {
	ctx, end, err := s.events.HeavyRead(ctx, projectID, 2*events.ScanConns) // both runs at once
	if err != nil {
		return nil, 0, err
	}
	defer end()
	var before []pairable
	other := make(chan error, 1)
	read := func() {
		var err error
		before, err = s.pairable(ctx, projectID, oldRun, &q, filters)
		other <- err
	}
	if s.events.ReadShare() >= 2*events.ScanConns {
		go read()
	} else { // a small share is one run's
		read()
	}
	fresh, err := s.pairable(ctx, projectID, newRun, &q, filters)
	if err = cmp.Or(err, <-other); err != nil {
		return nil, 0, sqldb.WrapError(s.db, err, "pair events")
	}
	waiting := map[pairKey][]uuid.UUID{}
	for _, e := range before {
		waiting[e.key] = append(waiting[e.key], e.ID)
	}
	skip := (q.Page - 1) * q.Limit
	for _, e := range fresh {
		other := waiting[e.key]
		if len(other) == 0 {
			continue
		}
		waiting[e.key] = other[1:]
		if total >= skip && len(pairs) < q.Limit {
			pairs = append(pairs, run.Pair{Datapoint: e.key.datapoint, New: e.ID, Old: other[0]})
		}
		total++
	}
	return pairs, total, nil
}

type pairKey struct {
	datapoint string
	kind      run.Kind
}

type pairable struct {
	key pairKey
	events.EventPlace
}

// pairable lists the events of a run that may be paired, by time.
func (s *Store) pairable(ctx context.Context, projectID int64, r *run.Run, q *run.PairQuery, filters []query.Filter) ([]pairable, error) {
	scores, err := s.runScores(ctx, projectID, r, query.Search{})
	if err != nil {
		return nil, err
	}
	typ := q.EventType
	if typ == "" && q.EventName == "" {
		typ = string(event.TypeSession)
	}
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
	var list []pairable
	take := func(h *events.Stored) {
		k := pairKey{scores.Datapoints[h.SessionID], run.Kind{Name: h.Name, Type: string(h.Type)}}
		if h.IsSession() {
			k.kind.Name = "" // that of a session is its run's
		}
		list = append(list, pairable{k, events.EventPlace{Start: h.Start, ID: h.ID, Day: h.Day}})
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
	for _, h := range later {
		if err != nil {
			break
		}
		var e event.Event
		var ok bool
		if e, ok, err = s.events.AsRead(ctx, h); err == nil && ok && match.Match(&e) {
			take(h)
		}
	}
	slices.SortFunc(list, func(a, b pairable) int { return cmp.Or(cmp.Compare(a.Start, b.Start), bytes.Compare(a.ID[:], b.ID[:])) })
	return list, err
}
