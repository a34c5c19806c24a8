package events

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// wholeEvent makes of a stored event what callers read: cold metadata joined, the roll-up and the
// root events' payload in a session event, whose places are in l, if l is not nil.
func (s *Store) wholeEvent(ctx context.Context, r *Stored, roll *rollup, l *eventList) (event.Event, error) {
	if err := s.payload(ctx, r); err != nil {
		return event.Event{}, err
	}
	e := r.Event
	if r.chunk != nil {
		r.Event.Inputs, r.Event.Outputs, r.Event.Config = nil, nil, nil // the set stays small
	}
	e.Metadata, e.ColdMetadata = rawjson.Concat(e.Metadata, e.ColdMetadata), nil
	return s.rolledUp(ctx, r.project, e, roll, l)
}

// eventSet makes an event.Set of head rows; headOnly leaves the payload where it is. Load reads the payload of one event when
// the caller gets to it, so a page of large events is never in memory at once. An event that is changed between the two reads is read
// anew; one that is deleted has no payload, and is gone.
func (s *Store) eventSet(ctx context.Context, project int64, rows []*Stored, total int, headOnly bool) (*event.Set, error) {
	l, err := s.newEventList(ctx, s.db, project, rows)
	if err != nil {
		return nil, err
	}
	set := &event.Set{Total: total, Events: make([]event.Event, len(rows))}
	for i, r := range rows {
		set.Events[i] = r.Event
		if roll := l.rolls[r.ID]; roll != nil && r.IsSession() {
			roll.show(&set.Events[i])
		}
	}
	// The head rows stay in memory as long as the set does. A payload is only ever that of the event just asked for.
	set.Complete = func(i int) bool { return rows[i].inHeads() }
	set.Load = func(ctx context.Context, i int) (event.Event, error) {
		r := rows[i]
		if headOnly && r.inHeads() {
			return set.Events[i], nil
		}
		var roll *rollup
		if r.IsSession() {
			roll = l.rolls[r.ID]
		}
		// Reads ahead for this event and those behind it; a payload that is not in the cache afterwards is read by itself.
		l.prefetch(ctx, i)
		e, err := s.wholeEvent(ctx, r, roll, l)
		return e, sqldb.WrapError(s.db, err, "read event")
	}
	set.Gone = func(i int) bool { return rows[i].gone }
	return set, nil
}

// Event returns one event whole; the session event for a session's id, also where that id has
// moved.
func (s *Store) Event(ctx context.Context, projectID int64, id uuid.UUID) (event.Event, error) {
	r, err := s.Find(ctx, s.db, projectID, id)
	if err != nil {
		return event.Event{}, sqldb.WrapError(s.db, err, "read event")
	}
	set, err := s.eventSet(ctx, projectID, []*Stored{r}, 1, false)
	if err != nil {
		return event.Event{}, sqldb.WrapError(s.db, err, "read event")
	}
	e, err := set.Load(ctx, 0)
	if err == nil && set.IsGone(0) {
		err = fault.New(fault.NotFound, "no event %s", id)
	}
	return e, err
}

// EventsByID returns those of the events that are there, in the order of ids, as a search does.
func (s *Store) EventsByID(ctx context.Context, projectID int64, ids []uuid.UUID) (*event.Set, error) {
	found := make(map[uuid.UUID]*Stored, len(ids))
	// One query for each day that the filters name, instead of one for each event.
	byDay := map[int32][]uuid.UUID{}
	for _, id := range ids {
		days, far := s.idFilter.mayContain(projectID, id, nil)
		if far {
			more, err := s.bulk.farDays(ctx, s.db, projectID, id)
			if err != nil {
				return nil, sqldb.WrapError(s.db, err, "read events")
			}
			days = append(days, more...)
		}
		for _, day := range days {
			byDay[day] = append(byDay[day], id)
		}
	}
	// A filter may name days on which an id is not: those cost an index probe, and find nothing.
	if err := s.eachOfDays(ctx, projectID, byDay, func(r *Stored) { found[r.ID] = r }); err != nil {
		return nil, sqldb.WrapError(s.db, err, "read events")
	}
	if err := s.findStrangers(ctx, projectID, ids, found); err != nil {
		return nil, sqldb.WrapError(s.db, err, "read events")
	}
	var rows []*Stored
	for _, id := range ids {
		r := found[id]
		// These reads are one by one, and seldom.
		if r == nil {
			// Known by another id, or gone.
			var err error
			if r, err = s.Find(ctx, s.db, projectID, id); err != nil {
				if fault.IsNotFound(err) {
					continue
				}
				return nil, sqldb.WrapError(s.db, err, "read event")
			}
		}
		rows = append(rows, r)
	}
	set, err := s.eventSet(ctx, projectID, rows, len(rows), false)
	return set, sqldb.WrapError(s.db, err, "read events")
}

// findStrangers adds to found those of ids that it lacks and that another process has stored, so that the filters of this one do not know them.
func (s *Store) findStrangers(ctx context.Context, project int64, ids []uuid.UUID, found map[uuid.UUID]*Stored) error {
	if s.db.Exclusive() {
		return nil
	}
	lacking := slices.DeleteFunc(slices.Clone(ids), func(id uuid.UUID) bool { return found[id] != nil })
	for group := range slices.Chunk(lacking, sqldb.IDsPerQuery) {
		cond, args := s.db.AnyID("e.event_id", 2, group)
		if err := s.eachHead(ctx, s.db, `e.project_id = $1 AND `+cond, append([]any{project}, args...), func(r *Stored) { found[r.ID] = r }); err != nil {
			return err
		}
	}
	return nil
}

// Find looks for an event by its id alone. fault.NotFound if there is none. In a transaction the row is held (load).
func (s *Store) Find(ctx context.Context, c sqldb.Conn, project int64, id uuid.UUID) (found *Stored, err error) {
	err = s.look(ctx, c, project, id, func(day int32, id uuid.UUID) (err error) {
		found, err = s.load(ctx, c, project, day, id)
		return err
	})
	return found, err
}

// StoredID returns the id by which an event is stored: another one than id if that is of a session that has moved. fault.NotFound if there is
// none. In a transaction the row is held.
func (s *Store) StoredID(ctx context.Context, c sqldb.Conn, project int64, id uuid.UUID) (found uuid.UUID, err error) {
	err = s.look(ctx, c, project, id, func(day int32, id uuid.UUID) error {
		ok, err := sqldb.One(ctx, c, `SELECT event_id FROM event WHERE project_id = $1 AND day = $2 AND event_id = $3`+c.ForUpdate(""),
			[]any{project, day, c.ID(id)}, sqldb.ScanID(&found))
		if err == nil && !ok {
			err = fault.New(fault.NotFound, "no event %s", id)
		}
		return err
	})
	return found, err
}

// look calls at with the days on which an event may be stored until it is there: until at returns anything but fault.NotFound. It tries
// the days that the filters name; where other processes write, an index that all partitions have; then the id as that of a session that
// has moved, under the id that the alias names.
func (s *Store) look(ctx context.Context, c sqldb.Conn, project int64, id uuid.UUID, at func(day int32, id uuid.UUID) error) error {
	// Twice at most: AliasOf follows an alias to its end, so the second round looks where the session is now.
	for range 2 {
		days, far := s.idFilter.mayContain(project, id, nil)
		if far {
			more, err := s.bulk.farDays(ctx, c, project, id)
			if err != nil {
				return err
			}
			days = append(days, more...)
		}
		for _, day := range days {
			if err := at(day, id); !fault.IsNotFound(err) {
				return err
			}
		}
		if !s.db.Exclusive() {
			// Other processes write too, and the filters of this one do not know all ids.
			var day int32
			// It costs a probe of each partition, which is why the days that the filters name come first.
			ok, err := sqldb.One(ctx, c, `SELECT day FROM event WHERE event_id = $1 AND project_id = $2`, []any{c.ID(id), project}, &day)
			if err != nil {
				return err
			}
			if ok {
				return at(day, id)
			}
		}
		to, ok, err := AliasOf(ctx, c, project, id)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		id = to
	}
	return fault.New(fault.NotFound, "no event %s", id)
}

// AsRead returns a row as callers see it, with payload, joined metadata and roll-up; ok is false if it was deleted meanwhile.
func (s *Store) AsRead(ctx context.Context, r *Stored) (e event.Event, ok bool, err error) {
	l, err := s.newEventList(ctx, s.db, r.project, []*Stored{r})
	if err != nil {
		return e, false, err
	}
	return l.asRead(ctx, 0)
}

// readAnew reads an event whole that has changed since its row was read; ok is false if it was
// deleted. roll is as for rolledUp.
func (s *Store) readAnew(ctx context.Context, r *Stored, roll *rollup) (e event.Event, ok bool, err error) {
	now, err := s.Find(ctx, s.db, r.project, r.ID)
	if err != nil {
		if fault.IsNotFound(err) {
			err = nil
		}
		return e, false, err
	}
	e = now.Event
	e.Metadata, e.ColdMetadata = rawjson.Concat(e.Metadata, e.ColdMetadata), nil
	e, err = s.rolledUp(ctx, r.project, e, roll, nil)
	return e, err == nil, err
}

// EventsThere returns the ids by which events are stored, each once. fault.NotFound, naming the
// place in field, if one of them is not there.
func (s *Store) EventsThere(ctx context.Context, tx *Commit, project int64, field string, ids []uuid.UUID) ([]uuid.UUID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	// Empty and not nil days mean that nothing may be looked for; nil days mean that the filters cannot answer.
	ask := make([]idDays, len(ids))
	for i, id := range ids {
		ask[i].id = id
		if s.db.Exclusive() { // otherwise other processes store events that the filters do not know
			ask[i].days, ask[i].far = s.idFilter.mayContain(project, id, []int32{})
		}
	}
	found, err := tx.findEvents(ctx, project, ask)
	if err != nil {
		return nil, err
	}
	// A session that has moved is there under the id to which it moved.
	moved, err := AliasesOf(ctx, tx, project, slices.DeleteFunc(slices.Clone(ids), func(id uuid.UUID) bool { _, ok := found[id]; return ok }))
	if err != nil {
		return nil, err
	}
	var there []uuid.UUID
	for i, id := range ids {
		if _, ok := found[id]; !ok {
			if id, ok = moved[id]; !ok {
				return nil, fault.In(fmt.Sprintf("%s[%d]", field, i), fault.New(fault.NotFound, "no event %s", ids[i]))
			}
		}
		if !slices.Contains(there, id) {
			there = append(there, id)
		}
	}
	return there, nil
}
