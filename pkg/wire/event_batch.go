package wire

import (
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Batch is what a request writes, all of it or nothing.
type Batch struct {
	// Events are complete and valid. If the request made one session of its events, the
	// first of them is the session event.
	Events []event.Incoming
	// IDs are the ids of the events the request listed, in its order.
	IDs []uuid.UUID
	// SessionID is the one session, or that of the first event; zero if there are none.
	SessionID uuid.UUID
	// Logs is how many of the events came in the list logs, which only DecodeSessionTraces has. They are the first.
	Logs int
}

// Policy says what a batch does with fields it does not know.
type Policy bool

// The policies.
const (
	Lenient Policy = false // unknown fields are left out; the names of older clients are understood
	// Strict refuses unknown fields, also in each event, older names, a list without events, and an
	// id that is listed twice.
	Strict Policy = true
)

// MaxBatchEvents is the most events that one request may list. What decoding makes of an event is
// larger than the few bytes that an event may have, so the bound of the body does not bound it.
const MaxBatchEvents = 10_000

// DecodeBatch reads {"events": […], "single_session"?, "session_properties"?}. With
// single_session all events share one session made from session_properties: its session_id
// if that is a UUID, else the one that all events name, else a new one.
//
// One bad event refuses the whole: errors are fault.Invalid with a path such as
// "events[1].inputs"; more than [MaxBatchEvents] are fault.TooLarge. The JSON fields may be slices
// of body.
func DecodeBatch(body []byte, policy Policy, now time.Time) (Batch, error) {
	return decodeBatch(body, eventList, policy, now)
}

// DecodeModelBatch reads {"model_events": […]} with the same options, always leniently.
func DecodeModelBatch(body []byte, now time.Time) (Batch, error) {
	return decodeBatch(body, modelList, Lenient, now)
}

// listed is a list of events: its name, the fields of an event, what each must have, and what completes it. The two
// kinds of batches differ in nothing else.
type listed struct {
	name   string
	fields map[string]setter
	need   func(*draft) error
	finish func(*draft, time.Time) error
}

var (
	eventList = listed{"events", eventFields, (*draft).needEvent, (*draft).finishEvent}
	modelList = listed{"model_events", modelFields, (*draft).needModel, (*draft).finishModel}
)

// decodeBatch reads a batch of either list:
//
//  1. The events are read into drafts, in any order of the body's members: whether they share a session may stand
//     behind them.
//  2. If they share one, the session event is made of its properties, and all events are moved there.
//  3. Each event is completed and checked.
func decodeBatch(body []byte, list listed, policy Policy, now time.Time) (Batch, error) {
	r, err := newReader(body)
	if err != nil {
		return Batch{}, err
	}
	var (
		drafts                []*draft
		found, single         bool
		properties, oldersOwn *draft // session_properties, and what older clients call session
	)
	err = r.object(func(key string) error {
		older := key == "is_single_session" || key == "session"
		switch {
		case key == list.name:
			found = true // of two lists the last one counts
			drafts, err = readDrafts(r, drafts[:0], list, policy)
			return err
		case bool(policy) && (older || key != "single_session" && key != "session_properties"):
			return unknownField(key)
		case r.kind() == 'n':
			return r.skip()
		case key == "single_session" || key == "is_single_session":
			on, err := readFlag(r)
			single = single || on
			return err
		case key == "session_properties":
			properties = new(draft)
			return properties.read(r, sessionFields, false)
		case key == "session":
			oldersOwn = new(draft)
			return oldersOwn.read(r, sessionFields, false)
		default:
			return r.skip()
		}
	})
	if err != nil {
		return Batch{}, err
	}
	if !found {
		return Batch{}, fault.InvalidField(list.name, "is required: an array of events")
	}
	if properties == nil {
		properties = oldersOwn
	}
	if policy == Strict {
		if err := listedOnce(drafts, list.name); err != nil {
			return Batch{}, err
		}
	}
	if !single {
		return finishAll(drafts, list, now)
	}
	if properties == nil {
		properties = new(draft)
	}
	return oneSession(properties, drafts, list, now)
}

// listedOnce refuses a list without events and one with the same id twice. Events without an id get
// one of their own later.
func listedOnce(drafts []*draft, list string) error {
	if len(drafts) == 0 {
		return fault.InvalidField(list, "must hold at least one event")
	}
	first := make(map[uuid.UUID]int, len(drafts))
	for i := range drafts {
		id := drafts[i].event.ID
		if id == uuid.Nil {
			continue
		}
		if j, twice := first[id]; twice {
			return fault.InvalidField(indexed(list, i)+".event_id", "is also the id of %s", indexed(list, j))
		}
		first[id] = i
	}
	return nil
}

// readDrafts reads an array of events behind those in to, [MaxBatchEvents] in all. An event that lacks
// what it must have ends it, so that what is made of events is never much more than they carry.
func readDrafts(r *reader, to []*draft, list listed, policy Policy) ([]*draft, error) {
	err := r.array(func(int) error {
		if len(to) == MaxBatchEvents {
			return fault.New(fault.TooLarge, "a request may hold at most %d events", MaxBatchEvents)
		}
		d := new(draft)
		to = append(to, d)
		if err := d.read(r, list.fields, bool(policy)); err != nil {
			return err
		}
		return list.need(d)
	})
	return to, err
}

// readFlag reads true or false.
func readFlag(r *reader) (bool, error) {
	switch k := r.kind(); k {
	case 't', 'f':
		return k == 't', r.skip()
	default:
		return false, r.unexpected("a boolean")
	}
}

// finishAll completes each event by itself. The capacity has room for a session event, which oneSession adds.
func finishAll(drafts []*draft, list listed, now time.Time) (Batch, error) {
	b := Batch{Events: make([]event.Incoming, 0, len(drafts)+1), IDs: make([]uuid.UUID, len(drafts))}
	for i := range drafts {
		d := drafts[i]
		if err := list.finish(d, now); err != nil {
			return Batch{}, fault.In(indexed(list.name, i), err)
		}
		b.Events = append(b.Events, d.event)
		b.IDs[i] = d.event.ID
	}
	if len(b.Events) > 0 {
		b.SessionID = b.Events[0].SessionID
	}
	return b, nil
}

// oneSession makes the session that all events share, and moves them there. Its id is the one of its properties, else the
// one that all events name, else a new one; its times are those of the events, unless it has its own.
func oneSession(session *draft, drafts []*draft, list listed, now time.Time) (Batch, error) {
	s := &session.event
	if s.SessionID == uuid.Nil {
		s.SessionID = commonSession(drafts)
	}
	if s.SessionID == uuid.Nil {
		s.SessionID = uuid.New()
	}
	for i := range drafts {
		drafts[i].moveTo(s.SessionID)
	}
	b, err := finishAll(drafts, list, now)
	if err != nil {
		return Batch{}, err
	}
	if s.Start == 0 && s.End == 0 && !s.StartGiven {
		s.Start, s.End = span(b.Events) // both 0 if there are no events: then it is now
		s.DefaultTime = true
	}
	if err := session.finishSession(now); err != nil {
		return Batch{}, fault.In("session_properties", err)
	}
	b.Events = append(b.Events, event.Incoming{})
	copy(b.Events[1:], b.Events)
	b.Events[0] = *s
	b.SessionID = s.SessionID
	return b, nil
}

// commonSession returns the session that every event names, zero if they do not agree.
func commonSession(drafts []*draft) uuid.UUID {
	var id uuid.UUID
	for i := range drafts {
		switch got := drafts[i].event.SessionID; {
		case i == 0:
			id = got
		case got != id:
			return uuid.Nil
		}
	}
	return id
}

// span returns the earliest start and the latest end of events, 0 and 0 without any.
func span(events []event.Incoming) (start, end float64) {
	for i := range events {
		e := &events[i]
		if i == 0 || e.Start < start {
			start = e.Start
		}
		end = max(end, e.End)
	}
	return start, end
}

// indexed returns the path of element i of a list.
func indexed(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// AppendBatchAnswer appends the answer to a batch: {"event_ids", "session_id", "success"}.
func AppendBatchAnswer(dst []byte, b *Batch) []byte {
	dst = append(dst, `{"event_ids":[`...)
	for i, id := range b.IDs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendID(dst, id)
	}
	dst = append(dst, `],"session_id":`...)
	if b.SessionID == uuid.Nil {
		dst = rawjson.AppendString(dst, "")
	} else {
		dst = appendID(dst, b.SessionID)
	}
	return append(dst, `,"success":true}`...)
}
