package events

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// This file has what a commit writes in PostgreSQL: traces, sessions, chunks and heads, in this order (Commit.StoreBatches). Several
// transactions write at once here, unlike in SQLite, and that shapes each statement:
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
}

// chunkIDBlock is the increment of sequence chunk_id: each process takes this many ids at once. Ids of a transaction that
// failed are lost, which does not matter.
const chunkIDBlock = 1000

// NewPostgresBulk returns what PostgreSQL does differently with the rows of events.
func NewPostgresBulk(db *sqldb.Postgres) Bulk {
	return &postgresBulk{db: db, partitions: map[int32]bool{}}
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
func (b *postgresBulk) lastSeq(ctx context.Context) (seq int64, err error) {
	_, err = sqldb.One(ctx, b.db.Quick(), `SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM event_seq`, nil, &seq)
	return seq, err
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

// upsertTraces keeps, of a row that is there and one that comes, what the smaller rank says. former_session_id is set where
// the session changes by it. The statement locks the rows in the order in which they are listed, which the caller sorts.
func (t *postgresBulkTx) upsertTraces(ctx context.Context, traces []*traceRow) error {
	n := len(traces)
	var (
		project        = make([]int64, n)
		trace, session = make([]pgtype.UUID, n), make([]pgtype.UUID, n)
		provisional    = make([]bool, n)
		rank           = make([][]byte, n)
	)
	byKey := make(map[traceKey]*traceRow, n)
	for i, r := range traces {
		project[i], trace[i], session[i], provisional[i] = r.project, idOrNull(r.trace), idOrNull(r.session), r.provisional
		rank[i] = r.rank
		byKey[traceKey{r.project, r.trace}] = r
	}
	// The casts in the statement give the arrays their types, which parameters alone do not have.
	args := []any{project, trace, session, provisional, rank}
	// Ranks are compared as bytes (see rank in trace_session.go). A trace stays provisional only while every span of it came
	// without a session. DO UPDATE runs also where it changes nothing, since RETURNING gives no row for one that was left alone.
	return sqldb.Each(ctx, t, `INSERT INTO trace(project_id, trace_id, session_id, provisional, rank)
		SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::uuid[], $4::boolean[], $5::bytea[])
		ON CONFLICT (project_id, trace_id) DO UPDATE SET
			former_session_id = CASE WHEN excluded.rank < trace.rank AND excluded.session_id <> trace.session_id THEN trace.session_id END,
			session_id = CASE WHEN excluded.rank < trace.rank THEN excluded.session_id ELSE trace.session_id END,
			provisional = trace.provisional AND excluded.provisional,
			rank = least(trace.rank, excluded.rank)
		RETURNING project_id, trace_id, session_id, provisional, rank, former_session_id`, args, func(scan func(...any) error) error {
		var got traceRow
		if err := scan(&got.project, sqldb.ScanID(&got.trace), sqldb.ScanID(&got.session), &got.provisional, &got.rank, sqldb.ScanID(&got.former)); err != nil {
			return err
		}
		// Rows come back in no order that can be relied on.
		r := byKey[traceKey{got.project, got.trace}]
		r.session, r.provisional, r.rank, r.former = got.session, got.provisional, got.rank, got.former
		return nil
	})
}

// upsertSessions makes the rows of sessions or adds to them. Sums are added up; times, ranks and users are the smaller or
// the greater; of two roots the earlier stays, with the smaller id if both start at once. ORDER BY makes
// all transactions lock rows in one order. A row that was just made has the version that the delta came with.
func (t *postgresBulkTx) upsertSessions(ctx context.Context, deltas []*sessionDelta) error {
	if len(deltas) == 0 {
		return nil
	}
	n := len(deltas)
	var (
		project                         = make([]int64, n)
		session                         = make([]pgtype.UUID, n)
		made, rank                      = make([]int16, n), make([]int16, n)
		day                             = make([]int32, n)
		first, last                     = make([]float64, n), make([]float64, n)
		events, models, errs, feeds     = make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
		calls, tools, unfinished        = make([]int64, n), make([]int64, n), make([]int64, n)
		prompt, completion, total, cost = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		costs                           = make([]int64, n)
		run                             = make([]*string, n)
		rootMS, lastMS                  = make([]*float64, n), make([]*float64, n)
		rootID, lastID                  = make([]pgtype.UUID, n), make([]pgtype.UUID, n)
		rootDay, lastDay                = make([]*int32, n), make([]*int32, n)
		version                         = make([]int64, n)
		userMS                          = make([]*float64, n)
		byKey                           = make(map[writer.Key]*sessionDelta, n)
	)
	// A nil pointer is NULL: a session without a root, a user or a run has none of these columns set.
	for i, d := range deltas {
		d.prepareRow()
		byKey[writer.Key{Project: d.project, ID: d.id}] = d
		x := &d.totals
		version[i], userMS[i] = d.initialVersion, d.userMS
		project[i], session[i], made[i], rank[i], day[i] = d.project, idOrNull(d.id), int16(d.implicit), int16(d.nameRank), d.eventDay
		first[i], last[i], events[i], models[i], errs[i], feeds[i] = d.first, d.last, x.n, x.models, x.errors, x.feedback
		calls[i], tools[i], unfinished[i] = x.calls, x.tools, x.unfinished
		prompt[i], completion[i], total[i], cost[i], costs[i] = x.prompt, x.completion, x.total, x.cost, x.costs
		if d.runID != "" {
			run[i] = &d.runID
		}
		if d.root.ev != nil {
			rootMS[i], rootID[i], rootDay[i] = &d.root.ms, idOrNull(d.root.ev.ID), &d.root.day
		}
		if d.final.ev != nil {
			lastMS[i], lastID[i], lastDay[i] = &d.final.ms, idOrNull(d.final.ev.ID), &d.final.day
		}
	}
	// implicit and event_day are not updated here: they are as the first writer of the row left them, and the steps
	// that may change them (repeatSession, ApplyUpdate, Rewrite) do so by themselves. Everything here is
	// commutative, so that the row does not depend on which of two transactions came first.
	return sqldb.Each(ctx, t, `
		INSERT INTO session AS s (`+sessionColumns+`)
		SELECT `+sessionColumns+`
		FROM unnest(
			$1::bigint[],
			$2::uuid[],
			$3::smallint[],
			$4::smallint[],
			$5::bigint[],
			$6::int[],
			$7::float8[],
			$8::float8[],
			$9::bigint[],
			$10::bigint[],
			$11::bigint[],
			$12::bigint[],
			$13::float8[],
			$14::float8[],
			$15::float8[],
			$16::float8[],
			$17::bigint[],
			$18::text[],
			$19::float8[],
			$20::uuid[],
			$21::int[],
			$22::float8[],
			$23::uuid[],
			$24::int[],
			$25::float8[],
			$26::bigint[],
			$27::bigint[],
			$28::bigint[]
		) AS d(`+sessionColumns+`)
		ORDER BY project_id, session_id
		ON CONFLICT (project_id, session_id) DO UPDATE SET
			version = s.version + 1,
			name_rank = greatest(s.name_rank, excluded.name_rank),
			first_ms = least(s.first_ms, excluded.first_ms),
			last_ms = greatest(s.last_ms, excluded.last_ms),
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
			run_id = coalesce(s.run_id, excluded.run_id),
			(root_ms, root_id, root_day) = (
				SELECT ms, id, day
				FROM (VALUES
					(s.root_ms, s.root_id, s.root_day),
					(excluded.root_ms, excluded.root_id, excluded.root_day)) AS r(ms, id, day)
				ORDER BY ms NULLS LAST, id LIMIT 1),
			(last_root_ms, last_root_id, last_root_day) = (
				SELECT ms, id, day
				FROM (VALUES
					(s.last_root_ms, s.last_root_id, s.last_root_day),
					(excluded.last_root_ms, excluded.last_root_id, excluded.last_root_day)) AS r(ms, id, day)
				ORDER BY ms DESC NULLS LAST, id DESC LIMIT 1),
			user_ms = least(s.user_ms, excluded.user_ms)
		RETURNING
			project_id,
			session_id,
			implicit,
			name_rank,
			version,
			event_day,
			first_ms,
			last_ms,
			root_id,
			num_calls,
			user_ms,
			run_id`,
		[]any{
			project,
			session,
			made,
			rank,
			version,
			day,
			first,
			last,
			events,
			models,
			errs,
			feeds,
			prompt,
			completion,
			total,
			cost,
			costs,
			run,
			rootMS,
			rootID,
			rootDay,
			lastMS,
			lastID,
			lastDay,
			userMS,
			calls,
			tools,
			unfinished,
		},
		func(scan func(...any) error) error {
			var k writer.Key
			var st sessionState
			err := scan(
				&k.Project,
				sqldb.ScanID(&k.ID),
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
			)
			if err != nil {
				return err
			}
			// Only the row that this statement has made still has the version that its delta came with: each later upsert adds one.
			st.fresh = st.version == byKey[k].initialVersion
			byKey[k].state = st
			return nil
		})
}

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
	)
	if err != nil {
		return err
	}
	// DO NOTHING and a count, not an error of the database: two servers that get the same event are nothing
	// unusual, and PostgreSQL would log each failed statement.
	if inserted != int64(n) {
		return fmt.Errorf("%d of %d events: %w", int64(n)-inserted, n, sqldb.ErrConflict)
	}
	return nil
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
