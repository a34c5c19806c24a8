package events

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/column"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/store/internal/segment"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// rowsPerSegment is about how many events of a run are read from their rows, by the index of sessions, in the time that it takes to look for the
// run's sessions in a segment that has none of them.
const rowsPerSegment = 100

// segmentRun collects from segments what the events of a run's sessions say.
type segmentRun struct {
	v        *segmentView
	q        *query.Search // which scores count
	match    query.Matcher
	sessions map[uuid.UUID]bool
	to       *run.Collector
	unscored []runEvent // that name what a session is about: asked if nothing else does
	kinds    run.KindSet
	outcomes map[uuid.UUID]run.Outcome // nil: they are not asked for
}

// RunScores returns what the events of a run's sessions carry, as resource.Store.RunScores does, from segments. It reports whether there was an
// answer: not if filters look at payloads, which would be read of every event that may match. Unless outcomes is nil, it adds what the sessions came to, as far as
// that is read on the way.
func (s *Store) RunScores(ctx context.Context, projectID int64, sessions []uuid.UUID, q *query.Search, outcomes map[uuid.UUID]run.Outcome) (
	scores *run.Scores, ok bool, err error) {
	if !query.InColumns(q.Filters) || query.NeedPayload(q.Filters) {
		return nil, s.byRows(ctx, rowsByFields), nil
	}
	ok, err = s.inSegments(ctx, projectID, false, func(v *segmentView) error {
		if err := v.suits(ctx, sessions); err != nil {
			return err
		}
		x := &segmentRun{v: v, q: q, match: query.NewMatcher(q.Filters), sessions: setOf(sessions), to: run.NewCollector(), kinds: run.KindSet{},
			outcomes: outcomes}
		if err := eachSegment(ctx, v, v.segments, x.read, x.add); err != nil {
			return err
		}
		if err := v.eachLooseOf(ctx, &query.Search{}, sessions, false, x.addLoose); err != nil {
			return err
		}
		scores = x.scores(sessions)
		return nil
	})
	return scores, ok, err
}

func setOf(sessions []uuid.UUID) map[uuid.UUID]bool {
	set := make(map[uuid.UUID]bool, len(sessions))
	for _, id := range sessions {
		set[id] = true
	}
	return set
}

// suits returns errNotInSegments if the index of sessions leads to the events of a run faster than the segments do, and the rows that must be
// read beside them. How many events there are is concluded from some of the sessions.
func (v *segmentView) suits(ctx context.Context, sessions []uuid.UUID) error {
	if v.s.options.SealBeforeReads || ctx.Value(fromSegments{}) != nil {
		return nil
	}
	some := sessions[:min(len(sessions), sqldb.IDsPerQuery)]
	cond, args := v.conn.AnyID("session_id", 2, some)
	n := 0
	if _, err := sqldb.One(ctx, v.conn, `SELECT CAST(coalesce(sum(num_events + 1), 0) AS bigint)
		FROM session
		WHERE project_id = $1 AND `+cond, append([]any{v.project}, args...), &n); err != nil {
		return err
	}
	besides := rowsPerSegment*len(v.segments) + looseRange*len(v.ranges) + len(v.keys)
	if n*len(sessions)/max(1, len(some)) <= max(maxIndexed, besides) {
		return goByRows(rowsByIndex)
	}
	return nil
}

// FromSegments returns a context whose reads are answered from segments also where rows are faster, for comparisons.
func FromSegments(ctx context.Context) context.Context {
	return context.WithValue(ctx, fromSegments{}, true)
}

type fromSegments struct{}

// runEvent is what an event says of a run.
type runEvent struct {
	run.Place
	run.Scored
	metadata json.RawMessage // which datapoint it names
	matches  bool
}

// runBlock is what a segment says of a run.
type runBlock struct {
	scored   []runEvent // and session events
	unscored []runEvent // of each session the earliest that names a datapoint
	kinds    []run.Kind
	outcomes []run.Outcome
	maybe    column.Set // must be read
}

// read looks at a segment.
func (x *segmentRun) read(b *segment.Block) (out runBlock, err error) {
	r, err := x.v.sessionRows(b, x.sessions)
	if err != nil || (r.rows.Match.Empty() && r.rows.Maybe.Empty()) {
		return runBlock{maybe: r.rows.Maybe}, err
	}
	c, err := readRunColumns(b, r)
	if err != nil {
		return out, err
	}
	matching, err := x.v.match(b, x.q)
	if err != nil {
		return out, err
	}
	var totals *totalColumns
	if x.outcomes != nil {
		if totals, err = readTotalColumns(b); err != nil {
			return out, err
		}
	}
	out.maybe = r.rows.Maybe
	kinds := map[run.Kind]bool{}
	earliest := map[uuid.UUID]int{} // of a session, in out.unscored
	for row := range r.rows.Match.All() {
		e, isScored, known, err := c.event(row)
		if err != nil {
			return out, err
		}
		if !known || (isScored && matching.Maybe.Has(row)) {
			out.maybe.Add(row)
			continue
		}
		if !kinds[e.Kind] {
			kinds[e.Kind] = true
			out.kinds = append(out.kinds, e.Kind)
		}
		if totals != nil && e.ID == e.Session {
			if o, known := totals.outcome(row, e.Place); known {
				out.outcomes = append(out.outcomes, o)
			}
		}
		if isScored {
			e.matches = matching.Match.Has(row)
			out.scored = append(out.scored, e)
		} else if i, ok := earliest[e.Session]; e.metadata != nil && !ok {
			earliest[e.Session] = len(out.unscored)
			out.unscored = append(out.unscored, e)
		} else if e.metadata != nil && e.Compare(out.unscored[i].Place) < 0 {
			out.unscored[i] = e
		}
	}
	return out, nil
}

func (x *segmentRun) add(b *segment.Block, r runBlock) (bool, error) {
	for _, e := range r.scored {
		x.to.Add(e.Place, e.Scored, e.metadata, e.matches)
	}
	x.unscored = append(x.unscored, r.unscored...)
	for _, o := range r.outcomes {
		x.outcomes[o.ID] = o
	}
	for _, k := range r.kinds {
		x.kinds.Add(k)
	}
	return true, x.v.addLoose(b, query.Decided{Maybe: r.maybe})
}

// addLoose adds an event that was read from its row.
func (x *segmentRun) addLoose(l *looseEvent) error {
	e := l.event
	at, kind := run.Place{Start: e.Start, ID: e.ID}, run.Kind{Name: e.Name, Type: string(e.Type)}
	x.kinds.Add(kind)
	if x.outcomes != nil && l.totals != nil {
		x.outcomes[e.ID] = outcomeOf(e, l.totals)
	}
	switch {
	case len(e.Metrics) > 0 || e.Type == event.TypeSession:
		x.to.Add(at, run.Scored{Session: e.SessionID, Kind: kind, Metrics: e.Metrics}, e.Metadata, x.q.InRange(e.Start) && x.match.Match(e))
	case l.runID != "":
		x.unscored = append(x.unscored, runEvent{Place: at, Scored: run.Scored{Session: e.SessionID}, metadata: e.Metadata})
	}
	return nil
}

func (x *segmentRun) scores(sessions []uuid.UUID) *run.Scores {
	unnamed := setOf(x.to.Unnamed(sessions))
	for _, e := range x.unscored {
		if unnamed[e.Session] {
			x.to.AddUnscored(e.Place, e.Session, e.metadata)
		}
	}
	out := x.to.Scores()
	out.Kinds = x.kinds.Sorted()
	return out
}

// outcomeOf returns what a session came to, by its event and the totals of its row.
func outcomeOf(e *event.Event, t *event.SessionTotals) run.Outcome {
	return run.Outcome{
		ID: e.ID, Start: e.Start, Duration: e.Duration, Cost: query.RoundCost(t.Cost), HasCost: t.HasCost, Tokens: t.Tokens,
		Running: t.Unfinished > 0, HasError: e.Error != nil && *e.Error != "",
	}
}
