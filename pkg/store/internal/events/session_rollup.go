package events

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// rolledUp adds to a session event what callers see of its session; roll is nil for other events. None of it is stored with
// the event: totals stand in the session's row, inputs and outputs in the events that have them.
func (s *Store) rolledUp(ctx context.Context, project int64, e event.Event, roll *rollup, l *eventList) (event.Event, error) {
	if roll == nil {
		return e, nil
	}
	roll.show(&e)
	err := s.showRoots(ctx, project, &e, roll, l)
	return e, err
}

// showRoots fills a session event without inputs with those of its first root event, and without
// outputs those of its last; where that has none, those of the first or last step that has any,
// roots before others. Root events that are gone give nothing.
func (s *Store) showRoots(ctx context.Context, project int64, e *event.Event, roll *rollup, l *eventList) error {
	var root event.Event
	// First the root that the session's row names: its key is known, and a list has its chunk in the cache already, or knows that it shows nothing.
	if rawjson.Empty(e.Inputs) && roll.rootDay != nil && !l.showsStep(e.ID, shownInputs) {
		var err error
		if root, err = s.rootEvent(ctx, project, *roll.rootDay, roll.rootID, l); err != nil {
			return err
		}
		e.Inputs = root.Inputs
	}
	// Only if that root has no inputs, the session's events are searched, by the flag in their rows and not by payload.
	if rawjson.Empty(e.Inputs) && roll.totals.n > 0 {
		step, err := s.stepWith(ctx, project, e.ID, shownInputs, l)
		if err != nil {
			return err
		}
		e.Inputs = step.Inputs
	}
	if rawjson.Empty(e.Outputs) && roll.lastDay != nil && !l.showsStep(e.ID, shownOutputs) {
		// Many sessions have one root, which is first and last: its payload is read once.
		if root.ID != roll.lastID {
			var err error
			if root, err = s.rootEvent(ctx, project, *roll.lastDay, roll.lastID, l); err != nil {
				return err
			}
		}
		e.Outputs = root.Outputs
	}
	if rawjson.Empty(e.Outputs) && roll.totals.n > 0 {
		step, err := s.stepWith(ctx, project, e.ID, shownOutputs, l)
		if err != nil {
			return err
		}
		e.Outputs = step.Outputs
	}
	return nil
}

// shownPart is what a session event shows of an event of its session.
type shownPart struct {
	flag  int    // in the rows of events that have it
	order string // the first event that has it shows it
	root  func(*rollup) uuid.UUID
}

var (
	shownInputs  = shownPart{flagInputs, rootsFirst + `e.start_ms, e.event_id`, func(r *rollup) uuid.UUID { return r.rootID }}
	shownOutputs = shownPart{flagOutputs, rootsFirst + `e.end_ms DESC, e.event_id DESC`, func(r *rollup) uuid.UUID { return r.lastID }}
)

const rootsFirst = `CASE WHEN e.parent_id IS NULL THEN 0 ELSE 1 END, `

// stepWith reads the event of a session that shows its inputs or outputs: as the list has found it, else by a search. It is empty
// if there is none.
func (s *Store) stepWith(ctx context.Context, project int64, session uuid.UUID, of shownPart, l *eventList) (event.Event, error) {
	if l.showsStep(session, of) {
		id := l.steps[stepOf{session, of.flag}]
		if e, ok := l.shownEvent(ctx, id); ok || id == uuid.Nil {
			return e, nil
		}
	}
	var id uuid.UUID
	var day int32
	// The flag is in the row, so the payload of at most one event is read, however many the session has.
	ok, err := sqldb.One(ctx, s.db, fmt.Sprintf(`SELECT event_id, day FROM event AS e WHERE %s AND event_id <> $2 AND (spill & %d) <> 0
		ORDER BY %s LIMIT 1`, s.Dialect.OfSession(), of.flag, of.order),
		[]any{project, s.db.ID(session)}, sqldb.ScanID(&id), &day)
	if err != nil || !ok {
		return event.Event{}, err
	}
	return s.rootEvent(ctx, project, day, id, nil)
}

// rootEvent reads a root event's payload: as the list has found it, else by its key.
func (s *Store) rootEvent(ctx context.Context, project int64, day int32, id uuid.UUID, l *eventList) (event.Event, error) {
	if l != nil {
		if e, ok := l.shownEvent(ctx, id); ok {
			return e, nil
		}
	}
	r, err := s.load(ctx, s.db, project, day, id)
	if err != nil {
		// It was deleted or moved after the session's row was read. A session without inputs is a better answer than an error.
		if fault.IsNotFound(err) {
			return event.Event{}, nil
		}
		return event.Event{}, err
	}
	return r.Event, nil
}

// rollup is what a session's row adds to its session event.
type rollup struct {
	totals           totals
	rootID, lastID   uuid.UUID
	rootDay, lastDay *int32
	derived          bool // its session event's duration follows from its events
}

// sessionTotals returns the totals as searches of sessions have them.
func (r *rollup) sessionTotals() *event.SessionTotals {
	t := &r.totals
	return &event.SessionTotals{
		Events: t.n, ModelEvents: t.models, ToolEvents: t.tools, Unfinished: t.unfinished, Errors: t.errors, Feedback: t.feedback,
		Prompt: t.prompt, Completion: t.completion, Tokens: t.total, Cost: query.RoundCost(t.cost), HasCost: t.costs > 0, Implicit: r.derived,
	}
}

// show adds the roll-up to a session event: Metadata, where it has none of its own, and Totals, by which an export can leave
// out again what was only added.
func (r *rollup) show(e *event.Event) {
	all := r.metadata()
	// A member that the sender set, if only to 0 or false, goes before what is counted; an empty one does not.
	own := map[string]bool{}
	for key, v := range rawjson.Object(e.Metadata) {
		own[key] = !rawjson.Empty(v)
	}
	var added rawjson.Builder
	for key, v := range rawjson.Object(all) {
		if !own[key] {
			added.Raw(key, v)
		}
	}
	// What is shown and was not sent is kept apart, so that an export of this server that is imported elsewhere counts nothing twice.
	e.Totals, e.DerivedDuration = added.Bytes(), r.derived
	e.Metadata = rawjson.Fill(e.Metadata, e.Totals)
}

// metadata returns the roll-up as members of the session event's metadata.
func (r *rollup) metadata() []byte {
	var b rawjson.Builder
	b.Int("num_events", r.totals.n)
	b.Int("num_model_events", r.totals.models)
	b.Bool("has_feedback", r.totals.feedback > 0)
	// Without a single event that has a cost, the session has no cost, which is not the same as a cost of 0.
	if r.totals.costs > 0 {
		b.Number("cost", query.RoundCost(r.totals.cost))
	}
	b.Number("total_tokens", r.totals.total)
	b.Number("prompt_tokens", r.totals.prompt)
	b.Number("completion_tokens", r.totals.completion)
	return b.Bytes()
}

// rollups reads the rows of sessions, at most 1000 at a time.
func (s *Store) rollups(ctx context.Context, c sqldb.Conn, project int64, sessions []uuid.UUID) (map[uuid.UUID]*rollup, error) {
	out := make(map[uuid.UUID]*rollup, len(sessions))
	for part := range slices.Chunk(sessions, sqldb.IDsPerQuery) {
		cond, args := c.AnyID("session_id", 2, part)
		err := sqldb.Each(ctx, c, `
			SELECT
				session_id,
				root_id,
				root_day,
				last_root_id,
				last_root_day,
				implicit <> 0,`+totalsColumns+`
			FROM session
			WHERE project_id = $1 AND `+cond, append([]any{project}, args...),
			func(scan func(...any) error) error {
				var id uuid.UUID
				r := &rollup{}
				err := scan(append([]any{
					sqldb.ScanID(&id),
					sqldb.ScanID(&r.rootID),
					&r.rootDay,
					sqldb.ScanID(&r.lastID),
					&r.lastDay,
					&r.derived,
				}, r.totals.targets()...)...)
				if err != nil {
					return err
				}
				out[id] = r
				return nil
			})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
