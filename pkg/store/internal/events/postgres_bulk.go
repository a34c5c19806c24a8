package events

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// This file and postgres_session.go have what a commit writes in PostgreSQL: traces, sessions, chunks and heads, in this order
// (Commit.StoreBatches). Several transactions write at once here, unlike in SQLite, and that shapes each statement:
//
//   - Whoever inserts a row that another transaction has inserted and not committed waits for it. So that two never wait for each
//     other, all take rows in one order: traces as the caller sorts them, sessions by project and id.
//   - A statement sees what others have committed by its own start, not by that of the transaction (READ COMMITTED). An upsert returns
//     the row as it is then, which is what the rest of the commit goes by.
//   - A conflict that only shows at the insertion of heads ends the transaction; it is tried again, and then sees the other's rows.

// postgresBulk is bulkDB in PostgreSQL. Bulk statements carry one array a column, which unnest turns into rows: one
// statement with one plan for any number of rows, where a list of VALUES would be another statement for each
// number, with a parameter for each value.
type postgresBulk struct {
	db    *sqldb.Postgres
	ids   *idFilter
	today func() int32

	mu         sync.Mutex
	partitions map[int32]bool // by first day / partitionDays
	archive    int32          // days before it share one partition

	// Ids of chunks come in blocks, so that a chunk costs no statement of its own.
	idMu            sync.Mutex
	chunkID, blockE int64 // next chunk id, and the end of the block it is from

	seqMu      sync.Mutex
	seqIndexed map[int64]int64 // how large a partition was when indexSeq was there, in bytes, by the oid of its index
}

// chunkIDBlock is the increment of sequence chunk_id: each process takes this many ids at once. Ids of a transaction that
// failed are lost, which does not matter.
const chunkIDBlock = 1000

// NewPostgresBulk returns what PostgreSQL does differently with the rows of events.
func NewPostgresBulk(db *sqldb.Postgres) Bulk {
	return &postgresBulk{db: db, partitions: map[int32]bool{}, seqIndexed: map[int64]int64{}}
}

func (b *postgresBulk) open(ctx context.Context, ids *idFilter, today func() int32) error {
	// archive_before is set when the database is made, and never changes: it says in which partition a day is.
	b.ids, b.today = ids, today
	if _, err := sqldb.One(ctx, b.db, `SELECT value::integer FROM setting WHERE name = 'archive_before'`, nil, &b.archive); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	// Partitions are read once and remembered: a commit asks memory whether the days of its events have one.
	return b.listPartitions(ctx)
}

func (b *postgresBulk) begin(tx sqldb.Tx) bulkTx { return &postgresBulkTx{Tx: tx, b: b} }

// lastSeq may name places of transactions that have not ended: settle waits for these.
func (*postgresBulk) lastSeq(ctx context.Context, c sqldb.Conn) (seq int64, err error) {
	_, err = sqldb.One(ctx, c, `SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM event_seq`, nil, &seq)
	return seq, err
}

// indexTimeout is how long indexSeq waits for whoever vacuums or analyzes a partition. PostgreSQL ends an autovacuum that others wait for, but not
// before deadlock_timeout, a second.
const indexTimeout = "SET LOCAL lock_timeout = '100ms'"

// indexSeq takes the pages that events filled lately into the index of ranges of places (BRIN). PostgreSQL does it when it vacuums a partition, or
// range by range on request of whoever inserts, but drops such requests where many come at once. Pages that are not in the index are read by each
// statement that names places: during a fast load that was all that came since the last vacuum.
func (b *postgresBulk) indexSeq(ctx context.Context) error {
	b.seqMu.Lock()
	defer b.seqMu.Unlock()
	sizes := map[int64]int64{}
	err := sqldb.Each(ctx, b.db.Quick(), `SELECT t.relid::oid::bigint, pg_relation_size(i.indrelid)
		FROM pg_partition_tree('event_seq_range') AS t JOIN pg_index AS i ON i.indexrelid = t.relid
		WHERE t.isleaf`, nil, func(scan func(...any) error) error {
		var index, size int64
		err := scan(&index, &size)
		sizes[index] = size
		return err
	})
	if err != nil {
		return err
	}
	for index, size := range sizes {
		if b.seqIndexed[index] == size {
			continue
		}
		err := pgx.BeginFunc(ctx, b.db.Pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, indexTimeout); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, `SELECT brin_summarize_new_values($1::bigint::oid::regclass)`, index)
			return err
		})
		switch {
		case err == nil:
			b.seqIndexed[index] = size
		case !b.db.Retryable(err): // otherwise the next time, or who has the lock does it
			return err
		}
	}
	return nil
}

// settle waits until each transaction that has a number by now has ended. One that stores events has its number before it takes their
// places, since it writes their sessions first. It gives up where one takes very long; the caller tries again later.
//
// It takes a number itself, which is higher than all that were given before. The end of a snapshot (pg_snapshot_xmax) would not do: it is behind the
// last transaction that has ended, and one that is under way may have a higher number.
func (b *postgresBulk) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	var next int64
	if _, err := sqldb.One(ctx, b.db.Quick(), `SELECT pg_current_xact_id()::text::bigint`, nil, &next); err != nil {
		return err
	}
	for {
		var oldest int64
		if _, err := sqldb.One(ctx, b.db.Quick(), `SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint`, nil, &oldest); err != nil {
			return err
		}
		if oldest >= next {
			return nil
		}
		if !sleep(ctx, settlePause) {
			return fmt.Errorf("wait for transactions that are under way: %w", ctx.Err())
		}
	}
}

// chunksByDay is true: chunks stand in partitions of days like the heads that name them, so that a partition that expires takes both away.
func (b *postgresBulk) chunksByDay() bool { return true }

func (b *postgresBulk) firstEvent(condition, order string) string {
	return `CROSS JOIN LATERAL (SELECT e.event_id, e.day, e.chunk, e.chunk_offset
			FROM event AS e
			WHERE e.session_id = s.session_id AND e.project_id = s.project_id AND ` + condition + `
			ORDER BY ` + order + ` LIMIT 1) AS e`
}

// postgresBulkTx is bulkTx in PostgreSQL.
type postgresBulkTx struct {
	sqldb.Tx
	b *postgresBulk
}

// committed has nothing to do: what is remembered across transactions here, ids of chunks and partitions, holds also if one fails.
func (t *postgresBulkTx) committed() {}

// moveIDs does nothing: a statement finds ids in all partitions.
func (t *postgresBulkTx) moveIDs(context.Context, projectDay, []byte) ([]byte, error) {
	return nil, nil
}

// idOrNull returns an id as an argument; the zero id, which stands for none, is NULL.
func idOrNull(u uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: u, Valid: u != uuid.Nil} }

// nextChunkID takes the next id of the block that this process holds, and a new block when that is used up. Ids need not be
// without gaps, and need not ascend across processes: they only name chunks.
func (t *postgresBulkTx) nextChunkID(ctx context.Context) (int64, error) {
	t.b.idMu.Lock()
	defer t.b.idMu.Unlock()
	if t.b.chunkID >= t.b.blockE {
		// The lock is held over the statement: the writers of this process wait for it once in a thousand chunks. A
		// sequence is not rolled back, so the block is this process's whatever becomes of the transaction.
		if _, err := sqldb.One(ctx, t, `SELECT nextval('chunk_id')`, nil, &t.b.chunkID); err != nil {
			return 0, err
		}
		t.b.blockE = t.b.chunkID + chunkIDBlock
	}
	t.b.chunkID++
	return t.b.chunkID - 1, nil
}

// insertChunks stores chunks, whose ids nobody else has. They come before the heads that name them, but nothing would break if
// a transaction ended in between: both are of one transaction.
func (t *postgresBulkTx) insertChunks(ctx context.Context, chunks []record.Chunk) error {
	if len(chunks) == 0 {
		return nil
	}
	n := len(chunks)
	// The data is compressed already, on the callers' goroutines: nothing is computed here while the transaction holds locks.
	day, id, z := make([]int32, n), make([]int64, n), make([][]byte, n)
	for i := range chunks {
		day[i], id[i], z[i] = chunks[i].Day, chunks[i].ID, chunks[i].Z
	}
	const text = `INSERT INTO chunk(day, id, data)
		SELECT * FROM unnest($1::int[], $2::bigint[], $3::bytea[])`
	if t.b.db.Distributed() {
		return t.b.db.InsertAhead(ctx, t.Tx, id, day, text, day, id, z)
	}
	_, err := t.Exec(ctx, text, day, id, z)
	return err
}

// insertHeads inserts rows of events, all of them new: if another transaction has stored one of the ids meanwhile, fewer
// rows are inserted, and the transaction is tried again, in which that event is a repeat.
func (t *postgresBulkTx) insertHeads(ctx context.Context, heads []*head) error {
	if len(heads) == 0 {
		return nil
	}
	// The row's key has the day, which is also what the table is partitioned by: PostgreSQL checks an id only
	// within its day, and the filters of ids answer for all other days.
	inserted, err := t.Exec(ctx, `
		INSERT INTO event(session_id, `+headColumns+`, version)
		SELECT
			session_id,
			project_id,
			day,
			event_id,
			parent_id,
			type,
			name,
			source,
			error,
			start_ms,
			end_ms,
			duration,
			metadata::json,
			metrics::json,
			feedback::json,
			user_properties::json,
			children_ids::json,
			run_id,
			user_id,
			spill,
			chunk,
			chunk_offset,
			trace_hash,
			duplicate_key,
			span_id,
			target_id,
			0
		FROM unnest(
			$1::uuid[],
			$2::bigint[],
			$3::int[],
			$4::uuid[],
			$5::uuid[],
			$6::smallint[],
			$7::text[],
			$8::text[],
			$9::text[],
			$10::float8[],
			$11::float8[],
			$12::float8[],
			$13::text[],
			$14::text[],
			$15::text[],
			$16::text[],
			$17::text[],
			$18::text[],
			$19::text[],
			$20::int[],
			$21::bigint[],
			$22::int[],
			$23::bigint[],
			$24::bytea[],
			$25::uuid[],
			$26::text[]
		) AS h(session_id, `+headColumns+`)
		ON CONFLICT DO NOTHING`,
		headArrays(heads)...,
	)
	if err != nil {
		return err
	}
	// DO NOTHING and a count, not an error of the database: two servers that get the same event are nothing
	// unusual, and PostgreSQL would log each failed statement.
	if n := int64(len(heads)); inserted != n {
		return fmt.Errorf("%d of %d events: %w", n-inserted, n, sqldb.ErrConflict)
	}
	return nil
}

// headArrays returns the columns of the rows of heads, an array each: their sessions, and then in the order of headColumns.
func headArrays(heads []*head) []any {
	n := len(heads)
	var (
		project                     = make([]int64, n)
		day                         = make([]int32, n)
		id, session, parent         = make([]pgtype.UUID, n), make([]pgtype.UUID, n), make([]pgtype.UUID, n)
		typ                         = make([]int16, n)
		name, source                = make([]string, n), make([]string, n)
		errText                     = make([]*string, n)
		start, end, duration        = make([]float64, n), make([]float64, n), make([]float64, n)
		metadata, metrics, feedback = make([]*string, n), make([]*string, n), make([]*string, n)
		user, children              = make([]*string, n), make([]*string, n)
		run, userID, target         = make([]*string, n), make([]*string, n), make([]*string, n)
		spill                       = make([]int32, n)
		chunk                       = make([]*int64, n)
		off                         = make([]*int32, n)
		trace                       = make([]*int64, n)
		duplicate                   = make([][]byte, n)
		span                        = make([]pgtype.UUID, n)
	)
	// Pointers where a column may be NULL; an id is NULL if it is zero (idOrNull).
	for i, h := range heads {
		e := h.ev
		project[i], day[i], id[i], session[i], parent[i] = h.project, h.day, idOrNull(e.ID), idOrNull(h.session), idOrNull(h.parent)
		typ[i], name[i], source[i], errText[i] = int16(query.TypeCode(e.Type)), e.Name, e.Source, h.errorText()
		start[i], end[i], duration[i], spill[i] = e.Start, e.End, e.Duration, int32(h.spill)
		// A field that spilled is NULL here. That differs from one that is absent only by its bit in spill.
		metadata[i] = textPointer(h.inHead(query.SpillMetadata, e.Metadata))
		metrics[i] = textPointer(h.inHead(query.SpillMetrics, e.Metrics))
		feedback[i] = textPointer(h.inHead(query.SpillFeedback, e.Feedback))
		user[i] = textPointer(h.inHead(query.SpillUserProperties, e.UserProperties))
		children[i] = textPointer(h.inHead(query.SpillChildrenIDs, e.ChildrenIDs))
		if h.runID != "" {
			run[i] = &h.runID
		}
		if h.userID != "" {
			userID[i] = &h.userID
		}
		if h.target != "" {
			target[i] = &h.target
		}
		if h.chunk != nil {
			// Chunks got their ids just before, in the same transaction, so h.chunk.ID is final.
			o := int32(h.off)
			chunk[i], off[i] = &h.chunk.ID, &o
		}
		if h.trace != 0 {
			trace[i] = &h.trace
		}
		duplicate[i], span[i] = h.duplicateKey, idOrNull(h.spanID())
	}
	return []any{
		session,
		project,
		day,
		id,
		parent,
		typ,
		name,
		source,
		errText,
		start,
		end,
		duration,
		metadata,
		metrics,
		feedback,
		user,
		children,
		run,
		userID,
		spill,
		chunk,
		off,
		trace,
		duplicate,
		span,
		target,
	}
}

// deleteHeads takes one statement: the triggers of deletions run once a statement, and so do its way to the server and its plan.
func (t *postgresBulkTx) deleteHeads(ctx context.Context, project int64, day int32, ids []uuid.UUID, gone func(typ int)) error {
	return sqldb.Each(ctx, t, `DELETE FROM event
		WHERE project_id = $1 AND day = $2 AND event_id = ANY($3)
		RETURNING type`, []any{project, day, sqldb.IDArray(ids)}, func(scan func(...any) error) error {
		var typ int
		err := scan(&typ)
		gone(typ)
		return err
	})
}

// textPointer returns JSON as the argument of a column that may be NULL. json, unlike jsonb, keeps the text as it came.
func textPointer(b []byte) *string {
	if b == nil {
		return nil
	}
	s := string(b)
	return &s
}

// moveEvents moves the events of a session, or of one trace of it, but for the session event. In PostgreSQL each row names
// its session; what hung directly below the old one has no parent_id, and hangs below the new one by that.
func (t *postgresBulkTx) moveEvents(ctx context.Context, projectID int64, from, to uuid.UUID, trace int64) error {
	// The session is not part of the row's key or its partition, so the rows stay where they are.
	text, args := `UPDATE event
		SET session_id = $3
		WHERE project_id = $1 AND session_id = $2 AND event_id <> $2`, []any{projectID, [16]byte(from), [16]byte(to)}
	// An event whose session was fixed for it alone does not follow its trace. If the whole session moves, it goes with it.
	if trace != 0 {
		text, args = text+` AND trace_hash = $4 AND spill & $5 = 0`, append(args, trace, flagFixed)
	}
	_, err := t.Exec(ctx, text, args...)
	return err
}
