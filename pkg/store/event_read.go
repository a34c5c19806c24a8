package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// stored is an event as it stands in its row.
type stored struct {
	event.Event
	project int64
	day     int32
	spill   int
	chunk   *int64
	off     int
	runID   string
	trace   int64 // 0: not a span's event
}

// columns lists the head columns in the order scanHead reads them.
func (s *Store) columns() string {
	return `e.project_id, e.day, e.event_id, ` + s.db.frag().sessionID + `, e.parent_id, e.type, e.name, e.source, e.error, e.start_ms, e.end_ms, e.duration,
		e.metadata, e.metrics, e.feedback, e.user_properties, e.children_ids, coalesce(e.run_id, ''), e.spill, e.chunk, coalesce(e.off, 0),
		coalesce(e.trace, 0)`
}

func scanHead(scan func(...any) error) (*stored, error) {
	var r stored
	var typ int
	e := &r.Event
	err := scan(&r.project, &r.day, scanID{&e.ID}, scanID{&e.SessionID}, scanID{&e.ParentID}, &typ, &e.Name, &e.Source, &e.Error, &e.Start, &e.End, &e.Duration,
		(*[]byte)(&e.Metadata), (*[]byte)(&e.Metrics), (*[]byte)(&e.Feedback), (*[]byte)(&e.UserProperties), (*[]byte)(&e.ChildrenIDs), &r.runID,
		&r.spill, &r.chunk, &r.off, &r.trace)
	if err != nil {
		return nil, err
	}
	e.Type = query.TypeOf(typ)
	if e.ParentID == uuid.Nil && !e.IsSession() {
		e.ParentID = e.SessionID
	}
	e.Unfinished, e.OutputsSet = r.spill&flagUnfinished != 0, r.spill&flagOutputsSet != 0
	e.DurationGiven = r.spill&flagDuration != 0
	e.Fixed, e.Named = r.spill&flagFixed != 0, r.spill&flagNamed != 0
	e.Wrapper, e.Duplicate, e.Filled = r.spill&flagWrapper != 0, r.spill&flagDuplicate != 0, r.spill&flagFilled != 0
	e.DerivedError = r.spill&flagRootError != 0
	return &r, nil
}

// load reads one event whole, and in a transaction holds its row, so that no other writer's
// change is lost. fault.NotFound if it is not there.
func (s *Store) load(ctx context.Context, c conn, project int64, day int32, id uuid.UUID) (*stored, error) {
	for gone := int64(0); ; {
		r, err := s.loadHead(ctx, c, project, day, id)
		if err != nil || r.chunk == nil {
			return r, err
		}
		raw, err := s.chunk(ctx, c, r.day, *r.chunk)
		if errors.Is(err, errNoChunk) && *r.chunk != gone {
			gone = *r.chunk // an update came between the two reads
			continue
		}
		if err == nil {
			err = r.fill(raw)
		}
		if err != nil {
			return nil, err
		}
		return r, nil
	}
}

// loadHead reads one event's row.
func (s *Store) loadHead(ctx context.Context, c conn, project int64, day int32, id uuid.UUID) (*stored, error) {
	text := `SELECT ` + s.columns() + ` FROM ` + s.db.frag().from + ` WHERE e.project_id = $1 AND e.day = $2 AND e.event_id = $3`
	if _, ok := c.(writeTx); ok {
		text += s.db.frag().lock
	}
	rs, err := c.query(ctx, text, project, day, c.id(id))
	if err != nil {
		return nil, err
	}
	var r *stored
	if rs.Next() {
		r, err = scanHead(rs.Scan)
	}
	if err == nil {
		err = rs.Err()
	}
	rs.Close()
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, fault.New(fault.NotFound, "no event %s", id)
	}
	return r, nil
}

// errNoChunk says that a chunk is not there: its event was changed or deleted since its row was
// read, or the database is damaged.
var errNoChunk = errors.New("payload is missing")

// payload fills in the payload of a row that was read a while ago; where the event has changed
// since, the row is read again. What was deleted since keeps its head and has no payload.
func (s *Store) payload(ctx context.Context, r *stored) error {
	if r.chunk == nil {
		return nil
	}
	raw, err := s.chunk(ctx, s.db, r.day, *r.chunk)
	if err == nil {
		return r.fill(raw)
	}
	if !errors.Is(err, errNoChunk) {
		return err
	}
	now, err := s.find(ctx, s.db, r.project, r.ID)
	if fault.Of(err) == fault.NotFound {
		return nil
	}
	if err == nil {
		*r = *now
	}
	return err
}

// fill adds the payload from the event's chunk.
func (r *stored) fill(raw []byte) error {
	if r.off > len(raw) {
		return fmt.Errorf("event %s: %w", r.ID, errRecord)
	}
	if _, err := readRecord(raw[r.off:], &r.Event); err != nil {
		return fmt.Errorf("event %s: %w", r.ID, err)
	}
	return nil
}

// chunk reads and decompresses one chunk.
func (s *Store) chunk(ctx context.Context, c conn, day int32, id int64) ([]byte, error) {
	if raw, ok := s.chunks.get(id); ok {
		return raw, nil
	}
	var z []byte
	args := []any{id}
	if s.db.frag().chunkDay != "" {
		args = append(args, day)
	}
	ok, err := one(ctx, c, `SELECT z FROM chunk WHERE id = $1`+s.db.frag().chunkDay, args, &z)
	if err != nil {
		return nil, fmt.Errorf("read chunk %d: %w", id, err)
	}
	if !ok {
		return nil, fmt.Errorf("chunk %d: %w", id, errNoChunk)
	}
	raw, err := decompress(z)
	if err != nil {
		return nil, fmt.Errorf("chunk %d: %w", id, err)
	}
	s.chunks.put(id, raw)
	return raw, nil
}

// chunkCache keeps recently read chunks, bounded in bytes.
type chunkCache struct {
	mu    sync.Mutex
	lru   *lru.Cache[int64, []byte]
	bytes int
	limit int
}

func newChunkCache(limit int) *chunkCache {
	c := &chunkCache{limit: limit}
	c.lru, _ = lru.NewWithEvict(1<<16, func(_ int64, v []byte) { c.bytes -= len(v) }) // the size is positive: no error
	return c
}

func (c *chunkCache) get(id int64) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lru.Get(id)
}

func (c *chunkCache) put(id int64, raw []byte) {
	if len(raw) > c.limit/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(id)
	c.lru.Add(id, raw)
	c.bytes += len(raw)
	for c.bytes > c.limit {
		c.lru.RemoveOldest()
	}
}

func (c *chunkCache) drop(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(id)
}

// whole makes of a stored event what callers read: cold metadata joined, the roll-up and the
// root events' payload in a session event, for which l, if there is one, knows the places.
func (s *Store) whole(ctx context.Context, r *stored, roll *rollup, l *list) (event.Event, error) {
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

// rolledUp gives a session event what callers see of its session; roll is nil for other events.
func (s *Store) rolledUp(ctx context.Context, project int64, e event.Event, roll *rollup, l *list) (event.Event, error) {
	if roll == nil {
		return e, nil
	}
	roll.show(&e)
	err := s.showRoots(ctx, project, &e, roll, l)
	return e, err
}

// showRoots gives a session event without inputs those of its first root event, and without
// outputs those of its last; where that has none, those of the first or last step that has any,
// roots before others. Root events that are gone give nothing.
func (s *Store) showRoots(ctx context.Context, project int64, e *event.Event, roll *rollup, l *list) error {
	var root event.Event
	if rawjson.Empty(e.Inputs) && roll.rootDay != nil {
		var err error
		if root, err = s.root(ctx, project, *roll.rootDay, roll.rootID, l); err != nil {
			return err
		}
		e.Inputs = root.Inputs
	}
	if rawjson.Empty(e.Inputs) && roll.totals.n > 0 {
		step, err := s.stepWith(ctx, project, e.ID, flagInputs, `start_ms, event_id`)
		if err != nil {
			return err
		}
		e.Inputs = step.Inputs
	}
	if rawjson.Empty(e.Outputs) && roll.lastDay != nil {
		if root.ID != roll.lastID {
			var err error
			if root, err = s.root(ctx, project, *roll.lastDay, roll.lastID, l); err != nil {
				return err
			}
		}
		e.Outputs = root.Outputs
	}
	if rawjson.Empty(e.Outputs) && roll.totals.n > 0 {
		step, err := s.stepWith(ctx, project, e.ID, flagOutputs, `end_ms DESC, event_id DESC`)
		if err != nil {
			return err
		}
		e.Outputs = step.Outputs
	}
	return nil
}

// stepWith reads the first event of a session in an order that has a flag, roots before others. It
// is empty if there is none.
func (s *Store) stepWith(ctx context.Context, project int64, session uuid.UUID, flag int, order string) (event.Event, error) {
	var id uuid.UUID
	var day int32
	ok, err := one(ctx, s.db, fmt.Sprintf(`SELECT event_id, day FROM ev WHERE %s AND event_id <> $2 AND (spill & %d) <> 0
		ORDER BY CASE WHEN parent_id IS NULL THEN 0 ELSE 1 END, %s LIMIT 1`, s.db.frag().bySession, flag, order),
		[]any{project, s.db.id(session)}, scanID{&id}, &day)
	if err != nil || !ok {
		return event.Event{}, err
	}
	return s.root(ctx, project, day, id, nil)
}

// root reads a root event's payload: as the list has found it, else by its key.
func (s *Store) root(ctx context.Context, project int64, day int32, id uuid.UUID, l *list) (event.Event, error) {
	if l != nil {
		if e, ok := l.rootOf(ctx, id); ok {
			return e, nil
		}
	}
	r, err := s.load(ctx, s.db, project, day, id)
	if err != nil {
		if fault.Of(err) == fault.NotFound {
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

// show adds the roll-up to a session event: Metadata, where it has none of its own, and Totals.
func (r *rollup) show(e *event.Event) {
	all := r.metadata()
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
	e.Totals, e.DerivedDuration = added.Bytes(), r.derived
	e.Metadata = rawjson.Fill(e.Metadata, e.Totals)
}

// metadata is the roll-up as members of the session event's metadata.
func (r *rollup) metadata() []byte {
	var b rawjson.Builder
	b.Int("num_events", r.totals.n)
	b.Int("num_model_events", r.totals.models)
	b.Bool("has_feedback", r.totals.feedback > 0)
	if r.totals.costs > 0 {
		b.Number("cost", query.RoundCost(r.totals.cost))
	}
	b.Number("total_tokens", r.totals.total)
	b.Number("prompt_tokens", r.totals.prompt)
	b.Number("completion_tokens", r.totals.completion)
	return b.Bytes()
}

// rollups reads the rows of sessions, at most 1000 at a time.
func (s *Store) rollups(ctx context.Context, c conn, project int64, sessions []uuid.UUID) (map[uuid.UUID]*rollup, error) {
	out := make(map[uuid.UUID]*rollup, len(sessions))
	for start := 0; start < len(sessions); start += 500 {
		part := sessions[start:min(start+500, len(sessions))]
		cond, args := c.anyID("session_id", 2, part)
		err := each(ctx, c, `SELECT session_id, n, n_model, n_feedback, prompt_tokens, completion_tokens, total_tokens, cost, n_cost,
			root_id, root_day, last_root_id, last_root_day, made <> 0 FROM session WHERE project_id = $1 AND `+cond, append([]any{project}, args...),
			func(scan func(...any) error) error {
				var id uuid.UUID
				r := &rollup{}
				t := &r.totals
				if err := scan(scanID{&id}, &t.n, &t.models, &t.feedback, &t.prompt, &t.completion, &t.total, &t.cost, &t.costs,
					scanID{&r.rootID}, &r.rootDay, scanID{&r.lastID}, &r.lastDay, &r.derived); err != nil {
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

// set makes an event.Set of head rows; headOnly leaves the payload where it is.
func (s *Store) set(ctx context.Context, project int64, rows []*stored, total int, headOnly bool) (*event.Set, error) {
	var sessions []uuid.UUID
	for _, r := range rows {
		if r.IsSession() {
			sessions = append(sessions, r.ID)
		}
	}
	rolls, err := s.rollups(ctx, s.db, project, sessions)
	if err != nil {
		return nil, err
	}
	set := &event.Set{Total: total, Events: make([]event.Event, len(rows))}
	for i, r := range rows {
		set.Events[i] = r.Event
		if roll := rolls[r.ID]; roll != nil && r.IsSession() {
			roll.show(&set.Events[i])
		}
	}
	l := &list{s: s, project: project, rows: rows, rolls: rolls}
	set.Load = func(ctx context.Context, i int) (event.Event, error) {
		r := rows[i]
		if headOnly && r.inHeads() {
			return set.Events[i], nil
		}
		var roll *rollup
		if r.IsSession() {
			roll = rolls[r.ID]
		}
		l.prefetch(ctx, i)
		e, err := s.whole(ctx, r, roll, l)
		return e, s.wrapDBError(err, "read event")
	}
	return set, nil
}

// Event gives one event whole; the session event for a session's id, also where that id has
// moved. fault.NotFound if there is none.
func (s *Store) Event(ctx context.Context, projectID int64, id uuid.UUID) (event.Event, error) {
	r, err := s.find(ctx, s.db, projectID, id)
	if err != nil {
		return event.Event{}, s.wrapDBError(err, "read event")
	}
	set, err := s.set(ctx, projectID, []*stored{r}, 1, false)
	if err != nil {
		return event.Event{}, s.wrapDBError(err, "read event")
	}
	return set.Load(ctx, 0)
}

// EventsByID gives those of the events that are there, in the order of ids, as a search does.
func (s *Store) EventsByID(ctx context.Context, projectID int64, ids []uuid.UUID) (*event.Set, error) {
	found := make(map[uuid.UUID]*stored, len(ids))
	read := func(cond string, args []any) error {
		return each(ctx, s.db, `SELECT `+s.columns()+` FROM `+s.db.frag().from+` WHERE e.project_id = $1 AND `+cond, append([]any{projectID}, args...), func(scan func(...any) error) error {
			r, err := scanHead(scan)
			if err == nil {
				found[r.ID] = r
			}
			return err
		})
	}
	byDay := map[int32][]uuid.UUID{}
	for _, id := range ids {
		days, far := s.idFilter.mayContain(projectID, id, nil)
		if far {
			more, err := s.db.farDays(ctx, s.db, projectID, id)
			if err != nil {
				return nil, s.wrapDBError(err, "read events")
			}
			days = append(days, more...)
		}
		for _, day := range days {
			byDay[day] = append(byDay[day], id)
		}
	}
	for day, some := range byDay {
		for group := range slices.Chunk(some, loadGroup) {
			cond, args := s.db.anyID("e.event_id", 3, group)
			if err := read("e.day = $2 AND "+cond, append([]any{day}, args...)); err != nil {
				return nil, s.wrapDBError(err, "read events")
			}
		}
	}
	var rows []*stored
	for _, id := range ids {
		r := found[id]
		if r == nil {
			// Stored by another process, known by another id, or gone.
			var err error
			if r, err = s.find(ctx, s.db, projectID, id); err != nil {
				if fault.Of(err) == fault.NotFound {
					continue
				}
				return nil, s.wrapDBError(err, "read event")
			}
		}
		rows = append(rows, r)
	}
	set, err := s.set(ctx, projectID, rows, len(rows), false)
	return set, s.wrapDBError(err, "read events")
}

// ReadSession gives the session event as stored. fault.NotFound if there is none.
func (s *Store) ReadSession(ctx context.Context, projectID int64, sessionID uuid.UUID) (event.Event, error) {
	return s.Event(ctx, projectID, sessionID)
}

// find looks for an event by its id alone.
func (s *Store) find(ctx context.Context, c conn, project int64, id uuid.UUID) (*stored, error) {
	for range 2 {
		days, far := s.idFilter.mayContain(project, id, nil)
		if far {
			more, err := s.db.farDays(ctx, c, project, id)
			if err != nil {
				return nil, err
			}
			days = append(days, more...)
		}
		for _, day := range days {
			r, err := s.load(ctx, c, project, day, id)
			if err != nil && fault.Of(err) == fault.NotFound {
				continue
			}
			return r, err
		}
		if s.db.writers() > 1 {
			// Other processes write too, and the filters of this one do not know all ids.
			var day int32
			ok, err := one(ctx, c, `SELECT day FROM ev WHERE event_id = $1 AND project_id = $2`, []any{c.id(id), project}, &day)
			if err != nil {
				return nil, err
			}
			if ok {
				return s.load(ctx, c, project, day, id)
			}
		}
		to, ok, err := aliasOf(ctx, c, project, id)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		id = to
	}
	return nil, fault.New(fault.NotFound, "no event %s", id)
}

// aliasOf follows a session id that has moved to the session it moved to.
func aliasOf(ctx context.Context, c conn, project int64, id uuid.UUID) (to uuid.UUID, ok bool, err error) {
	to = id
	for range 8 { // an alias of an alias is rare, a ring of them impossible
		var next uuid.UUID
		found, err := one(ctx, c, `SELECT target FROM alias WHERE project_id = $1 AND session_id = $2`, []any{project, c.id(to)}, scanID{&next})
		if err != nil || !found {
			return to, ok, err
		}
		to, ok = next, true
	}
	return to, ok, nil
}

// Session gives all events of a session, the session event among them, by start time.
// fault.NotFound if there is no such session.
func (s *Store) Session(ctx context.Context, projectID int64, sessionID uuid.UUID) (*event.Set, error) {
	ctx, end, err := s.heavyRead(ctx, projectID, 1)
	if err != nil {
		return nil, err
	}
	defer end()
	for range 2 {
		var list []*stored
		err := each(ctx, s.db, `SELECT `+s.columns()+` FROM `+s.db.frag().from+` WHERE e.`+s.db.frag().bySession+` ORDER BY e.start_ms, e.event_id`,
			[]any{projectID, s.db.id(sessionID)}, func(scan func(...any) error) error {
				r, err := scanHead(scan)
				list = append(list, r)
				return err
			})
		if err != nil {
			return nil, s.wrapDBError(err, "read session")
		}
		if len(list) > 0 {
			set, err := s.set(ctx, projectID, list, len(list), false)
			return set, s.wrapDBError(err, "read session")
		}
		to, ok, err := aliasOf(ctx, s.db, projectID, sessionID)
		if err != nil {
			return nil, s.wrapDBError(err, "read session")
		}
		if !ok {
			break
		}
		sessionID = to
	}
	return nil, fault.New(fault.NotFound, "no session %s", sessionID)
}
