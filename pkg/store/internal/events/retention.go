package events

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Sessions that a project's rule does not keep are deleted by the machinery of DeleteSession, so that whatever follows from their
// events goes with them. Small sessions share a transaction; a large one goes in slices of its own. After each
// transaction there is a pause of three times as long, so that ingestion and readers have the machine and the disk.
//
// Nothing says how far a pass has come: what is gone is not found again, and a session that was begun is named in table
// deletion, by which any process finishes it. So a pass may end at any moment.

// retentionPage is how many sessions are looked for at once.
const retentionPage = 500

// Turn is called before each slice of work. What it returns ends the work.
type Turn func(context.Context) error

// Expired counts what a rule removed.
type Expired struct {
	Sessions, Events int64
	Payloads         int64 // events whose payload went, and which stay otherwise
}

// overdue is a session that a rule does not keep.
type overdue struct {
	id     uuid.UUID
	start  float64
	events int64 // without the session's own
}

// Retain removes what the rule of a project does not keep now, and counts it. turn is called before each slice.
func (s *Store) Retain(ctx context.Context, projectID int64, rule project.RetentionRule, turn Turn) (n Expired, err error) {
	now := float64(s.options.Now().UnixMilli())
	if rule.EventDays > 0 {
		n, err = s.expireSessions(ctx, projectID, project.KeptFrom(rule.EventDays, now), turn)
	}
	if err == nil && rule.PayloadDays > 0 {
		n.Payloads, err = s.expirePayloads(ctx, projectID, project.KeptFrom(rule.PayloadDays, now), turn)
	}
	if err == nil && rule.Bytes > 0 {
		var some Expired
		some, err = s.keepBytes(ctx, projectID, rule, turn)
		n.Sessions += some.Sessions
		n.Events += some.Events
		n.Payloads += some.Payloads
	}
	if n == (Expired{}) {
		return n, err
	}
	s.kickNames()
	return n, errors.Join(err, s.bulk.tidy(ctx))
}

// expireSessions deletes the sessions of a project whose last event ended before a time, Unix milliseconds, and counts them.
//
// Sessions are found in the order of their begin, by the index of session events: a session that began later cannot have ended
// before. Those that began before and have not ended are passed over.
func (s *Store) expireSessions(ctx context.Context, project int64, before float64, turn Turn) (n Expired, err error) {
	from := math.Inf(-1)
	for {
		page, err := s.overdueSessions(ctx, project, from, before)
		if err != nil || len(page) == 0 {
			return n, err
		}
		gone := n.Sessions
		for _, batch := range s.retentionBatches(page) {
			if err := turn(ctx); err != nil {
				return n, err
			}
			began := time.Now()
			some, err := s.expireBatch(ctx, project, batch, before)
			n.Sessions += some.Sessions
			n.Events += some.Events
			if err != nil {
				return n, err
			}
			s.Rest(ctx, began)
		}
		// What went is not found again, so the page may begin where it began. A page of which nothing went, since events came for
		// its sessions meanwhile, is passed over.
		from = page[0].start
		if n.Sessions == gone {
			from = above(page[len(page)-1].start)
		}
	}
}

// overdueSessions lists sessions that began from a time on, in the order of their begin, and whose last event ended before
// another. The end of a session may be in the future, if its sender said so; then the begin of its last event counts.
func (s *Store) overdueSessions(ctx context.Context, project int64, from, before float64) (list []overdue, err error) {
	err = sqldb.Each(ctx, s.db, `SELECT `+s.Dialect.SessionID()+`, e.start_ms, s.num_events
		FROM `+s.Dialect.FromSessions()+`
		WHERE e.project_id = $1 AND e.type = 4 AND e.start_ms >= $2 AND e.start_ms < $3 AND (s.last_ms < $3 OR s.last_ms > $4)
		ORDER BY e.start_ms
		LIMIT $5`, []any{project, max(from, 0), before, s.farAhead(), retentionPage}, func(scan func(...any) error) error {
		var o overdue
		err := scan(sqldb.ScanID(&o.id), &o.start, &o.events)
		list = append(list, o)
		return err
	})
	return list, err
}

// above and below return the times next to one.
func above(ms float64) float64 { return math.Nextafter(ms, math.Inf(1)) }
func below(ms float64) float64 { return math.Nextafter(ms, math.Inf(-1)) }

// farAhead returns a time, Unix milliseconds, past which no event can begin that is stored now.
func (s *Store) farAhead() float64 {
	return float64(s.options.Now().Add(s.options.Window.Ahead).UnixMilli())
}

// retentionBatches shares out sessions among transactions of at most deleteSlice events, each of sessions of one
// writer, so that writers do not wait for one another's rows.
func (s *Store) retentionBatches(list []overdue) (batches [][]overdue) {
	type open struct {
		at     int // in batches
		events int64
	}
	byWriter := map[int]*open{}
	for _, o := range list {
		w := 0
		if !s.db.Exclusive() {
			w = s.writerOf(o.id)
		}
		b := byWriter[w]
		if b == nil || b.events+o.events+1 > deleteSlice {
			b = &open{at: len(batches)}
			byWriter[w] = b
			batches = append(batches, nil)
		}
		b.events += o.events + 1
		batches[b.at] = append(batches[b.at], o)
	}
	return batches
}

// expireBatch deletes sessions in one transaction, or the first slice of one that has more events, and then the rest of it.
// Each is looked at again: an event may have come for it. Events that come for a session after its first slice go with it, as
// for any deletion.
func (s *Store) expireBatch(ctx context.Context, project int64, batch []overdue, before float64) (n Expired, err error) {
	var follow []uuid.UUID
	err = s.Change(ctx, project, batch[0].id, 0, func(ctx context.Context, tx *Commit) error {
		n, follow = Expired{}, nil
		for _, o := range batch {
			over, err := s.isOver(ctx, tx, project, o.id, before)
			if err != nil {
				return err
			}
			if !over {
				continue
			}
			more, judges, err := s.deleteSome(ctx, tx, project, o.id, false)
			if err != nil {
				return err
			}
			if more {
				if err := deleteLater(ctx, tx, project, []uuid.UUID{o.id}); err != nil {
					return err
				}
				follow = append(follow, o.id)
			}
			follow = append(follow, judges...)
			n.Sessions++
			n.Events += o.events + 1
		}
		if n.Sessions == 0 {
			return nil
		}
		return eraseNamesLater(ctx, tx, project)
	})
	if err != nil {
		return Expired{}, err
	}
	// What is left of large sessions, and what judges recorded of the events, is named in table deletion by now.
	return n, s.deleteJudges(ctx, project, follow)
}

// isOver reports whether the last event of a session ended before a time. Its row is held until the transaction ends, so that no
// event comes to it meanwhile.
func (s *Store) isOver(ctx context.Context, tx *Commit, project int64, id uuid.UUID, before float64) (bool, error) {
	var last float64
	key := []any{project, tx.ID(id)}
	found, err := sqldb.One(ctx, tx, `SELECT last_ms
		FROM session
		WHERE project_id = $1 AND session_id = $2`+tx.ForUpdate(""), key, &last)
	if err != nil || !found {
		return false, err
	}
	if last > s.farAhead() {
		if _, err := sqldb.One(ctx, tx, `SELECT coalesce(max(start_ms), 0) FROM event WHERE `+s.Dialect.OfSession(), key, &last); err != nil {
			return false, err
		}
	}
	return last < before, nil
}
