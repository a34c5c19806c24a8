package events

import (
	"cmp"
	"encoding/json"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store/internal/sessiontree"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// sessionDelta is the change of one session by a transaction: what its new events add. It is written by one statement,
// which makes the row or adds to it (upsertSessions), so that no session is read to be counted.
//
// All that depends on an order ("first", "latest") is decided by start and id of the events, never by when they came.
type sessionDelta struct {
	project        int64
	id             uuid.UUID
	initialVersion int64 // version of the row if it is made now
	totals         totals
	first, last    float64 // of its events; +Inf and -Inf if it brings none
	implicit       int     // for a row that does not exist yet
	nameRank       int
	eventDay       int32
	runID          string
	root, final    rootRef // earliest and latest root event that came as a span
	failed         rootRef // earliest root event with an error

	sessionHead *head // the session event itself, if it is new in this transaction
	// hint is what the request said of the session that brought the event which leads it (leads). The rest is for the
	// session event of an implicit session.
	hint      *event.SessionHint
	lead      *head           // its first root, or else its first event: source and resource are the session's
	user      json.RawMessage // user_id of the first of its events that has one
	userMS    *float64        // that event's start
	former    *Stored         // event of the implicit session that these events came from, which ends with that; nil: there is none
	userGiven bool            // an update has set the user of former

	// state is set by upsertSessions: the row after the change.
	state sessionState
}

// sessionColumns are the columns of a session's row in the order in which upsertSessions writes them.
const sessionColumns = `
	project_id,
	session_id,
	implicit,
	name_rank,
	version,
	event_day,
	first_ms,
	last_ms,
	num_events,
	num_model_events,
	num_errors,
	num_feedback,
	prompt_tokens,
	completion_tokens,
	total_tokens,
	cost,
	num_costs,
	run_id,
	root_ms,
	root_id,
	root_day,
	last_root_ms,
	last_root_id,
	last_root_day,
	user_ms,
	num_calls,
	num_tool_events,
	num_unfinished`

// sessionSumsAdded are the assignments by which both databases add a delta to the row of a session that is there.
const sessionSumsAdded = `
	num_events = s.num_events + excluded.num_events,
	num_model_events = s.num_model_events + excluded.num_model_events,
	num_calls = s.num_calls + excluded.num_calls,
	num_tool_events = s.num_tool_events + excluded.num_tool_events,
	num_unfinished = s.num_unfinished + excluded.num_unfinished,
	num_errors = s.num_errors + excluded.num_errors,
	num_feedback = s.num_feedback + excluded.num_feedback,
	prompt_tokens = s.prompt_tokens + excluded.prompt_tokens,
	completion_tokens = s.completion_tokens + excluded.completion_tokens,
	total_tokens = s.total_tokens + excluded.total_tokens,
	cost = s.cost + excluded.cost,
	num_costs = s.num_costs + excluded.num_costs,
	run_id = coalesce(s.run_id, excluded.run_id)`

// rootRef points to an event directly below the session. ev may have no more than its id.
type rootRef struct {
	ms  float64 // its start, or its end
	ev  *event.Event
	day int32
}

// sessionState is a session's row after a delta.
type sessionState struct {
	sid         int64
	implicit    int
	nameRank    int
	version     int64 // its version: a start of its own, and one more with each change
	fresh       bool  // this write made the row
	calls       int64 // as senders reported them
	eventDay    int32
	first, last float64
	rootID      uuid.UUID
	userMS      *float64
	runID       *string
}

// sessionStateColumns are the columns of a session's row that targets takes.
const sessionStateColumns = `
	implicit,
	name_rank,
	version,
	event_day,
	first_ms,
	last_ms,
	root_id,
	num_calls,
	user_ms,
	run_id`

// targets returns where sessionStateColumns are scanned to.
func (st *sessionState) targets() []any {
	return []any{
		&st.implicit,
		&st.nameRank,
		&st.version,
		&st.eventDay,
		&st.first,
		&st.last,
		sqldb.ScanID(&st.rootID),
		&st.calls,
		&st.userMS,
		&st.runID,
	}
}

// What column implicit holds.
const (
	explicitSession = 0 // the session event is as its sender gave it
	implicitAll     = 1 // all of the session event follows its events
	implicitEnd     = 2 // started without an end: only its end follows its events
)

// Times of a session that has no events; SQL has no literal for infinity.
const (
	noFirst = math.MaxFloat64
	noLast  = -math.MaxFloat64
)

// Where the name of an implicit session came from. A name of a higher rank takes the place of one of a lower rank,
// whichever came first.
const (
	rankUnknown  = iota // nothing named it
	rankFallback        // the name of the service
	rankRoot            // its first root event
	rankHint            // a request that named the session
)

// delta returns the session's delta, made at first use.
func (w *writing) delta(project int64, session uuid.UUID) *sessionDelta {
	k := writer.Key{Project: project, ID: session}
	d := w.deltas[k]
	if d == nil {
		d = &sessionDelta{project: project, id: session, first: math.Inf(1), last: math.Inf(-1), implicit: implicitAll}
		w.deltas[k] = d
		w.order = append(w.order, d)
	}
	return d
}

// count adds an event to its session's delta.
//
// The hint of the event's request counts if the event is the first root so far, or the earliest event as long as there
// is no root. A session event that its sender sent makes the session explicit; one without an end leaves the end
// to follow the session's events.
func (w *writing) count(g *eventGroup, h *head, fresh bool) {
	if !fresh {
		return // a repeat counts nothing, and may be stored under another session
	}
	e := h.ev
	d := w.delta(h.project, h.session)
	if h.parent == uuid.Nil && !e.IsSession() && (d.root.ev == nil || sessiontree.Earlier(e.Start, e.ID, d.root.ms, d.root.ev.ID)) ||
		d.root.ev == nil && e.Start < d.first {
		d.hinted(g.hint)
		d.lead = h
	}
	d.totals.add(h.totals)
	d.first, d.last = min(d.first, e.Start), max(d.last, e.End)
	if d.runID == "" {
		d.runID = h.runID
	}
	if e.IsSession() {
		d.sessionHead, d.implicit = h, explicitSession
		if e.End <= e.Start {
			d.implicit = implicitEnd
		}
		d.runID = cmp.Or(h.runID, d.runID)
		return
	}
	// The session's user is that of its first event that has one.
	if h.userID != "" && (d.userMS == nil || e.Start < *d.userMS) {
		d.userMS = &e.Start
		var b rawjson.Builder
		b.String("user_id", h.userID)
		d.user = b.Bytes()
	}
	if h.parent != uuid.Nil {
		return
	}
	if d.root.ev == nil || sessiontree.Earlier(e.Start, e.ID, d.root.ms, d.root.ev.ID) {
		d.root = rootRef{e.Start, e, h.day}
	}
	if e.Error != nil && *e.Error != "" && (d.failed.ev == nil || sessiontree.Earlier(e.Start, e.ID, d.failed.ms, d.failed.ev.ID)) {
		d.failed = rootRef{e.Start, e, h.day}
	}
	if d.final.ev == nil || sessiontree.Earlier(d.final.ms, d.final.ev.ID, e.End, e.ID) {
		d.final = rootRef{e.End, e, h.day}
	}
}

// hinted takes what a request says of the session together with an event that is its first root, or
// its first event as long as no root is known.
func (d *sessionDelta) hinted(hint *event.SessionHint) {
	switch {
	case hint == nil:
	case d.hint != nil && hint.Name == "":
		named := *hint
		named.Name = d.hint.Name
		d.hint = &named
	default:
		d.hint = hint
	}
}

// changeKind returns what the delta is to those who watch the session.
func (d *sessionDelta) changeKind() event.ChangeKind {
	if d.state.fresh {
		return event.ChangeSession
	}
	return event.ChangeEvent
}

// leads reports whether the delta brought the event that the session's own follows: its first root, or
// its first event if it has no root.
func (d *sessionDelta) leads() bool {
	if d.state.rootID != uuid.Nil {
		return d.root.ev != nil && d.root.ev.ID == d.state.rootID
	}
	return d.first == d.state.first
}

// prepareRow sets what an insert of the session's row needs.
func (d *sessionDelta) prepareRow() {
	if d.lead != nil && d.lead.trace != 0 {
		hint := hintOf(d.lead.ev) // the request's may be that of an event that was there before
		if d.hint != nil {
			hint.Name = d.hint.Name
		}
		d.hint, d.lead = hint, nil
	}
	_, d.nameRank = d.name()
	// No two rows of one id, one after the other, ever share a version: a tree that was kept in memory for a session that
	// was deleted and made again is not taken for the new one's.
	d.initialVersion = time.Now().UnixNano()
	if math.IsInf(d.first, 1) {
		d.first, d.last = noFirst, noLast
	}
	d.eventDay = dayOf(min(d.first, event.MaxMillis))
	if d.sessionHead != nil {
		d.eventDay = d.sessionHead.day
	}
}

// run returns the run of an event: its own, or else its session's. A session event has only its own.
func (d *sessionDelta) run(h *head) string {
	if h.runID == "" && d.state.runID != nil && !h.ev.IsSession() {
		return *d.state.runID
	}
	return h.runID
}
