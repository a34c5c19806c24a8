package store

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/run"
)

// Flags that are kept in the spill column beside the spill bits.
const (
	flagUnfinished = 1 << 8  // a copy of a span that has not ended
	flagOutputsSet = 1 << 9  // an update has given the outputs
	flagWrapper    = 1 << 10 // a model call that was corrected to a chain
	flagDuplicate  = 1 << 11 // marked by the store as the duplicate of another event
	flagFixed      = 1 << 12 // its session is its own, not that of its trace
	flagNamed      = 1 << 13 // its span names a session itself
	flagFilled     = 1 << 14 // it has what its duplicates know
	flagTools      = 1 << 15 // a model call of a trace, as its sender told it, with tools
	flagMessages   = 1 << 16 // likewise, with messages
	flagDuration   = 1 << 17 // somebody has given the duration
	flagInputs     = 1 << 18 // it has inputs
	flagOutputs    = 1 << 19 // it has outputs
	flagRootError  = 1 << 20 // a session event whose error is that of its first failed root
)

// head is one row of table ev, and what the writer needs to know of the event besides.
type head struct {
	ev           *event.Event
	project      int64
	day          int32
	sid          int64 // SQLite's number of the session, set in the writer
	session      uuid.UUID
	parent       uuid.UUID // zero: the session
	spill        int
	runID        string
	userID       string
	trace        int64  // 0: no span
	duplicateKey []byte // see duplicateKey
	totals       totals
	rev          int
	// responseID is the id of a model's answer, which evaluations may name.
	responseID string
	datasetID  string
	target     string // the event that an event of a judge's session is about
	shape      uint64 // see shapeOf; set of events that come, not of those that are read

	chunk *chunkRow // nil: no payload
	off   int
	known bool // the id may be stored already; its payload is not in a chunk yet
	// priced says that the store computed the cost of a new event.
	priced bool
}

type chunkRow struct {
	id  int64
	day int32
	raw []byte // until compressed
	z   []byte
	// use counts the inserted events whose payload is in it; a chunk of repeats only is not stored.
	use int
}

// group is the events of one request that share session and trace.
type group struct {
	part        part // the request, and the session the group had when it was prepared
	project     int64
	session     uuid.UUID
	trace       uuid.UUID // zero: native events, or spans whose session is fixed
	provisional bool
	heads       []*head
	chunks      []*chunkRow
	hint        *event.SessionHint
}

// writeBatch is one request, ready for the writer.
type writeBatch struct {
	project int64
	traces  []*traceRow
	groups  []*group
	logs    []*logRow
	events  int
	bytes   int64
}

// prepare checks a batch, groups its events by session and compresses their payload, all of
// it outside the writer. A repeated id within the batch is folded into its first event.
func (s *Store) prepare(projectID int64, b event.Batch) (*writeBatch, error) {
	p := &writeBatch{project: projectID}
	b.Events = slices.Clone(b.Events) // repeats and moves change them, and the caller may send them again
	type key struct {
		session, trace uuid.UUID
	}
	groups := map[key]*group{}
	byID := make(map[uuid.UUID]*head, len(b.Events))
	hints := make(map[uuid.UUID]*event.SessionHint, len(b.Sessions))
	for i := range b.Sessions {
		if hints[b.Sessions[i].SessionID] == nil {
			hints[b.Sessions[i].SessionID] = &b.Sessions[i]
		}
	}
	var daysBuf [8]int32
	now := s.options.Now()
	for i := range b.Events {
		e := &b.Events[i]
		if err := e.Validate(); err != nil {
			return nil, fault.In(fmt.Sprintf("events[%d]", i), err)
		}
		if e.TraceID != uuid.Nil {
			s.options.Window.Adjust(e, now)
		} else if err := s.options.Window.Check(e, now); err != nil {
			return nil, fault.In(fmt.Sprintf("events[%d]", i), err)
		}
		if first := byID[e.ID]; first != nil {
			first.ev.Repeat(e)
			continue
		}
		k := key{session: e.SessionID}
		if !e.Fixed {
			k.trace = e.TraceID
		}
		g := groups[k]
		if g == nil {
			g = &group{project: projectID, session: k.session, trace: k.trace, provisional: e.Provisional, hint: hints[k.session]}
			groups[k] = g
			p.groups = append(p.groups, g)
		}
		days, far := s.idFilter.mayContain(projectID, e.ID, daysBuf[:0])
		h := &head{ev: e, project: projectID, session: e.SessionID, known: len(days) > 0 || far}
		byID[e.ID] = h
		g.heads = append(g.heads, h)
		p.events++
	}
	p.logs = s.logRows(projectID, b.LogParts)
	for _, r := range p.logs {
		p.bytes += int64(len(r.z))
	}
	for i := range b.LogParts { // a session that only a log record names
		n := &b.LogParts[i]
		if k := (key{n.Session, n.TraceID}); n.Session != uuid.Nil && groups[k] == nil {
			groups[k] = &group{project: projectID, session: k.session, trace: k.trace}
			p.groups = append(p.groups, groups[k])
		}
	}
	for _, g := range p.groups {
		g.part = part{p, g.session}
		for _, h := range g.heads {
			h.priced = s.priceNew(h.ev)
			h.derive()
		}
	}
	p.names(&b)
	p.correct()
	for _, g := range p.groups {
		for _, h := range g.heads {
			h.shape = shapeOf(h.ev, h.datasetID)
			if !h.known {
				p.bytes += int64(g.addPayload(h))
			}
		}
	}
	p.compress()
	return p, nil
}

// compress closes all chunks, on all processors: requests of one sender come one after another,
// and each waits for its answer.
func (p *writeBatch) compress() {
	var open []*chunkRow
	for _, g := range p.groups {
		open = append(open, g.chunks...)
	}
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < len(open); i = int(next.Add(1)) - 1 {
			open[i].compress()
		}
	}
	var helpers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(open)) - 1 {
		helpers.Go(work)
	}
	work()
	helpers.Wait()
}

// derive sets what follows from the event.
func (h *head) derive() {
	e := h.ev
	h.day = dayOf(e.Start)
	h.parent = e.ParentID
	if e.ParentID == e.SessionID {
		h.parent = uuid.Nil
	}
	h.spill = spillOf(e) | flagsOf(e)
	if e.TraceID != uuid.Nil {
		h.trace = traceHash(e.TraceID)
	}
	h.runID, h.userID, h.responseID, h.datasetID, h.target = "", "", "", "", ""
	if u, ok := rawjson.Text(rawjson.Get(e.UserProperties, "user_id")); ok {
		h.userID = u
	}
	h.totals = totals{}
	h.totals.n = 1
	if e.IsSession() {
		h.totals.n = 0
		h.spill |= query.SpillRollup
	}
	if e.Error != nil && *e.Error != "" && !e.DerivedError {
		h.totals.errors = 1
	}
	if !rawjson.Empty(e.Inputs) {
		h.spill |= flagInputs
	}
	if !rawjson.Empty(e.Outputs) {
		h.spill |= flagOutputs
	}
	if !rawjson.Empty(e.Feedback) {
		h.totals.feedback = 1
	}
	model := e.Type == event.TypeModel
	if model || e.Wrapper {
		h.totals.calls = 1
		if h.trace != 0 {
			h.spill |= contentFlag(e.Content())
		}
	}
	h.scanMetadata(model)
}

// scanMetadata reads the promoted members of metadata in one pass.
func (h *head) scanMetadata(model bool) {
	var in, out, prompt, completion, total, cost float64
	var hasTotal, hasCost, duplicate bool
	for k, v := range rawjson.Object(h.ev.Metadata) {
		switch k {
		case "run_id":
			h.runID, _ = rawjson.Text(v)
			h.runID = run.FoldID(h.runID)
		case "prompt_tokens":
			prompt, _ = rawjson.Number(v)
		case "completion_tokens":
			completion, _ = rawjson.Number(v)
		case "input_tokens":
			in, _ = rawjson.Number(v)
		case "output_tokens":
			out, _ = rawjson.Number(v)
		case "total_tokens":
			total, hasTotal = rawjson.Number(v)
		case "cost":
			cost, hasCost = rawjson.Number(v)
		case "response_id":
			h.responseID, _ = rawjson.Text(v)
		case "dataset_id":
			h.datasetID, _ = rawjson.Text(v)
		case "target_event_id":
			if h.ev.Source == evaluation.Source {
				h.target, _ = rawjson.Text(v)
			}
		case event.DuplicateKey:
			duplicate = !rawjson.Null(v)
		}
	}
	if h.duplicateKey = nil; h.trace != 0 {
		h.duplicateKey = duplicateKey(h.ev, h.responseID)
	}
	if !model || duplicate {
		return // only model events count, and of those that tell one call only one
	}
	h.totals.models = 1
	if prompt == 0 {
		prompt = in
	}
	if completion == 0 {
		completion = out
	}
	if !hasTotal {
		total = prompt + completion
	}
	h.totals.prompt, h.totals.completion, h.totals.total = bounded(prompt), bounded(completion), bounded(total)
	if hasCost {
		h.totals.cost, h.totals.costs = bounded(cost), 1
	}
}

// maxCounted is what one event adds at most to a sum of tokens or cost of its session: far more than any
// call has, and little enough that no sum of them overflows, and thousands of them add up exactly.
const maxCounted = 1e12

// bounded is v as it counts in a session's totals.
func bounded(v float64) float64 { return min(max(v, -maxCounted), maxCounted) }

// addPayload appends the event's payload to the group's open chunk of its day.
func (g *group) addPayload(h *head) (bytes int) {
	if !hasPayload(h.ev, h.spill) {
		return 0
	}
	var c *chunkRow
	for i := len(g.chunks) - 1; i >= 0; i-- {
		if open := g.chunks[i]; open.day == h.day && open.raw != nil && len(open.raw) < chunkBytes {
			c = open
			break
		}
	}
	e := h.ev
	size := len(e.Inputs) + len(e.Outputs) + len(e.Config) + len(e.ColdMetadata) + 64
	if c == nil || (len(c.raw) > 0 && len(c.raw)+size > chunkBytes) {
		c = &chunkRow{day: h.day, raw: rawBuffer(size)}
		g.chunks = append(g.chunks, c)
	}
	h.chunk, h.off = c, len(c.raw)
	c.raw = appendRecord(c.raw, e, h.spill)
	return len(c.raw) - h.off
}

// inHead is a JSON field as it stands in the head row: nil where it is absent or in the payload.
func (h *head) inHead(bit int, raw []byte) []byte {
	if h.spill&bit != 0 || len(raw) == 0 {
		return nil
	}
	return raw
}

func (h *head) errorText() *string {
	if h.spill&query.SpillError != 0 {
		return nil
	}
	return h.ev.Error
}

// dayMillis is the length of a day.
const dayMillis = 86_400_000

// dayOf is the day of a time, counted from 1970.
func dayOf(ms float64) int32 { return int32(math.Floor(ms / dayMillis)) }

// totals is what an event adds to its session.
type totals struct {
	n, models, errors, feedback, costs int64
	calls                              int64 // models, and what else its sender told as a model call
	prompt, completion, total, cost    float64
}

func (t *totals) add(o totals) {
	t.n += o.n
	t.models += o.models
	t.errors += o.errors
	t.feedback += o.feedback
	t.costs += o.costs
	t.calls += o.calls
	t.prompt += o.prompt
	t.completion += o.completion
	t.total += o.total
	t.cost += o.cost
}

func (t totals) minus(o totals) totals {
	return totals{t.n - o.n, t.models - o.models, t.errors - o.errors, t.feedback - o.feedback, t.costs - o.costs, t.calls - o.calls,
		t.prompt - o.prompt, t.completion - o.completion, t.total - o.total, t.cost - o.cost}
}
