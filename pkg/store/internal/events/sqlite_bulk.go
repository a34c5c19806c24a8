package events

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// This file writes in SQLite what postgres_bulk.go writes in PostgreSQL. One transaction writes at a time, so nothing here
// waits for anybody, nothing changes between two statements, and an INSERT that meets a row that is there is a mistake of this
// program. What costs is each statement's own work: statements are few, prepared once, and avoid what makes SQLite keep a
// journal for a single statement.

// sqliteBulk is bulkDB in SQLite. Once the store is open, only the writer uses its maps and its counter. There are no bulk
// statements: a row has a prepared statement of its own, which costs no way over a network.
type sqliteBulk struct {
	db      *sqldb.SQLite
	ids     *idFilter
	today   func() int32
	live    map[projectDay]bool // the rows of id_filter_day
	moving  map[projectDay]bool // days whose ids are being listed in far_event
	chunkID int64               // last chunk id handed out
	seq     int64               // last place handed out in the order in which events came
}

// NewSQLiteBulk returns what SQLite does differently with the rows of events.
func NewSQLiteBulk(db *sqldb.SQLite) Bulk {
	return &sqliteBulk{db: db, live: map[projectDay]bool{}, moving: map[projectDay]bool{}}
}

// open goes on after the highest chunk id that is stored: ids of chunks that were deleted above it are given out again, which is harmless,
// since no head names them.
func (b *sqliteBulk) open(ctx context.Context, ids *idFilter, today func() int32) error {
	// The writer is not running yet, so nobody else uses these.
	b.ids, b.today = ids, today
	if _, err := sqldb.One(ctx, b.db, `SELECT coalesce(max(id), 0) FROM chunk`, nil, &b.chunkID); err != nil {
		return err
	}
	// Segments may know of events that are deleted: their places are not handed out again.
	_, err := sqldb.One(ctx, b.db, `SELECT max(marked_seq, (SELECT coalesce(max(seq), 0) FROM event)) FROM segment_progress`, nil, &b.seq)
	return err
}

func (b *sqliteBulk) begin(tx sqldb.Tx) bulkTx { return &sqliteBulkTx{Tx: tx, b: b} }

// ready, ahead and tidy make and drop partitions, which SQLite does not have.
func (b *sqliteBulk) ready(context.Context, []int32, bool) error { return nil }

func (b *sqliteBulk) ahead(context.Context) error { return nil }

func (b *sqliteBulk) tidy(context.Context) error { return nil }

// lastSeq is what is stored: the writer counts ahead of its commit.
func (*sqliteBulk) lastSeq(ctx context.Context, c sqldb.Conn) (seq int64, err error) {
	_, err = sqldb.One(ctx, c, `SELECT coalesce(max(seq), 0) FROM event`, nil, &seq)
	return seq, err
}

// indexSeq has nothing to do: the place is the key of the table itself.
func (*sqliteBulk) indexSeq(context.Context) error { return nil }

// settle has nothing to wait for: one transaction writes after another, and the one that calls this has just ended.
func (b *sqliteBulk) settle(context.Context) error { return nil }

// chunksByDay is false: the id of a chunk is SQLite's own key of its row, by which it is found at once.
func (b *sqliteBulk) chunksByDay() bool { return false }

func (b *sqliteBulk) firstEvent(condition, order string) string {
	return `CROSS JOIN event AS e ON e.seq = (SELECT e.seq FROM event AS e WHERE e.session_rowid = s.session_rowid AND ` + condition + ` ORDER BY ` + order + ` LIMIT 1)`
}

// sqliteBulkTx is bulkTx in SQLite.
type sqliteBulkTx struct {
	sqldb.Tx
	b       *sqliteBulk
	begun   map[projectDay]bool // days that this transaction lists in id_filter_day
	emptied map[projectDay]bool // days and farDay of which it leaves nothing
}

// upsertTraces does what PostgreSQL's does, a row at a time.
func (t *sqliteBulkTx) upsertTraces(ctx context.Context, traces []*traceRow) error {
	// RETURNING gives the row as it is now, and r takes it over: later steps of the transaction go by what is
	// stored, not by what the request said.
	for _, r := range traces {
		_, err := sqldb.One(
			ctx,
			t,
			`INSERT INTO trace(project_id, trace_id, session_id, provisional, rank)
			VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (project_id, trace_id) DO UPDATE SET
				former_session_id = CASE WHEN excluded.rank < trace.rank AND excluded.session_id <> trace.session_id THEN trace.session_id END,
				session_id = CASE WHEN excluded.rank < trace.rank THEN excluded.session_id ELSE trace.session_id END,
				provisional = trace.provisional AND excluded.provisional,
				rank = CASE WHEN excluded.rank < trace.rank THEN excluded.rank ELSE trace.rank END
			RETURNING session_id, provisional, rank, former_session_id`,
			[]any{
				r.project,
				r.trace[:],
				r.session[:],
				r.provisional,
				r.rank,
			},
			sqldb.ScanID(&r.session),
			&r.provisional,
			&r.rank,
			sqldb.ScanID(&r.former),
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// upsertSessions does what PostgreSQL's does, a row at a time. SQLite's min and max of two values are NULL if one is, which
// the columns of user and roots may be: these are compared in words.
func (t *sqliteBulkTx) upsertSessions(ctx context.Context, deltas []*sessionDelta) error {
	for _, d := range deltas {
		d.prepareRow()
		var rootMS, rootID, rootDay, lastMS, lastID, lastDay any
		if d.root.ev != nil {
			rootMS, rootID, rootDay = d.root.ms, d.root.ev.ID[:], d.root.day
		}
		if d.final.ev != nil {
			lastMS, lastID, lastDay = d.final.ms, d.final.ev.ID[:], d.final.day
		}
		// prepareRow gave the delta what a new row needs. Where there is a row, the statement ignores what only new rows have.
		x := &d.totals
		st := &d.state
		// The right side of each assignment sees the row as it was before the statement, so the condition about
		// roots gives the same answer for all three columns of a root.
		_, err := sqldb.One(ctx, t, `
			INSERT INTO session AS s (`+sessionColumns+`)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28)
			ON CONFLICT (project_id, session_id) DO UPDATE SET
				version = s.version + 1,
				name_rank = max(s.name_rank, excluded.name_rank),
				first_ms = min(s.first_ms, excluded.first_ms),
				last_ms = max(s.last_ms, excluded.last_ms),
				`+sessionSumsAdded+`,
				root_ms = iif(`+sqliteEarlier+`, excluded.root_ms, s.root_ms),
				root_id = iif(`+sqliteEarlier+`, excluded.root_id, s.root_id),
				root_day = iif(`+sqliteEarlier+`, excluded.root_day, s.root_day),
				last_root_ms = iif(`+sqliteLater+`, excluded.last_root_ms, s.last_root_ms),
				last_root_id = iif(`+sqliteLater+`, excluded.last_root_id, s.last_root_id),
				last_root_day = iif(`+sqliteLater+`, excluded.last_root_day, s.last_root_day),
				user_ms = iif(s.user_ms IS NULL OR excluded.user_ms < s.user_ms, excluded.user_ms, s.user_ms)
			RETURNING session_rowid, `+sessionStateColumns,
			[]any{
				d.project,
				d.id[:],
				d.implicit,
				d.nameRank,
				d.initialVersion,
				d.eventDay,
				d.first,
				d.last,
				x.n,
				x.models,
				x.errors,
				x.feedback,
				x.prompt,
				x.completion,
				x.total,
				x.cost,
				x.costs,
				sqldb.NullText(d.runID),
				rootMS,
				rootID,
				rootDay,
				lastMS,
				lastID,
				lastDay,
				d.userMS,
				x.calls,
				x.tools,
				x.unfinished,
			},
			append([]any{&st.sid}, st.targets()...)...,
		)
		st.fresh = st.version == d.initialVersion
		if err != nil {
			return err
		}
	}
	return nil
}

const (
	// A comparison with NULL is neither true nor false, so both sides are tested for it first. Rows are compared
	// column by column: by time, and by id where times are equal.
	sqliteEarlier = `excluded.root_ms IS NOT NULL AND
		(s.root_ms IS NULL OR (excluded.root_ms, excluded.root_id) < (s.root_ms, s.root_id))`
	sqliteLater = `excluded.last_root_ms IS NOT NULL AND
		(s.last_root_ms IS NULL OR (excluded.last_root_ms, excluded.last_root_id) > (s.last_root_ms, s.last_root_id))`
)

func (t *sqliteBulkTx) nextChunkID(context.Context) (int64, error) {
	// The counter is not taken back with the transaction, so an id that readers may have cached is not used again.
	t.b.chunkID++ // gaps after a rollback are harmless
	return t.b.chunkID, nil
}

// insertChunks inserts one row a statement: a chunk is large, and binding it is most of the work.
func (t *sqliteBulkTx) insertChunks(ctx context.Context, chunks []record.Chunk) error {
	for i := range chunks {
		if _, err := t.Exec(ctx, `INSERT INTO chunk(id, data) VALUES ($1, $2)`, chunks[i].ID, chunks[i].Z); err != nil {
			return err
		}
	}
	return nil
}

// headsPerStatement is how many rows one INSERT carries: 16 measured half again as fast as
// one, and more gains nothing.
const headsPerStatement = 16

// OR FAIL: an error ends the transaction anyhow, so that the statement needs no journal of its own.
const (
	sqliteHeadInsert = `INSERT OR FAIL INTO event(seq, session_rowid, ` + headColumns + `, version) VALUES `
	sqliteHeadValues = `(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,0)`
	sqliteHeadArgs   = 27
)

var (
	sqliteHeadOne  = sqliteHeadInsert + sqliteHeadValues
	sqliteHeadMany = sqliteHeadInsert + strings.Repeat(sqliteHeadValues+",", headsPerStatement-1) + sqliteHeadValues
)

// insertHeads inserts the rows in statements of 16, and the rest one by one, so that there are two statements to keep prepared
// and not sixteen.
func (t *sqliteBulkTx) insertHeads(ctx context.Context, heads []*head) error {
	// One slice of arguments serves all statements. The driver has read them by the time that Exec returns.
	args := make([]any, 0, headsPerStatement*sqliteHeadArgs)
	for len(heads) > 0 {
		n, text := 1, sqliteHeadOne
		// Large batches go almost wholly by the long statement; a request of a few events by the short one.
		if len(heads) >= headsPerStatement {
			n, text = headsPerStatement, sqliteHeadMany
		}
		args = args[:0]
		for _, h := range heads[:n] {
			t.b.seq++ // gaps after a rollback are harmless
			args = h.appendSQLite(append(args, t.b.seq))
		}
		// An id that is there already would be a mistake of split, which has just looked for it in this same
		// transaction; with one writer nobody can have stored it since.
		if _, err := t.Exec(ctx, text, args...); err != nil {
			return err
		}
		heads = heads[n:]
	}
	return nil
}

// deleteHeads takes a statement for each row, which is always the same, and costs little more than the row itself.
func (t *sqliteBulkTx) deleteHeads(ctx context.Context, project int64, day int32, ids []uuid.UUID, gone func(typ int)) error {
	for _, id := range ids {
		var typ int
		there, err := sqldb.One(ctx, t, `DELETE FROM event
			WHERE project_id = $1 AND day = $2 AND event_id = $3
			RETURNING type`, []any{project, day, id[:]}, &typ)
		if err != nil {
			return err
		}
		if there {
			gone(typ)
		}
	}
	return nil
}

// appendSQLite appends the arguments of one row, in the order of headColumns behind the number of the session. Absent values
// are nil, which is NULL; ids are blobs of 16 bytes.
func (h *head) appendSQLite(args []any) []any {
	e := h.ev
	var parent, chunk, off, errText, trace, duplicate, span any
	if h.trace != 0 {
		trace = h.trace
	}
	if h.duplicateKey != nil {
		duplicate = h.duplicateKey
	}
	// Each value is set only where there is one: a typed nil in an interface would not be NULL.
	if id := h.spanID(); id != uuid.Nil {
		span = id[:]
	}
	if h.parent != uuid.Nil {
		parent = h.parent[:]
	}
	if h.chunk != nil {
		chunk, off = h.chunk.ID, h.off
	}
	if p := h.errorText(); p != nil {
		errText = *p
	}
	return append(args,
		h.sid,
		h.project,
		h.day,
		e.ID[:],
		parent,
		query.TypeCode(e.Type),
		e.Name,
		e.Source,
		errText,
		e.Start,
		e.End,
		e.Duration,
		sqldb.Text(h.inHead(query.SpillMetadata, e.Metadata)),
		sqldb.Text(h.inHead(query.SpillMetrics, e.Metrics)),
		sqldb.Text(h.inHead(query.SpillFeedback, e.Feedback)),
		sqldb.Text(h.inHead(query.SpillUserProperties, e.UserProperties)),
		sqldb.Text(h.inHead(query.SpillChildrenIDs, e.ChildrenIDs)),
		sqldb.NullText(h.runID),
		sqldb.NullText(h.userID),
		h.spill,
		chunk,
		off,
		trace,
		duplicate,
		span,
		sqldb.NullText(h.target),
	)
}

// moveEvents gives the rows another number of a session: the two sessions are looked up once, and no id is written. An event
// whose session was fixed for it alone (flagFixed) does not follow its trace.
func (t *sqliteBulkTx) moveEvents(ctx context.Context, projectID int64, from, to uuid.UUID, trace int64) error {
	// Events have SQLite's number of their session, 8 bytes at most, instead of its id of 16: the number is in an index as well.
	text, args := `UPDATE event SET session_rowid = (SELECT session_rowid FROM session WHERE project_id = $1 AND session_id = $3)
		WHERE session_rowid = (SELECT session_rowid FROM session WHERE project_id = $1 AND session_id = $2)
			AND event_id <> $2`, []any{projectID, from[:], to[:]}
	if trace != 0 {
		text, args = text+` AND trace_hash = $4 AND spill & $5 = 0`, append(args, trace, flagFixed)
	}
	_, err := t.Exec(ctx, text, args...)
	return err
}
