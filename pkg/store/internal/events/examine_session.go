package events

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// sessionSums is what a session's row must say, as its events have it.
type sessionSums struct {
	totals      totals
	first, last *float64 // of the events but the session's own
	own         *Stored  // the session's own event; nil: there is none
	root, final rootRow
	unread      bool // of some event what counts is in a payload that cannot be read
}

// add adds an event. h is its derived head.
func (x *sessionSums) add(r *Stored, h *head) {
	x.totals.add(h.totals)
	if r.IsSession() {
		x.own = r
		return
	}
	if x.first == nil || r.Start < *x.first {
		x.first = &r.Start
	}
	if x.last == nil || r.End > *x.last {
		x.last = &r.End
	}
	if r.ParentID != r.SessionID {
		return
	}
	if x.root.ms == nil || r.Start < *x.root.ms || r.Start == *x.root.ms && lessID(r.ID, x.root.id) {
		x.root = rootRow{&r.Start, r.ID, &r.Day}
	}
	if x.final.ms == nil || r.End > *x.final.ms || r.End == *x.final.ms && lessID(x.final.id, r.ID) {
		x.final = rootRow{&r.End, r.ID, &r.Day}
	}
}

func lessID(a, b uuid.UUID) bool { return string(a[:]) < string(b[:]) }

// differs names the first figure of a row that is not what the events have; empty if all are.
func (x *sessionRow) differs(want *sessionSums) string {
	a, b := x.totals, want.totals
	for _, f := range []struct {
		name      string
		have, sum int64
	}{
		{"num_events", a.n, b.n},
		{"num_model_events", a.models, b.models},
		{"num_errors", a.errors, b.errors},
		{"num_feedback", a.feedback, b.feedback},
		{"num_costs", a.costs, b.costs},
		{"num_calls", a.calls, b.calls},
		{"num_tool_events", a.tools, b.tools},
		{"num_unfinished", a.unfinished, b.unfinished},
	} {
		if f.have != f.sum {
			return fmt.Sprintf("%s is %d, by its events %d", f.name, f.have, f.sum)
		}
	}
	from, to := sessionTimes(x.implicit, want.own, want.first, want.last)
	for _, f := range []struct {
		name      string
		have, sum float64
		slack     float64
	}{
		// Sums of doubles that went up and down again may differ in their last digits.
		{"prompt_tokens", a.prompt, b.prompt, 1e-6},
		{"completion_tokens", a.completion, b.completion, 1e-6},
		{"total_tokens", a.total, b.total, 1e-6},
		{"cost", a.cost, b.cost, 1e-6},
		{"first_ms", x.first, from, 0},
		{"last_ms", x.last, to, 0},
	} {
		if d := math.Abs(f.have - f.sum); d > f.slack+1e-9*math.Abs(f.sum)*f.slack*1e6 {
			return fmt.Sprintf("%s is %v, by its events %v", f.name, f.have, f.sum)
		}
	}
	if x.root.id != want.root.id || x.final.id != want.final.id {
		return fmt.Sprintf("the first and last root are %s and %s, by its events %s and %s", x.root.id, x.final.id, want.root.id, want.final.id)
	}
	return ""
}

// sessionPass goes over sessions and collects what is wrong.
type sessionPass struct {
	x *Examiner

	sessions, events, large                                  int64
	missing, damaged, without, totals, loose, cycles, unseen diagnosis.Cases
	unlisted                                                 diagnosis.Cases
	unlistedOf                                               map[int64]bool // projects
	fields                                                   map[int64]*listedFields
	suspects                                                 []suspect
}

// suspect is a key of an event that was not in the field index when that was read.
type suspect struct {
	project int64
	typ     int
	name    string
	path    string
	day     int32
	event   uuid.UUID
}

func newSessionPass(x *Examiner) *sessionPass {
	return &sessionPass{x: x, fields: map[int64]*listedFields{}, unlistedOf: map[int64]bool{}}
}

func (x *Examiner) checkSessions(ctx context.Context, r *diagnosis.Recorder) error {
	p := newSessionPass(x)
	if err := p.run(ctx, func() { r.Progress(p.events, x.examinedEvents()) }); err != nil {
		return err
	}
	p.report(r)
	return nil
}

// run looks at all sessions that the examiner chooses, and calls progress now and then.
func (p *sessionPass) run(ctx context.Context, progress func()) error {
	return p.x.eachSession(ctx, func(project int64, ids []uuid.UUID) error {
		err := p.lookAt(ctx, project, ids, func(uuid.UUID) {})
		progress()
		return err
	})
}

// lookAt looks at sessions in one snapshot, and calls seen after each.
func (p *sessionPass) lookAt(ctx context.Context, project int64, ids []uuid.UUID, seen func(session uuid.UUID)) error {
	s := p.x.s
	err := s.db.Snapshot(ctx, func(c sqldb.Conn) error {
		s.forgetRead()
		for _, id := range ids {
			if err := p.look(ctx, c, project, id); err != nil {
				return fmt.Errorf("session %s: %w", name(project, id), err)
			}
			seen(id)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return p.confirm(ctx)
}

// examinedEvents returns about how many events the pass over sessions reads; 0 if that is not known.
func (x *Examiner) examinedEvents() int64 {
	if x.o.Full {
		return x.events
	}
	return 0
}

// look looks at one session.
func (p *sessionPass) look(ctx context.Context, c sqldb.Conn, project int64, id uuid.UUID) error {
	s := p.x.s
	row, found, err := readSessionRow(ctx, c, project, id, "")
	if err != nil || !found {
		return err
	}
	if !p.x.o.Full && row.totals.n > sampleEvents {
		p.large++
		return nil
	}
	// While a session is being deleted its totals are not kept right.
	var n int
	if going, err := sqldb.One(ctx, c, `SELECT 1 FROM deletion WHERE project_id = $1 AND kind = $2 AND id = $3`,
		[]any{project, DeletedSession, id.String()}, &n); err != nil || going {
		return err
	}
	p.sessions++
	var sums sessionSums
	links := newLinks(id)
	err = s.eachOfSession(ctx, c, project, id, func(page []*Stored) error {
		for _, e := range page {
			p.events++
			p.event(ctx, c, e, &sums)
			links.add(e)
		}
		unseen, err := s.unfindable(ctx, c, project, page)
		for _, ids := range unseen {
			for _, id := range ids {
				p.unseen.Add(name(project, id))
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	switch {
	case sums.own == nil:
		p.without.Add(name(project, id))
	case sums.unread:
	default:
		if what := row.differs(&sums); what != "" {
			p.totals.Add(name(project, id) + ": " + what)
		}
	}
	if loop := links.cycle(); loop != uuid.Nil {
		p.cycles.Add(name(project, loop))
	}
	elsewhere, err := s.parentsElsewhere(ctx, c, project, links)
	for _, e := range elsewhere {
		p.loose.Add(name(project, e))
	}
	return err
}

// eachOfSession calls f with the events of a session, some at a time, without their payloads. They are found by the index of sessions: that of keys has
// the order, but all events of the project.
func (s *Store) eachOfSession(ctx context.Context, c sqldb.Conn, project int64, session uuid.UUID, f func(page []*Stored) error) error {
	day, after := int32(math.MinInt32), uuid.Nil
	for {
		b := query.NewBuilder(s.Dialect)
		text := `SELECT ` + s.Columns() + ` FROM ` + s.Dialect.From() + ` WHERE ` + s.Dialect.NoIndex("e.project_id") + ` = ` + b.Arg(project) +
			` AND ` + s.Dialect.SessionIs(b, project, session) +
			` AND (e.day, e.event_id) > (` + b.Arg(day) + `, ` + b.Arg(c.ID(after)) + `)` +
			fmt.Sprintf(` ORDER BY e.day, e.event_id LIMIT %d`, examinePage)
		var page []*Stored
		err := sqldb.Each(ctx, c, text, b.Args(), func(scan func(...any) error) error {
			r, err := ScanHead(scan)
			page = append(page, r)
			return err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		if err := f(page); err != nil || len(page) < examinePage {
			return err
		}
		last := page[len(page)-1]
		day, after = last.Day, last.ID
	}
}

// event reads an event's payload and adds the event to the sums of its session.
func (p *sessionPass) event(ctx context.Context, c sqldb.Conn, e *Stored, sums *sessionSums) {
	if err := p.x.s.fillFrom(ctx, c, e); err != nil {
		if errors.Is(err, errNoChunk) {
			p.missing.Add(name(e.project, e.ID))
		} else {
			p.damaged.Add(name(e.project, e.ID) + ": " + err.Error())
		}
		sums.unread = sums.unread || e.Spill&record.HeadFields != 0
	} else {
		p.listed(ctx, c, e)
	}
	sums.add(e, e.asHead())
	e.Inputs, e.Outputs, e.Config, e.ColdMetadata = nil, nil, nil, nil // the page holds the rest
}

// unfindable returns the ids of those events that are not found by them, by day.
func (s *Store) unfindable(ctx context.Context, c sqldb.Conn, project int64, page []*Stored) (map[int32][]uuid.UUID, error) {
	byDay := map[int32][]uuid.UUID{}
	for _, e := range page {
		byDay[e.Day] = append(byDay[e.Day], e.ID)
	}
	for day, ids := range byDay {
		unseen, err := s.bulk.unfindable(ctx, c, project, day, ids)
		if err != nil {
			return nil, err
		}
		byDay[day] = unseen
	}
	return byDay, nil
}

func (p *sessionPass) report(r *diagnosis.Recorder) {
	what := fmt.Sprintf("%d sessions with %d events", p.sessions, p.events)
	if p.large > 0 {
		what += fmt.Sprintf(" (%d with more than %d events left out; --full reads them)", p.large, sampleEvents)
	}
	found := map[string]bool{}
	add := func(c *diagnosis.Cases, f diagnosis.Finding) {
		if c.N > 0 {
			found[f.Check] = true
			r.Add(c.Finding(f))
		}
	}
	const lost = "it is lost unless there is a backup, from before the damage; the rest of the event can be read. " +
		"See that disk and memory of the machine are sound; updating inputs and outputs of the event, or deleting it, ends the error"
	add(&p.missing, diagnosis.Finding{Check: checkPayloads, Severity: diagnosis.Error, Text: "of %d events the payload (inputs, outputs) is not there", Advice: lost})
	add(&p.damaged, diagnosis.Finding{Check: checkPayloads, Severity: diagnosis.Error,
		Text: "of %d events the payload cannot be read: it is damaged, or its checksum is wrong", Advice: lost})
	add(&p.without, diagnosis.Finding{Check: checkSessions, Severity: diagnosis.Error, Text: "%d sessions have lost their own event",
		Advice: "send the session's start again, with the same id, or delete the session"})
	add(&p.totals, diagnosis.Finding{Check: checkTotals, Severity: diagnosis.Error, Text: "the totals of %d sessions are not what their events add up to",
		Advice: "--mend counts them anew", Mendable: true})
	add(&p.cycles, diagnosis.Finding{Check: checkTrees, Severity: diagnosis.Warn, Text: "in %d sessions events are below themselves",
		Advice: "correct parent_id where the events come from"})
	add(&p.loose, diagnosis.Finding{Check: checkTrees, Severity: diagnosis.Warn, Text: "%d events name a parent that is in another session",
		Advice: "correct session_id or parent_id where the events come from"})
	add(&p.unseen, diagnosis.Finding{Check: checkIDs, Severity: diagnosis.Error,
		Text:   "%d events are not found by their ids: updates miss them, and sent again they are stored twice",
		Advice: "--mend lists their ids anew", Mendable: true})
	add(&p.unlisted, diagnosis.Finding{Check: checkFields, Severity: diagnosis.Error,
		Text:   "%d fields of events are not in the field index: they are not offered where filters are made, and found all the same",
		Advice: "--mend lists them anew", Mendable: true})
	for _, x := range []struct{ check, text string }{
		{checkPayloads, "all payloads of " + what + " are there and whole"},
		{checkSessions, what + " belong together"},
		{checkTotals, "totals and times of " + what + " are right"},
		{checkTrees, "the trees of " + what + " are trees"},
		{checkIDs, "all of " + what + " are found by their ids"},
		{checkFields, "all fields of " + what + " are listed"},
	} {
		if !found[x.check] {
			r.Add(diagnosis.Finding{Check: x.check, Severity: diagnosis.OK, Text: x.text})
		}
	}
}
