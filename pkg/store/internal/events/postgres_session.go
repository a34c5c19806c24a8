package events

import (
	"context"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

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
	byKey := make(map[writer.Key]*sessionDelta, len(deltas))
	for _, d := range deltas {
		d.prepareRow()
		byKey[writer.Key{Project: d.project, ID: d.id}] = d
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
			`+sessionSumsAdded+`,
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
		RETURNING project_id, session_id, `+sessionStateColumns,
		sessionArrays(deltas),
		func(scan func(...any) error) error {
			var k writer.Key
			var st sessionState
			err := scan(append([]any{&k.Project, sqldb.ScanID(&k.ID)}, st.targets()...)...)
			if err != nil {
				return err
			}
			// Only the row that this statement has made still has the version that its delta came with: each later upsert adds one.
			st.fresh = st.version == byKey[k].initialVersion
			byKey[k].state = st
			return nil
		})
}

// sessionArrays returns the columns of the rows of deltas, an array each, in the order of sessionColumns.
func sessionArrays(deltas []*sessionDelta) []any {
	n := len(deltas)
	var (
		project                          = make([]int64, n)
		session                          = make([]pgtype.UUID, n)
		implicit, rank                   = make([]int16, n), make([]int16, n)
		day                              = make([]int32, n)
		first, last                      = make([]float64, n), make([]float64, n)
		events, models, errors, feedback = make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
		calls, tools, unfinished         = make([]int64, n), make([]int64, n), make([]int64, n)
		prompt, completion, total, cost  = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		costs                            = make([]int64, n)
		run                              = make([]*string, n)
		rootMS, lastMS                   = make([]*float64, n), make([]*float64, n)
		rootID, lastID                   = make([]pgtype.UUID, n), make([]pgtype.UUID, n)
		rootDay, lastDay                 = make([]*int32, n), make([]*int32, n)
		version                          = make([]int64, n)
		userMS                           = make([]*float64, n)
	)
	// A nil pointer is NULL: a session without a root, a user or a run has none of these columns set.
	for i, d := range deltas {
		x := &d.totals
		version[i], userMS[i] = d.initialVersion, d.userMS
		project[i], session[i], implicit[i], rank[i], day[i] = d.project, idOrNull(d.id), int16(d.implicit), int16(d.nameRank), d.eventDay
		first[i], last[i], events[i], models[i], errors[i], feedback[i] = d.first, d.last, x.n, x.models, x.errors, x.feedback
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
	return []any{
		project,
		session,
		implicit,
		rank,
		version,
		day,
		first,
		last,
		events,
		models,
		errors,
		feedback,
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
	}
}
