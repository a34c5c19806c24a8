package events

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// SearchSessions returns a page of sessions in the order that q names.
//
// Segments give the places of the page, if columns hold all that the search reads (sessionsInSegments). Else
// the database orders the candidates: session events joined with their sessions, which have the totals. As in a search of
// events (search.go), what it cannot decide is decided here, row by row in that order, until the page is full; memory is that of
// a page. An order by a total sorts all candidates of the date range: no index has it.
func (s *Store) SearchSessions(ctx context.Context, projectID int64, q query.SessionSearch) (*event.SessionSet, error) {
	ctx, end, err := s.HeavyRead(ctx, projectID, ScanConns)
	if err != nil {
		return nil, err
	}
	defer end()
	set, err := s.searchSessions(ctx, projectID, &q)
	return set, sqldb.WrapError(s.db, err, "search sessions")
}

func (s *Store) searchSessions(ctx context.Context, projectID int64, q *query.SessionSearch) (*event.SessionSet, error) {
	if places, total, ok, err := s.sessionsInSegments(ctx, projectID, q, q.Limit+1); err != nil {
		return nil, err
	} else if ok {
		return s.sessionPage(ctx, projectID, q, places, total)
	}
	scan, err := s.newSessionScan(ctx, projectID, q)
	if err != nil {
		return nil, err
	}
	// Rows are head rows, at most a page of them. Their payload is read when the caller gets to each (eventSet).
	out := &event.SessionSet{}
	hasMore, last := false, 0.0
	var rows []*Stored
	err = scan.each(ctx, true, func(r *Stored, t event.SessionTotals, value float64) error {
		// One row more than the page tells that there are more, and its values are not kept.
		if len(rows) == q.Limit {
			hasMore = true
			return errPageFull
		}
		rows, out.Totals, last = append(rows, r), append(out.Totals, t), value
		return nil
	})
	if err != nil && !errors.Is(err, errPageFull) {
		return nil, err
	}
	total := 0
	if q.Counted {
		// The first page holds all that match, so its length is the total, and nothing needs to be counted.
		if q.After == nil && !hasMore {
			total = len(rows)
		} else if total, err = scan.count(ctx); err != nil {
			return nil, err
		}
	}
	// The session events as any other read gives them, with the roll-up and the payload of their roots.
	set, err := s.eventSet(ctx, projectID, rows, total, false)
	if err != nil {
		return nil, err
	}
	out.Set, out.IsCounted = *set, q.Counted
	out.HasMore, out.Last = hasMore, last
	return out, nil
}

// sessionPage returns the page of a search whose places are known, and one more if there is a next page.
func (s *Store) sessionPage(ctx context.Context, projectID int64, q *query.SessionSearch, places []EventPlace, total int) (*event.SessionSet, error) {
	shown := places[:min(q.Limit, len(places))]
	rows, totals, err := s.sessionsAt(ctx, projectID, shown)
	if err != nil {
		return nil, err
	}
	if !q.Counted {
		total = 0
	}
	set, err := s.eventSet(ctx, projectID, rows, total, false)
	if err != nil {
		return nil, err
	}
	out := &event.SessionSet{Set: *set, IsCounted: q.Counted, Totals: totals}
	out.HasMore = len(places) > q.Limit
	if len(shown) > 0 {
		out.Last = shown[len(shown)-1].Value
	}
	return out, nil
}

// errPageFull ends a scan whose page is full.
var errPageFull = errors.New("the page is full")

// sessionScan walks over the sessions that match a search.
type sessionScan struct {
	s         *Store
	project   int64
	q         *query.SessionSearch
	b         *query.Builder
	plan      query.SessionPlan
	undecided bool // the session event is decided here
	some      bool // its events are decided here
}

func (s *Store) newSessionScan(ctx context.Context, projectID int64, q *query.SessionSearch) (*sessionScan, error) {
	b := query.NewBuilder(s.Dialect)
	scan := &sessionScan{s: s, project: projectID, q: q, b: b, plan: query.CompileSessions(b, projectID, q)}
	// A filter that is no SQL at all (Residual) is always decided here. One that is SQL reads columns whose fields may have
	// been too large for some rows: these are looked for once, and if the project has none, the database decides alone.
	undecided := func(p *query.Plan) (bool, error) {
		if len(p.Residual) > 0 || p.Reads == 0 {
			return len(p.Residual) > 0, nil
		}
		return s.anySpilled(ctx, projectID, p.Reads)
	}
	var err error
	if scan.undecided, err = undecided(&scan.plan.Plan); err != nil {
		return nil, err
	}
	if scan.plan.Some != nil {
		scan.some, err = undecided(scan.plan.Some)
	}
	return scan, err
}

// each calls f with the sessions that match, in order; after the place of the search if placed is set. It ends with the first
// error of f.
func (c *sessionScan) each(ctx context.Context, placed bool, f func(r *Stored, t event.SessionTotals, value float64) error) error {
	value, direction := c.q.Sort.SQL(c.s.Dialect), directionOf(c.q.Ascending)
	place := c.q.After
	if !placed {
		place = nil
	}
	after, args := c.s.afterPlace(c.b.Args(), value, place, c.q.Ascending)
	limit := ""
	if placed && !c.undecided && !c.some {
		// PostgreSQL would otherwise choose the fastest way to all rows, and sort them. One more tells whether there are more.
		limit = fmt.Sprintf(" LIMIT %d", c.q.Limit+1)
	}
	// rest is for rows of which the database has decided all but Residual, all for those that lack a field in their head.
	rest := decision{query.NewMatcher(c.plan.Residual), query.NeedPayload(c.plan.Residual), query.Needle(c.plan.Residual)}
	all := decision{query.NewMatcher(c.q.Filters), true, nil}
	return sqldb.Each(ctx, c.s.db, fmt.Sprintf(`
		SELECT
			%s,
			s.num_events,
			s.num_model_events,
			s.num_tool_events,
			s.num_unfinished,
			s.num_errors,
			s.num_feedback,
			s.prompt_tokens,
			s.completion_tokens,
			s.total_tokens,
			s.cost,
			s.num_costs,
			s.implicit,
			%s
		FROM %s
		WHERE %s
		ORDER BY %s %s, e.event_id %s%s`, c.s.Columns(), value, c.s.Dialect.FromSessions(), c.plan.Candidates+after, value, direction, direction, limit), args,
		func(scan func(...any) error) error {
			var t event.SessionTotals
			var costs, implicit int64
			var value float64
			r, err := ScanHead(func(columns ...any) error {
				return scan(append(columns, &t.Events, &t.ModelEvents, &t.ToolEvents, &t.Unfinished, &t.Errors, &t.Feedback, &t.Prompt, &t.Completion, &t.Tokens, &t.Cost, &costs,
					&implicit, &value)...)
			})
			if err != nil {
				return err
			}
			t.Cost, t.HasCost, t.Implicit = query.RoundCost(t.Cost), costs > 0, implicit != 0
			ok := true
			if c.undecided {
				d := rest
				if uint32(r.Spill)&c.plan.Reads != 0 {
					d = all
				}
				d.match = d.match.OfSession(&t)
				if ok, err = c.s.decide(ctx, r, &d); err != nil || !ok {
					return err
				}
			}
			if c.some {
				// This reads on a second connection while the first stands in the outer result, and so does decide: a
				// search holds ScanConns from its start, or two searches could each hold one and wait for another for ever.
				if ok, err = c.hasSome(ctx, r.ID); err != nil || !ok {
					return err
				}
			}
			return f(r, t, value)
		})
}

// errFound ends the search for an event that there is.
var errFound = errors.New("found")

// hasSome reports whether an event of a session meets all event filters.
func (c *sessionScan) hasSome(ctx context.Context, session uuid.UUID) (bool, error) {
	b := query.NewBuilder(c.s.Dialect)
	// One indexed read for each candidate session, which ends with the first event that matches. Without filters on
	// events, or where the database can decide them, it is a subquery of the outer statement.
	of := c.s.Dialect.SessionIs(b, c.project, session)
	plan := query.CompileSearch(b, c.project, &query.Search{Filters: c.q.EventFilters})
	rest := decision{query.NewMatcher(plan.Residual), query.NeedPayload(plan.Residual), query.Needle(plan.Residual)}
	all := decision{query.NewMatcher(c.q.EventFilters), true, nil}
	err := sqldb.Each(ctx, c.s.db, `SELECT `+c.s.Columns()+` FROM `+c.s.Dialect.From()+` WHERE `+of+` AND `+plan.Candidates, b.Args(),
		func(scan func(...any) error) error {
			r, err := ScanHead(scan)
			if err != nil {
				return err
			}
			d := &rest
			if uint32(r.Spill)&plan.Reads != 0 {
				d = &all
			}
			if ok, err := c.s.decide(ctx, r, d); err != nil || !ok {
				return err
			}
			return errFound
		})
	if errors.Is(err, errFound) {
		return true, nil
	}
	return false, err
}

// count counts all sessions that match, wherever the page begins.
func (c *sessionScan) count(ctx context.Context) (n int, err error) {
	if !c.undecided && !c.some {
		_, err = sqldb.One(ctx, c.s.db, `SELECT count(*) FROM `+c.s.Dialect.FromSessions()+` WHERE `+c.plan.Where, c.b.Args(), &n)
		return n, err
	}
	err = c.each(ctx, false, func(*Stored, event.SessionTotals, float64) error {
		n++
		return nil
	})
	return n, err
}
