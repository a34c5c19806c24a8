package events

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// recount recomputes a session's first and last times and its first and last root event after
// one of its events changed in place or went, and brings a session event that follows its
// events up to them.
//
// A delta can only add: it moves a first time to before and a last one to after. When an event goes, or gets another
// start, end or parent, these are asked of the events again, by indexes that begin with the session.
func (s *Store) recount(ctx context.Context, tx *Commit, project int64, session uuid.UUID) error {
	var implicit, rank int
	var day int32
	key := []any{project, tx.ID(session)}
	ok, err := sqldb.One(ctx, tx, `SELECT implicit, name_rank, event_day
		FROM session
		WHERE project_id = $1 AND session_id = $2`, key, &implicit, &rank, &day)
	if err != nil || !ok {
		return err
	}
	// The session event itself is left out: its times follow from these, and would never come back from a value too wide.
	below := ` FROM event WHERE ` + s.Dialect.OfSession() + ` AND event_id <> $2`
	var first, last *float64
	if _, err := sqldb.One(ctx, tx, `SELECT min(start_ms), max(end_ms)`+below, key, &first, &last); err != nil {
		return err
	}
	// Held until the commit: what follows is computed from it and written back.
	own, err := s.load(ctx, tx, project, day, session)
	if fault.IsNotFound(err) {
		return sqldb.ErrConflict // its day changed since the row was read
	}
	if err != nil {
		return err
	}
	from, to := sessionTimes(implicit, own, first, last)
	var rootMS, lastMS *float64
	var rootID, lastID uuid.UUID
	var rootDay, lastDay *int32
	// Ties are broken by id here and in both upserts, so that the first root does not depend on the order of arrival.
	if _, err := sqldb.One(ctx, tx, `SELECT start_ms, event_id, day`+below+` AND parent_id IS NULL ORDER BY start_ms, event_id LIMIT 1`, key,
		&rootMS, sqldb.ScanID(&rootID), &rootDay); err != nil {
		return err
	}
	if _, err := sqldb.One(ctx, tx, `SELECT end_ms, event_id, day`+below+` AND parent_id IS NULL ORDER BY end_ms DESC, event_id DESC LIMIT 1`, key,
		&lastMS, sqldb.ScanID(&lastID), &lastDay); err != nil {
		return err
	}
	orNull := func(id uuid.UUID) any {
		if id == uuid.Nil {
			return nil
		}
		return tx.ID(id)
	}
	if _, err := tx.Exec(ctx, `
		UPDATE session SET
			first_ms = $3,
			last_ms = $4,
			root_ms = $5,
			root_id = $6,
			root_day = $7,
			last_root_ms = $8,
			last_root_id = $9,
			last_root_day = $10
		WHERE project_id = $1 AND session_id = $2`,
		project,
		tx.ID(session),
		from,
		to,
		rootMS,
		orNull(rootID),
		rootDay,
		lastMS,
		orNull(lastID),
		lastDay,
	); err != nil {
		return err
	}
	if err := s.followEvents(ctx, tx, project, own, implicit, rank, first, from, to); err != nil {
		return err
	}
	return s.refreshSessionError(ctx, tx, project, session)
}

// sessionTimes returns the first and the last time of a session's row. own is its session event; first and last are the earliest start and the
// latest end of its other events, nil if there are none.
//
//	implicit       first_ms and last_ms
//	implicitAll    those of the events, or a later end that an update gave; noFirst and noLast if there are none, and the next event tells
//	implicitEnd    the session's own start or an earlier event; the latest end of an event
//	explicit       the session's own times, wider where events are
func sessionTimes(implicit int, own *Stored, first, last *float64) (from, to float64) {
	if first != nil && last != nil {
		switch implicit {
		case implicitAll:
			if own.EndGiven {
				return *first, max(own.End, *last)
			}
			return *first, *last
		case implicitEnd:
			return min(own.Start, *first), max(own.Start, *last)
		default:
			return min(own.Start, *first), max(own.End, *last)
		}
	}
	switch implicit {
	case implicitAll:
		return noFirst, noLast
	case implicitEnd:
		return own.Start, own.Start
	default:
		return own.Start, own.End
	}
}

// recountLeft is recount after events have left a session. inRun is set if one of them named a run.
func (s *Store) recountLeft(ctx context.Context, tx *Commit, project int64, session uuid.UUID, inRun bool) error {
	if err := s.recount(ctx, tx, project, session); err != nil || !inRun {
		return err
	}
	return s.refreshRun(ctx, tx, project, session)
}

// refreshRun finds a session's run again after an event that named one has changed or gone: the run that the session event names, or else the
// one of the earliest event that names any. The caller has locked the session's row.
func (s *Store) refreshRun(ctx context.Context, tx *Commit, project int64, session uuid.UUID) error {
	var run *string
	key := []any{project, tx.ID(session)}
	if _, err := sqldb.One(ctx, tx, `SELECT run_id FROM event WHERE `+s.Dialect.OfSession()+` AND run_id IS NOT NULL
		ORDER BY CASE WHEN event_id = $2 THEN 0 ELSE 1 END, start_ms, event_id LIMIT 1`, key, &run); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE session SET run_id = $3 WHERE project_id = $1 AND session_id = $2`, append(key, run)...)
	return err
}

// followEvents brings a session event that follows its events up to them.
func (s *Store) followEvents(ctx context.Context, tx *Commit, project int64, own *Stored, implicit, rank int,
	first *float64, from, to float64) error {
	// A session event that its sender wrote keeps what the sender wrote. One without events has nothing to follow.
	if implicit == explicitSession || (implicit == implicitAll && first == nil) {
		return nil
	}
	now := own.Event
	if !now.EndGiven {
		now.End = to
	}
	if implicit == implicitAll {
		now.Start = from
		if err := s.refreshImplicitSession(ctx, tx, project, &now, rank); err != nil {
			return err
		}
	}
	now.FollowTimes()
	// Rewrite does not recount for a session event, so the two do not call each other without end.
	return s.Rewrite(ctx, tx, project, own, &now)
}
