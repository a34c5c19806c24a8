package events

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

const (
	// prefetchEvents is how many events ahead a list's chunks are read at once.
	prefetchEvents = 64
	// prefetchChunk is the most bytes that a chunk has, compressed, to be read ahead. To ask for a larger one by itself costs little beside reading it.
	prefetchChunk = 256 << 10
	// prefetchBytes is about how many bytes of text are read at once. With more, they would push one another out of the cache before they are asked
	// for, and be read again for each event.
	prefetchBytes = chunkCacheBytes / 4
)

// eventList is the rows of one event.Set, read ahead of the caller: answers are written event by event, and one query for each
// event's chunk would take most of the time. Chunks go through the cache of chunks, so that a list holds none of its own
// and its memory does not grow with its length.
type eventList struct {
	s       *Store
	by      sqldb.Conn // of the reads ahead, which may be several at once
	project int64
	rows    []*Stored
	ahead   int                    // how many rows the next prefetch is for
	rolls   map[uuid.UUID]*rollup  // by session
	shown   map[uuid.UUID]chunkRef // by event id; nil: not looked up yet. Chunks of the events whose inputs or outputs the session events show
	steps   map[stepOf]uuid.UUID   // of sessions whose root events have no inputs, or no outputs; uuid.Nil: no other event has any
}

// stepOf names what a session shows of an event.
type stepOf struct {
	session uuid.UUID
	flag    int // flagInputs or flagOutputs
}

// newEventList reads the totals of all sessions among the rows with one query, instead of one for each session event.
func (s *Store) newEventList(ctx context.Context, c sqldb.Conn, project int64, rows []*Stored) (*eventList, error) {
	var sessions []uuid.UUID
	for _, r := range rows {
		if r.IsSession() {
			sessions = append(sessions, r.ID)
		}
	}
	rolls, err := s.rollups(ctx, c, project, sessions)
	return &eventList{s: s, by: s.db, project: project, rows: rows, ahead: prefetchEvents, rolls: rolls}, err
}

// asRead returns row i as callers see it; not ok if it was deleted since it was read. Another one that has changed since is read
// again.
func (l *eventList) asRead(ctx context.Context, i int) (e event.Event, ok bool, err error) {
	r := l.rows[i]
	var roll *rollup
	if r.IsSession() {
		roll = l.rolls[r.ID]
	}
	e, err = l.s.wholeEvent(ctx, r, roll, l)
	// The chunk went between the read of the row and now. What the row said may be out of date as well.
	if errors.Is(err, errNoChunk) {
		return l.s.readAnew(ctx, r, roll)
	}
	return e, err == nil && !r.gone, err
}

// eachAhead calls f with each row that a statement returns, in its order, as row i of a list whose payloads are in the cache. It holds
// prefetchEvents rows at a time.
func (s *Store) eachAhead(ctx context.Context, project int64, statement string, args []any, f func(l *eventList, i int) error) error {
	var rows []*Stored
	ahead := prefetchEvents
	err := sqldb.Each(ctx, s.db, statement, args, func(scan func(...any) error) error {
		r, err := ScanHead(scan)
		if err != nil {
			return err
		}
		if rows = append(rows, r); len(rows) < prefetchEvents {
			return nil
		}
		err = s.eachOfList(ctx, project, rows, &ahead, f)
		rows = nil
		return err
	})
	if err != nil {
		return err
	}
	return s.eachOfList(ctx, project, rows, &ahead, f)
}

// EachWhole calls f with the events of rows as callers read them, in their order, but for those that are gone. No rows may be open: reading an
// event beside them could wait for itself.
func (s *Store) EachWhole(ctx context.Context, project int64, rows []*Stored, f func(r *Stored, e *event.Event)) error {
	ahead := prefetchEvents
	for group := range slices.Chunk(rows, prefetchEvents) {
		err := s.eachOfList(ctx, project, group, &ahead, func(l *eventList, i int) error {
			e, ok, err := l.asRead(ctx, i)
			if err == nil && ok {
				f(l.rows[i], &e)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachOfList calls f with each of some rows, as row i of a list whose payloads are in the cache. ahead goes on from one list to the next.
func (s *Store) eachOfList(ctx context.Context, project int64, rows []*Stored, ahead *int, f func(l *eventList, i int) error) error {
	l, err := s.newEventList(ctx, s.db, project, rows)
	if err != nil {
		return err
	}
	l.ahead = *ahead
	for i := range rows {
		l.prefetch(ctx, i)
		if err := f(l, i); err != nil {
			return err
		}
	}
	*ahead = l.ahead
	return nil
}

// chunkRef is the place of a payload.
type chunkRef struct {
	day   int32
	chunk int64
	off   int
}

// prefetch brings the chunks of row i and the rows after it into the cache, unless that of row
// i is there already. Where it cannot, the single reads that follow return the error.
func (l *eventList) prefetch(ctx context.Context, i int) {
	// The usual case: an earlier call has read this event's chunk ahead. Then nothing is done but a look at the cache.
	first := l.chunksOf(ctx, i)
	missing := false
	for _, ref := range first {
		if _, ok := l.s.chunks.get(ref.chunk); !ok {
			missing = true
		}
	}
	if !missing || len(l.rows) == 1 {
		return
	}
	var want []chunkRef
	seen := map[int64]bool{}
	// Neighbours often share a chunk, which is asked for once.
	for j := i; j < min(i+l.ahead, len(l.rows)); j++ {
		for _, ref := range l.chunksOf(ctx, j) {
			if seen[ref.chunk] {
				continue
			}
			seen[ref.chunk] = true
			if _, ok := l.s.chunks.get(ref.chunk); !ok {
				want = append(want, ref)
			}
		}
	}
	read := l.s.readChunks(ctx, l.by, want)
	l.ahead = min(prefetchEvents, max(1, len(want)*prefetchBytes/max(1, read)))
}

// chunksOf lists the chunks that row i needs to be whole.
func (l *eventList) chunksOf(ctx context.Context, i int) (refs []chunkRef) {
	r := l.rows[i]
	if r.chunk != nil {
		refs = append(refs, chunkRef{day: r.Day, chunk: *r.chunk})
	}
	roll := l.rolls[r.ID]
	if roll == nil || !r.IsSession() {
		return refs
	}
	// Once for the whole list, and only if it has session events.
	if l.shown == nil {
		l.findShown(ctx)
	}
	for _, id := range []uuid.UUID{roll.rootID, roll.lastID, l.steps[stepOf{r.ID, flagInputs}], l.steps[stepOf{r.ID, flagOutputs}]} {
		if ref, ok := l.shown[id]; ok {
			refs = append(refs, ref)
		}
	}
	return refs
}

// findShown looks up the chunks of what the list's session events show: of their sessions' root events, and where these have no inputs
// or outputs, of the steps that have some. An error is not returned: reading ahead only saves time, and the read of the event itself meets
// the same error.
func (l *eventList) findShown(ctx context.Context) {
	l.shown, l.steps = map[uuid.UUID]chunkRef{}, map[stepOf]uuid.UUID{}
	byDay := map[int32][]uuid.UUID{}
	for _, roll := range l.rolls {
		if roll.rootDay != nil {
			byDay[*roll.rootDay] = append(byDay[*roll.rootDay], roll.rootID)
		}
		if roll.lastDay != nil && roll.lastID != roll.rootID {
			byDay[*roll.lastDay] = append(byDay[*roll.lastDay], roll.lastID)
		}
	}
	flags := map[uuid.UUID]int{} // of root events
	for day, ids := range byDay {
		for part := range slices.Chunk(ids, sqldb.IDsPerQuery) {
			cond, args := l.s.db.AnyID("event_id", 3, part)
			err := sqldb.Each(ctx, l.s.db, `SELECT event_id, chunk, chunk_offset, spill
				FROM event
				WHERE project_id = $1 AND day = $2 AND chunk IS NOT NULL AND `+cond,
				append([]any{l.project, day}, args...), func(scan func(...any) error) error {
					var id uuid.UUID
					var spill int
					ref := chunkRef{day: day}
					err := scan(sqldb.ScanID(&id), &ref.chunk, &ref.off, &spill)
					l.shown[id], flags[id] = ref, spill
					return err
				})
			if err != nil {
				return
			}
		}
	}
	for _, of := range []shownPart{shownInputs, shownOutputs} {
		var without []uuid.UUID
		for _, r := range l.rows {
			if roll := l.rolls[r.ID]; roll != nil && r.IsSession() && roll.totals.n > 0 && (r.Spill|flags[of.root(roll)])&of.flag == 0 {
				without = append(without, r.ID)
			}
		}
		for part := range slices.Chunk(without, sqldb.IDsPerQuery) {
			l.findSteps(ctx, of, part)
		}
	}
}

// findSteps looks up the steps that show what the root events of some sessions do not have.
func (l *eventList) findSteps(ctx context.Context, of shownPart, sessions []uuid.UUID) {
	cond, args := l.s.db.AnyID("s.session_id", 2, sessions)
	step := l.s.bulk.firstEvent(fmt.Sprintf("e.event_id <> s.session_id AND e.chunk IS NOT NULL AND (e.spill & %d) <> 0", of.flag), of.order)
	found := map[uuid.UUID]uuid.UUID{}
	err := sqldb.Each(ctx, l.s.db, `SELECT s.session_id, e.event_id, e.day, e.chunk, e.chunk_offset
		FROM session AS s `+step+`
		WHERE s.project_id = $1 AND `+cond, append([]any{l.project}, args...), func(scan func(...any) error) error {
		var session, id uuid.UUID
		var ref chunkRef
		err := scan(sqldb.ScanID(&session), sqldb.ScanID(&id), &ref.day, &ref.chunk, &ref.off)
		l.shown[id], found[session] = ref, id
		return err
	})
	if err != nil {
		return
	}
	for _, session := range sessions {
		l.steps[stepOf{session, of.flag}] = found[session]
	}
}

// showsStep reports whether the root events of a session are known to have no inputs, or no outputs, so that a step shows them.
func (l *eventList) showsStep(session uuid.UUID, of shownPart) bool {
	if l == nil {
		return false
	}
	_, ok := l.steps[stepOf{session, of.flag}]
	return ok
}

// shownEvent reads the payload of an event that a session event shows, by the place that findShown saw. Not ok
// if it has none there, or has moved since.
func (l *eventList) shownEvent(ctx context.Context, id uuid.UUID) (e event.Event, ok bool) {
	ref, ok := l.shown[id]
	if !ok {
		return e, false
	}
	raw, err := l.s.chunk(ctx, l.s.db, ref.day, ref.chunk)
	// The event was rewritten since its place was looked up. It is then read by its key.
	if err != nil || ref.off > len(raw) {
		return e, false
	}
	e.ID = id
	_, err = record.Read(raw[ref.off:], &e)
	return e, err == nil
}

// readChunks brings chunks into the cache, but for those of more than prefetchChunk bytes: one query a day, decompressed on all cores. It
// returns how many bytes of text it has read. What it cannot read is left to the reader of that chunk, which returns the error.
func (s *Store) readChunks(ctx context.Context, by sqldb.Conn, refs []chunkRef) (bytes int) {
	var read atomic.Int64
	keep := func(id int64, raw []byte) {
		read.Add(int64(len(raw)))
		s.chunks.put(id, raw)
	}
	byDay := map[int32][]int64{}
	for _, ref := range refs {
		day := ref.day
		if !s.bulk.chunksByDay() {
			day = 0 // not kept by day
		}
		byDay[day] = append(byDay[day], ref.chunk)
	}
	// Unbuffered, so that no more compressed chunks are in memory than there are workers, and the one just read.
	work := make(chan chunkRow)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(refs)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for r := range work {
				if raw, err := record.Decompress(r.z); err == nil {
					keep(r.id, raw)
				}
			}
		}()
	}
	inPacks := map[int32]map[int64][]chunkRow{} // by day and pack
	statement := fmt.Sprintf("SELECT id, CASE WHEN length(data) <= %d THEN data END, pack FROM chunk WHERE ", prefetchChunk)
	for day, ids := range byDay {
		cond, args := s.chunksOn(s.db, []int32{day}, ids...)
		_ = sqldb.Each(ctx, by, statement+cond, args, func(scan func(...any) error) error {
			var r chunkRow
			var pack *int64
			if err := scan(&r.id, &r.z, &pack); err != nil {
				return err
			}
			if r.z == nil { // too large
				return nil
			}
			if pack == nil {
				work <- r
				return nil
			}
			if inPacks[day] == nil {
				inPacks[day] = map[int64][]chunkRow{}
			}
			inPacks[day][*pack] = append(inPacks[day][*pack], r)
			return nil
		})
	}
	close(work)
	wg.Wait()
	for day, packs := range inPacks {
		s.readPacks(ctx, by, day, packs, keep)
	}
	return int(read.Load())
}

// chunkRow is a row of table chunk: its data is compressed text, or the place in a pack.
type chunkRow struct {
	id int64
	z  []byte
}

// readPacks hands chunks that stand in packs to keep, each pack read once. What it cannot read is left to the reader of that
// chunk.
func (s *Store) readPacks(ctx context.Context, by sqldb.Conn, day int32, packs map[int64][]chunkRow, keep func(id int64, raw []byte)) {
	var next sync.Mutex
	ids := slices.Sorted(maps.Keys(packs))
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(ids)) {
		wg.Go(func() {
			for {
				next.Lock()
				if len(ids) == 0 {
					next.Unlock()
					return
				}
				pack := ids[0]
				ids = ids[1:]
				next.Unlock()
				for _, r := range packs[pack] {
					if raw, err := s.textOfPacked(ctx, by, day, pack, r.z); err == nil {
						keep(r.id, raw)
					}
				}
			}
		})
	}
	wg.Wait()
}

// inHeads reports whether the row is whole without its payload, for a caller that asks for no field
// that stands there by its kind.
func (r *Stored) inHeads() bool { return r.Spill&record.HeadFields == 0 }
