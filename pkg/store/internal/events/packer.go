package events

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// Ingestion stores each session's payloads of a commit as a chunk of their own, compressed quickly. The packer goes over sessions
// that are at rest, and compresses their chunks again, many together: text that the calls of a conversation repeat is then stored
// once, and a pack wastes less of its last page than a chunk. ADR 014 has the measurements.
//
//  1. Each commit that stores a chunk records its session in table unpacked, with the time (Commit.unpacked).
//  2. Sessions of which nothing came for Options.PackAfter are taken from there. Their chunks are read, joined and compressed
//     outside any transaction (packRun).
//  3. One transaction a pack inserts the pack, makes its chunks places in it, and takes sessions that are done off the table.
//     Chunks that changed meanwhile make it change nothing. So whatever moment the process ends at, each chunk is either
//     as it was or in its pack, and whoever starts next goes on with the sessions that are still listed.
//
// The id of a chunk stays, and the heads that name it are not touched.

const (
	// packBytes is how much text a pack has at most: as much as a chunk, since to read one event all of its pack is decompressed.
	packBytes = record.ChunkBytes
	// packJoin is from how much text on a pack takes no further session: sessions hardly share text, and a
	// read of one decompresses the others.
	packJoin = 128 << 10
	// packChunks bounds the rows of one transaction.
	packChunks = 128
	// packLargest is the size of a compressed chunk up to which it is packed. Larger ones are single events, mostly of images and
	// documents in which little can be saved, and stay as they are.
	packLargest = 2 << 20
	// packSessions is how many sessions are listed at once.
	packSessions = 256
	// packEvery is how often the packer looks for sessions at rest, and packAgain the pause after an error.
	packEvery = time.Minute
	packAgain = 10 * time.Second
	// packRest is how long the packer rests after each pack, as a multiple of the time that it took: as long where nothing is being
	// stored or asked (readRest), and else so long that it takes a twentieth of a processor at most.
	packRest     = 1
	packRestBusy = 20
	// packQuiet is how long nothing must have come for the store to be quiet.
	packQuiet = time.Second
)

// looseSession is a session of which chunks wait to be packed.
type looseSession struct {
	key     any // in table unpacked
	project int64
	id      uuid.UUID
	written int64 // time of the last commit that stored a chunk, Unix milliseconds
}

// packing packs until ctx ends.
func (s *Store) packing(ctx context.Context) {
	if s.options.PackAfter < 0 {
		return
	}
	pause := min(packEvery, max(s.options.PackAfter, 100*time.Millisecond))
	for packed := false; sleep(ctx, pause); {
		_, err := s.underLease(ctx, packLease, func() (err error) {
			for more := true; more && err == nil && ctx.Err() == nil; {
				var some bool
				some, more, err = s.packSome(ctx, s.options.Now().Add(-s.options.PackAfter).UnixMilli())
				packed = packed || some
			}
			return err
		})
		if err == nil && packed && !s.busy() {
			packed = false
			err = s.db.GiveBack(ctx, s.changeTx)
		}
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, writer.ErrClosed) { // the store is being closed
				s.options.Logger.Warn("pack payloads", zap.Error(err))
			}
			sleep(ctx, packAgain)
		}
	}
}

// Pack packs what waits for it, whatever its age.
func (s *Store) Pack(ctx context.Context) error {
	for more := true; more; {
		var err error
		if _, more, err = s.packSome(ctx, math.MaxInt64); err != nil {
			return sqldb.WrapError(s.db, err, "pack payloads")
		}
	}
	return nil
}

// busy reports whether something is being stored, or was a moment ago.
func (s *Store) busy() bool {
	return s.Ingesting() || s.pool.Queued() > 0 || time.Since(time.Unix(0, s.lastPut.Load())) < packQuiet
}

// Rest sleeps a few times as long as background work since start took, if events are being stored by this server or were a moment ago.
func (s *Store) Rest(ctx context.Context, start time.Time) {
	if s.busy() {
		sqldb.Rest(ctx, start)
	}
}

// packSome packs the chunks of some of the sessions of which nothing came after before. packed is set if there were any, more if
// further sessions may wait.
func (s *Store) packSome(ctx context.Context, before int64) (packed, more bool, err error) {
	s.packMu.Lock()
	defer s.packMu.Unlock()
	list, err := s.bulk.unpacked(ctx, before, packSessions)
	if err != nil {
		return false, false, err
	}
	slices.SortStableFunc(list, func(a, b looseSession) int { return int(a.project - b.project) })
	run := &packRun{s: s}
	for _, l := range list {
		if err := run.session(ctx, l); err != nil {
			return run.packed, false, err
		}
	}
	if err := run.flush(ctx); err != nil {
		return run.packed, false, err
	}
	return run.packed, len(list) == packSessions && run.finished > 0, nil
}

// packRun fills one pack after the other.
type packRun struct {
	s       *Store
	project int64
	day     int32
	chunks  []packedChunk
	text    []byte
	done    []looseSession // with the transaction that stores what is open

	began    time.Time
	packed   bool // something was
	stale    bool // chunks changed while they were read
	finished int  // sessions
}

// packedChunk is a chunk that is to be put into a pack.
type packedChunk struct {
	id    int64
	size  int // as stored
	place record.Place
}

// session adds the chunks of a session.
func (r *packRun) session(ctx context.Context, l looseSession) error {
	if r.began.IsZero() {
		r.began = time.Now()
	}
	r.stale = false
	byDay, err := r.s.chunksOf(ctx, l)
	if err != nil {
		return err
	}
	for _, d := range byDay {
		for group := range slices.Chunk(d.ids, 16) { // not too much of a session in memory at once
			if err := r.read(ctx, l.project, d.day, group); err != nil {
				return err
			}
		}
	}
	if r.stale {
		return nil // listed still, and read again the next time
	}
	r.done = append(r.done, l)
	if len(r.text) >= packJoin || len(r.done) == packChunks {
		return r.flush(ctx)
	}
	return nil
}

// dayChunks are chunks of one day.
type dayChunks struct {
	day int32
	ids []int64
}

// chunksOf lists the chunks of a session by day, in the order in which they were stored.
func (s *Store) chunksOf(ctx context.Context, l looseSession) (list []dayChunks, err error) {
	err = sqldb.Each(ctx, s.db, `SELECT DISTINCT day, chunk
		FROM event
		WHERE `+s.Dialect.OfSession()+` AND chunk IS NOT NULL
		ORDER BY day, chunk`, []any{l.project, s.db.ID(l.id)}, func(scan func(...any) error) error {
		var day int32
		var id int64
		if err := scan(&day, &id); err != nil {
			return err
		}
		if n := len(list); n == 0 || list[n-1].day != day {
			list = append(list, dayChunks{day: day})
		}
		of := &list[len(list)-1]
		of.ids = append(of.ids, id)
		return nil
	})
	return list, err
}

// read adds those of the chunks that are not packed yet.
func (r *packRun) read(ctx context.Context, project int64, day int32, ids []int64) error {
	cond, args := r.s.chunksOn(r.s.db, []int32{day}, ids...)
	var rows []chunkRow
	err := sqldb.Each(ctx, r.s.db, `SELECT id, data FROM chunk WHERE `+cond+fmt.Sprintf(` AND pack IS NULL AND length(data) <= %d ORDER BY id`, packLargest),
		args, func(scan func(...any) error) error {
			var row chunkRow
			err := scan(&row.id, &row.z)
			rows = append(rows, row)
			return err
		})
	if err != nil {
		return err
	}
	for _, row := range rows {
		if record.Dense(row.z) {
			continue
		}
		text, err := record.Decompress(row.z)
		if err == nil && (len(text) == 0 || text[0] == 0) {
			err = record.ErrDamaged
		}
		if err != nil { // it stays as it is, for whoever reads it to meet the error
			r.s.options.Logger.Warn("pack payloads", zap.Int64("chunk", row.id), zap.Error(err))
			continue
		}
		if err := r.add(ctx, project, day, row, text); err != nil {
			return err
		}
	}
	return nil
}

// add adds a chunk to the open pack, or begins another one.
func (r *packRun) add(ctx context.Context, project int64, day int32, row chunkRow, text []byte) error {
	if len(r.chunks) > 0 && (project != r.project || day != r.day || len(r.chunks) == packChunks || len(r.text)+len(text) > packBytes) {
		if err := r.flush(ctx); err != nil {
			return err
		}
	}
	r.project, r.day = project, day
	r.chunks = append(r.chunks, packedChunk{row.id, len(row.z), record.Place{Offset: len(r.text), Length: len(text)}})
	r.text = append(r.text, text...)
	return nil
}

// flush stores the open pack, takes the sessions that are done off the list, and rests.
func (r *packRun) flush(ctx context.Context) error {
	if len(r.chunks)+len(r.done) == 0 {
		return nil
	}
	p := pack{project: r.project, day: r.day, chunks: r.chunks, done: r.done}
	p.compress(r.text)
	r.packed = r.packed || len(r.chunks) > 0
	r.chunks, r.done, r.text = nil, nil, r.text[:0]
	stored := false
	err := r.s.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *Commit) (err error) {
		stored, err = p.store(ctx, tx)
		return err
	})
	if err != nil {
		return err
	}
	if stored {
		r.s.telemetry.packed.Add(ctx, int64(len(p.chunks)))
		r.finished += len(p.done)
	}
	r.stale = r.stale || !stored
	rest := packRest
	switch {
	case r.s.busy():
		rest = packRestBusy
	case r.s.reads.inUse():
		rest = readRest
	}
	sleep(ctx, time.Duration(rest)*time.Since(r.began))
	r.began = time.Now()
	return ctx.Err()
}

// pack is a pack that is to be stored. A single chunk is compressed again where it is.
type pack struct {
	project int64
	day     int32
	chunks  []packedChunk
	places  [][]byte
	z       []byte
	done    []looseSession
}

func (p *pack) compress(text []byte) {
	switch len(p.chunks) {
	case 0:
	case 1:
		p.z = record.CompressDense(text)
	default:
		p.z = record.CompressPack(len(p.chunks), text)
		for _, c := range p.chunks {
			p.places = append(p.places, c.place.Append(nil))
		}
	}
}

// store stores the pack. It changes nothing and is not stored if one of the chunks, or their project, has gone meanwhile, or
// another server has packed it.
func (p *pack) store(ctx context.Context, tx *Commit) (stored bool, err error) {
	if len(p.chunks) > 0 {
		if held, err := p.hold(ctx, tx); err != nil || !held {
			return false, err
		}
		if err := p.write(ctx, tx); err != nil {
			return false, err
		}
	}
	for _, l := range p.done {
		// A session that was written meanwhile has another time, and stays.
		if _, err := tx.Exec(ctx, `DELETE FROM unpacked
			WHERE project_id = $1 AND session = $2 AND written_ms = $3`, l.project, l.key, l.written); err != nil {
			return false, err
		}
	}
	return true, nil
}

// hold locks the rows of the chunks, in the order of their ids, and reports whether all are there as they were read.
func (p *pack) hold(ctx context.Context, tx *Commit) (bool, error) {
	if r := tx.s.removal; r != nil {
		if ok, err := r.alone(ctx, tx); err != nil || !ok {
			return false, err
		}
	}
	cond, args := tx.s.chunksOn(tx, []int32{p.day}, padded(tx.s, packChunks, p.chunks, func(c packedChunk) int64 { return c.id })...)
	there := 0
	err := sqldb.Each(ctx, tx, `SELECT id FROM chunk WHERE `+cond+` AND pack IS NULL ORDER BY id`+tx.holdChunks(), args,
		func(scan func(...any) error) error {
			var id int64
			there++
			return scan(&id)
		})
	if err != nil || there < len(p.chunks) {
		return false, err
	}
	// Bytes that are counted for a project that is gone would stay for ever.
	var n int
	return sqldb.One(ctx, tx, `SELECT 1 FROM project WHERE id = $1 AND deleted_ms = 0`+tx.ForUpdate(""), []any{p.project}, &n)
}

func (p *pack) write(ctx context.Context, tx *Commit) error {
	size := len(p.z)
	for i, c := range p.chunks {
		size -= c.size
		if p.places != nil {
			size += len(p.places[i])
		}
	}
	if p.places == nil {
		if size >= 0 {
			return nil // it became no smaller
		}
		tx.Counts.Stored(p.project, int64(size))
		cond, args := tx.s.chunksOn(tx, []int32{p.day}, p.chunks[0].id)
		set := fmt.Sprintf(`UPDATE chunk SET data = $%d WHERE `, len(args)+1)
		_, err := tx.Exec(ctx, set+cond, append(args, p.z)...)
		return err
	}
	tx.Counts.Stored(p.project, int64(size))
	id, err := tx.nextChunkID(ctx)
	if err != nil {
		return err
	}
	if err := tx.insertChunks(ctx, []record.Chunk{{ID: id, Day: p.day, Z: p.z}}); err != nil {
		return err
	}
	ids := make([]int64, len(p.chunks))
	for i, c := range p.chunks {
		ids[i] = c.id
	}
	return tx.packChunks(ctx, p.day, id, ids, p.places)
}
